"""A session and its agents: start, end, hand-offs, steering."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rails.core.conversation import Usage
from rails.core.events.base import Event, EventWithWords


class Task(msgspec.Struct, frozen=True):
    """An agent and its task."""

    agent: str
    task: str


class SessionLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The bounds and options of a session, kept when it is resumed. ``None``: no bound, or the template decides.

    From ``model`` on: words of the command line. ``seal`` shows that this user gave them: they say who gets the
    project's text (``rails.commands.job``).
    """

    max_attempts: int | None
    max_turns: int | None
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    escalate: str = ""
    handoffs: str = ""
    plan: str = ""
    max_reviews: int = 2
    model: str = ""
    base_url: str = ""
    model_for: tuple[str, ...] = ()
    stronger_model: str = ""
    overseer_model: str = ""
    correction: str = ""
    dialect: tuple[str, ...] = ()
    protocol: str = ""
    file: tuple[str, ...] = ()
    tests: str = ""
    approve: str = ""
    seal: str = ""


class WorkflowStart(Event, frozen=True, tag="WORKFLOW_START"):
    """A session begins; ``handed``: the first agent's document."""

    project: str
    tasks: tuple[Task, ...]
    task: str
    agents: tuple[str, ...]
    model: str
    approve: str
    limits: SessionLimits
    versions: Mapping[str, str]
    handed: str = ""

    @property
    def message(self) -> str:
        """The first task."""
        return self.task


class WorkflowEnd(EventWithWords, frozen=True, tag="WORKFLOW_END"):
    """A session ends; ``said``: a closing sentence."""

    outcome: str
    said: str = msgspec.field(default="", name="message")


class SessionResumed(Event, frozen=True, tag="SESSION_RESUMED"):
    """A session goes on. ``advice``: a human's, to an agent that gave up."""

    turns: int
    advice: str

    @property
    def message(self) -> str:
        """The turn after which it resumes."""
        return f"Going on after turn {self.turns}"


class SandboxFound(Event, frozen=True, tag="SANDBOX"):
    """The sandbox that the probes found: level, label."""

    level: int
    label: str
    why: str = ""

    @property
    def message(self) -> str:
        """The label."""
        return self.label


class LogRecovered(EventWithWords, frozen=True, tag="LOG_RECOVERED"):
    """A torn record was kept: its place in the file, length, hash."""

    offset: int
    bytes: int
    sha256: str


class AgentEngage(Event, frozen=True, tag="AGENT_ENGAGE"):
    """An agent starts. ``stands_for`` counts answers that ``first_message`` replaces."""

    agent: str
    task: str
    first_message: str
    system: str
    tools: tuple[str, ...]
    stands_for: int = 0

    @property
    def message(self) -> str:
        """The agent and its task."""
        return f"{self.agent}: {self.task}"


class AgentFinished(EventWithWords, frozen=True, tag="AGENT_FINISHED"):
    """An agent's part is over; ``result`` is handed on."""

    agent: str
    outcome: str
    result: str | None = None


class Escalation(EventWithWords, frozen=True, tag="ESCALATION"):
    """Attempts ran out: the next rung (again, squash, model, human) and why.

    A human who takes over gets ``files``; else ``first_message`` begins a conversation, for ``stands_for`` earlier
    answers.
    """

    rung: str
    reason: str
    first_message: str | None = None
    stands_for: int | None = None
    files: tuple[str, ...] | None = None


class Handoff(Event, frozen=True, tag="HANDOFF"):
    """A result for the next agent: file, what it must have, hash."""

    sender: str
    receiver: str
    file: str
    contract: str
    sha256: str

    @property
    def message(self) -> str:
        """The two agents."""
        return f"{self.sender} hands over to {'you' if self.receiver == 'human' else self.receiver}: {self.file}"


class HumanSteered(Event, frozen=True, tag="HUMAN_STEERED"):
    """A person's answer between turns: about what, which way, who.

    ``text`` was typed or is handed on; ``edited``: they changed it.
    """

    about: str
    answer: str
    by: str
    seconds: float | None = None
    edited: bool | None = None
    file: str | None = None
    text: str | None = None

    @property
    def message(self) -> str:
        """The answer in words."""
        if self.about in ("follow_up", "conversation"):
            return self.text or ""
        by = f" by {self.by}" if self.by else ""
        if self.about != "handoff":
            return f"{self.about}: {self.answer}{by}" + (f": {self.text}" if self.text else "")
        done = {"go": "handed over", "back": "sent back"}.get(self.answer, "stopped at the hand-off")
        return f"{done}{by}{', edited' if self.edited else ''}"


class OverseerAlert(Event, frozen=True, tag="OVERSEER_ALERT"):
    """A rule, or a model, says that a human should look. ``seq``: the record that shows it; ``prompt`` may go to the
    agent; ``usage``: asking's cost; ``mode``: its weight by the settings.
    """

    severity: str
    agent: str
    timestamp: str
    issue_type: str
    description: str
    evidence: str
    recommendation: str
    seq: int
    prompt: str
    usage: Usage | None = None
    rule: str = ""
    mode: str = ""

    @property
    def message(self) -> str:
        """Severity and reason."""
        return f"{self.severity}: {self.description}" + (f" ({self.rule}: {self.mode})" if self.mode else "")


class ErrorEvent(EventWithWords, frozen=True, tag="ERROR"):
    """Our side broke (``trace``), or the agent gave up after ``limit`` attempts."""

    error: str
    recovered: bool = False
    limit: int | None = None
    trace: str | None = None
