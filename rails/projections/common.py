"""What a review shows: plain values, made from log records by ``rails.projections.session``.

Everything here is a function of the log; nothing is stored. Times are UTC in ISO 8601, durations in
seconds. Texts are as logged, not yet printable: whoever draws them passes them through ``core.text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from rails.core.changes import ChangedFile
from rails.core.events.changes import GateVerdict, ToolExecutionResult
from rails.core.tool_request import Json
from rails.core.verdict import Verdict
from rails.log.actions import paths_of
from rails.projections.progress import PlanStep

#: The outcome of a turn. "asked": its agent waits for words; "open": the log ends in the middle of it.
TurnOutcome = Literal[
    "applied", "ran", "refused", "findings", "denied", "aborted", "dry_run", "failed", "answered", "asked", "open"
]
#: How a try compares with those before it. "first": nothing to compare with; "repeated": the very same answer;
#: "ignored": the same failure; "oscillating": back to an earlier one; "progress": another failure; "cut": the
#: answer was cut off; "right": no failure after failures.
Attempt = Literal["", "first", "repeated", "ignored", "oscillating", "progress", "cut", "right"]


class RequestView(Struct, frozen=True):
    """A tool request that was found. ``valid`` is ``None`` when the log does not say."""

    id: str
    tool: str
    explanation: str
    dialect: str
    parameters: Json
    repairs: tuple[str, ...] = ()
    coerced: tuple[str, ...] = ()
    valid: bool | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files the parameters name, in order, as far as they are known."""
        return paths_of(self.parameters)


class RefusalView(Struct, frozen=True):
    """A refusal: ``stage`` is where it happened ("request", "edit", or "output" for a final answer)."""

    stage: Literal["request", "edit", "output"]
    code: str
    message: str
    hint: str = ""
    path: str = ""
    request_id: str = ""


class ValueChange(Struct, frozen=True):
    """A value that a correction changed, as JSON; ``None``: it was not there before, or is not there after."""

    place: str
    old: str | None
    new: str | None


class CorrectionView(Struct, frozen=True):
    """The model was asked to correct a block. ``why`` says why its answer was not taken, ``changes`` which
    values it changed; without any, only the syntax changed.
    """

    request_id: str
    taken: bool
    why: str
    changes: tuple[ValueChange, ...]


class ApprovalView(Struct, frozen=True):
    """A question and its answer. ``answer`` is "" while nobody has answered.

    ``question`` are the lines of what an agent asked with ``ask_user``; ``reason`` is then the answer, or how to
    give it.
    """

    id: str
    digest: str
    kind: str
    tools: tuple[str, ...]
    diff: str
    risks: tuple[str, ...]
    notes: tuple[str, ...]
    asked_at: str
    answer: str = ""
    reason: str = ""
    by: str = ""
    at: str = ""
    seconds: float = 0.0
    question: tuple[str, ...] = ()


class TurnView(Struct):
    """One turn: the model is asked, and everything that follows until it is asked again. Its builder fills it in.

    ``number`` counts from 1 within the session; 0 is what happened before the model was asked, such as
    an answer that was applied from a file. ``first_seq`` and ``last_seq`` are the turn's log records.
    ``planned`` are the changes the requests came to, written or not; ``gates`` and ``results`` the events themselves.
    ``in_doubt`` is whether something was begun that has no result.
    ``progress`` says how this turn's failures compare with those of the turn before; ``attempt`` is the same as
    a word of :data:`Attempt`, ``causes`` why it failed, as codes and rules. ``cached_tokens`` were read from the
    provider's cache; ``input_tokens`` leaves them out.
    """

    number: int
    agent: str
    model: str
    started: str
    first_seq: int
    last_seq: int
    outcome: TurnOutcome
    text: str = ""
    stop_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: tuple[RequestView, ...] = ()
    refusals: tuple[RefusalView, ...] = ()
    ignored: tuple[str, ...] = ()
    corrections: tuple[CorrectionView, ...] = ()
    notes: tuple[str, ...] = ()
    planned: tuple[ChangedFile, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    results: tuple[ToolExecutionResult, ...] = ()
    checkpoints: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()
    feedback: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    progress: str = ""
    attempt: Attempt = ""
    causes: tuple[str, ...] = ()
    in_doubt: bool = False

    @property
    def failed(self) -> bool:
        """Whether the agent had to try again, or a human said no."""
        return self.outcome in ("refused", "findings", "denied", "aborted", "failed")


class SessionTotals(Struct, frozen=True):
    """Counts over a session. ``retries`` are turns that followed a failed one. ``findings_fixed`` counts
    what the tools repaired and new findings that a later attempt no longer had. ``seconds`` by stage:
    model, gate, human, write, run.
    """

    turns: int = 0
    requests: int = 0
    repairs: int = 0
    refusals: int = 0
    retries: int = 0
    findings: int = 0
    findings_fixed: int = 0
    approved: int = 0
    denied: int = 0
    files_changed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


class SessionView(Struct, frozen=True):
    """A whole session. ``outcome`` is "" while it runs or when it broke off; ``message`` is then what an agent asks.
    ``failures`` explains every
    row of failed turns in a sentence; ``attention`` says what deserves a second look; ``damage`` are the log's
    unreadable lines, ``undone`` the steps taken back. ``prompts`` has a digest of each agent's
    prompt. ``head`` is the hash of the last record: it stands for the whole log. ``plan`` has the agents with their
    tasks, and how far each is.
    """

    session_id: str
    started: str
    ended: str
    task: str
    project: str
    agents: tuple[str, ...]
    models: tuple[str, ...]
    outcome: str
    message: str
    turns: tuple[TurnView, ...]
    totals: SessionTotals
    failures: tuple[str, ...] = ()
    attention: tuple[str, ...] = ()
    undone: tuple[int, ...] = ()
    resumed: int = 0
    prompts: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[str, ...] = ()
    unknown_events: int = 0
    records: int = 0
    head: str = ""
    plan: tuple[PlanStep, ...] = ()

    @property
    def ending(self) -> str:
        """The outcome, "asked" where an agent waits for words, "" where nothing says how it ended."""
        return self.outcome or ("asked" if self.message else "")


def fixed_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Say what the gate repaired, one sentence each."""
    return tuple(f"{one.tool} {one.rule} ×{one.count or 1} in {one.path}" for one in verdict.fixed)


def not_checked_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Say what was not checked, and why."""
    return tuple(f"{one.path} by {one.check}: {one.reason}" for one in verdict.not_checked)


def checks_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Return the checks that ran, with their versions."""
    return tuple(f"{run.name} {run.version}".strip() for run in verdict.checks)


def places_fixed(verdict: Verdict) -> int:
    """Count the places that the gate repaired."""
    return sum(one.count or 1 for one in verdict.fixed)
