"""A session's job, how it ended, and the record that it begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

import rails
from rails.core import limits
from rails.core.events.record import Record
from rails.core.events.session import SessionLimits, Task, WorkflowStart
from rails.core.outcomes import SessionEnd
from rails.core.text import one_line
from rails.log.writer import SessionLog

if TYPE_CHECKING:
    from rails.session.escalation import Escalate
    from rails.session.turn_context import Correction, TestsMode

#: Besides the outcomes, the pauses: "waiting" is a session that stopped at a hand-off, "unanswered" one whose question
#: nobody answered in time; "model_failed" and "internal_error" are faults, and "left" is a conversation that its person
#: has left. ``rails.core.outcomes.outcome_for`` says which outcome each is to others.
SessionOutcome = SessionEnd | Literal["model_failed", "waiting", "unanswered", "internal_error", "left"]
#: Endings that leave the session open: it goes on with ``--resume``.
PAUSED: Final = ("model_failed", "waiting", "unanswered", "internal_error", "left")
#: Whether a human is asked before one agent's result goes to the next.
HandoffMode = Literal["ask", "go"]


class SessionJob(msgspec.Struct, frozen=True):
    """The job of a session: the (agent, task) pairs in order, and its budgets.

    ``max_attempts`` bounds failed turns in a row of one kind, ``max_turns`` the turns of one agent on one task
    (``None``: as the agent's template says), whatever escalation step they are on;
    ``max_tokens``, ``max_seconds`` and ``max_cost`` (money) bound the whole session (``None``: no bound).
    ``handed`` is a document that the first agent is given, such as the plan that is named ``plan``. ``escalate``
    is how far escalation goes when attempts run out; ``handoffs`` whether a human is asked between two agents.
    """

    project: Path
    tasks: tuple[tuple[str, str], ...]
    max_attempts: int | None = None
    max_turns: int | None = None
    approve: str = "ask"
    correction: Correction = "syntax"
    dialects: Sequence[str] = ()
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    escalate: Escalate = "off"
    handoffs: HandoffMode = "go"
    handed: str = ""
    plan: str = ""
    protocol: str = "auto"
    files: tuple[str, ...] = ()
    max_reviews: int = 2
    tests: TestsMode = "off"


class Ending(msgspec.Struct, frozen=True):
    """How a session ended, in one sentence for a person. ``file`` is what they should read next, if anything."""

    outcome: SessionOutcome
    message: str
    session_id: str = ""
    file: str = ""


def log_session_start(
    job: SessionJob, log: SessionLog, model: str, chosen: Mapping[str, str | tuple[str, ...]] | None = None
) -> Record:
    """Write and return the record that a session begins with; ``chosen`` are further fields of its limits."""
    start = WorkflowStart(
        project=str(job.project),
        tasks=tuple(Task(agent, task) for agent, task in job.tasks),
        task=job.tasks[0][1] if job.tasks else "",
        agents=tuple(agent for agent, _ in job.tasks),
        model=model,
        approve=job.approve,
        limits=msgspec.structs.replace(_limits(job), **(chosen or {})),
        versions={"ai-rails": rails.__version__},
        handed=job.handed,
    )
    return log.append(start)


def _limits(job: SessionJob) -> SessionLimits:
    """Return the bounds that were chosen: a resumed session keeps them."""
    return SessionLimits(
        max_attempts=job.max_attempts,
        max_turns=job.max_turns,
        max_tokens=job.max_tokens,
        max_seconds=job.max_seconds,
        max_cost=job.max_cost,
        escalate=job.escalate if job.escalate != "off" else "",
        handoffs=job.handoffs if job.handoffs != "go" else "",
        plan=job.plan,
    )


def facts_of(project: Path, keeps_back: Callable[[str], str] | None = None) -> dict[str, str]:
    """Return what every agent gets to know of the project: its name and a map of the files not kept back."""
    from rails.tools.runners.files import project_map

    shown = project_map(project, limits.MAP_BYTES, keeps_back).replace("\n", "\n  ")
    return {"project": one_line(project.name, 60), "files": f"\n  {shown}" if shown else "none"}
