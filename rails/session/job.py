"""A session's job, its end, and its first record."""

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
    """The (agent, task) pairs of a session in order, and its budgets (``None``: no bound).

    ``max_attempts`` bounds failed turns in a row of one kind, ``max_turns`` an agent's turns on one task (``None``: the
    template's); ``max_tokens``, ``max_seconds`` and ``max_cost`` (money) the session. ``handed`` is the first agent's
    document; ``handoffs``: a human is asked between agents.
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
    """A session's end, in one sentence for a person; ``file`` is to be read next."""

    outcome: SessionOutcome
    message: str
    session_id: str = ""
    file: str = ""

    @property
    def line(self) -> str:
        """The message on one line."""
        return " ".join(self.message.split())


def log_session_start(
    job: SessionJob, log: SessionLog, model: str, chosen: Mapping[str, str | tuple[str, ...]] | None = None
) -> Record:
    """Write and return a session's first record; ``chosen`` are further fields of its limits."""
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
    return SessionLimits(
        max_attempts=job.max_attempts,
        max_turns=job.max_turns,
        max_tokens=job.max_tokens,
        max_seconds=job.max_seconds,
        max_cost=job.max_cost,
        escalate=job.escalate if job.escalate != "off" else "",
        handoffs=job.handoffs if job.handoffs != "go" else "",
        plan=job.plan,
        max_reviews=job.max_reviews,
    )


def facts_of(project: Path, keeps_back: Callable[[str], str] | None = None) -> dict[str, str]:
    """Return the facts for every agent: the project's name and a map of the files not kept back."""
    from rails.tools.runners.files import project_map

    shown = project_map(project, limits.MAP_BYTES, keeps_back).replace("\n", "\n  ")
    return {"project": one_line(project.name, 60), "files": f"\n  {shown}" if shown else "none"}
