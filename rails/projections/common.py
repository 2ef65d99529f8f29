"""Plain values for reviews, from ``rails.projections.session``. UTC ISO 8601, seconds; print texts through
``core.text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

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
    """A tool request. ``valid``: ``None`` if the log does not say."""

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
        """The files that the parameters name, in order."""
        return paths_of(self.parameters)


class RefusalView(Struct, frozen=True):
    """A refusal at ``stage`` "request", "edit", or "output" (a final answer)."""

    stage: Literal["request", "edit", "output"]
    code: str
    message: str
    hint: str = ""
    path: str = ""
    request_id: str = ""


class CorrectionView(Struct, frozen=True):
    """A block's correction, as a difference of the two. ``why`` it was not taken."""

    request_id: str
    taken: bool
    why: str
    diff: str


class ApprovalView(Struct, frozen=True):
    """A question; ``answer`` "" until answered. ``question``: ``ask_user`` lines; ``reason``: then the answer, or how
    to give it.
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
    """From one request to the model until the next.

    ``number`` from 1; 0 precedes the model, as an answer from a file. ``first_seq`` to ``last_seq``: records.
    ``planned``: written or not; ``in_doubt``: begun without result. ``progress``, as a word ``attempt``: failures
    against the turn before; ``causes``: codes, rules. ``input_tokens`` exclude ``cached_tokens``.
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
    seconds: Mapping[str, float] = {}
    progress: str = ""
    attempt: Attempt = ""
    causes: tuple[str, ...] = ()
    in_doubt: bool = False

    @property
    def failed(self) -> bool:
        """Whether the agent had to try again, or a human denied."""
        return self.outcome in ("refused", "findings", "denied", "aborted", "failed")


class SessionTotals(Struct, frozen=True):
    """``retries`` follow failed turns. ``findings_fixed``: by tools or later attempts. ``seconds``: model, gate, human,
    write, run.
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
    seconds: Mapping[str, float] = {}


class SessionView(Struct, frozen=True):
    """A session. ``outcome`` "": running or broken off, ``message`` then an agent's question.

    ``failures``: a sentence per failed row; ``attention``: warnings; ``damage``: unreadable lines; ``undone``: steps;
    ``prompts``: digests; ``head``: last hash, for the whole log.
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
    prompts: Mapping[str, str] = {}
    damage: tuple[str, ...] = ()
    unknown_events: int = 0
    records: int = 0
    head: str = ""
    plan: tuple[PlanStep, ...] = ()

    @property
    def ending(self) -> str:
        """The outcome, "asked" if an agent waits for words, "" if unknown."""
        return self.outcome or ("asked" if self.message else "")


def fixed_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Return the gate's repairs, a sentence each."""
    return tuple(f"{one.tool} {one.rule} ×{one.count or 1} in {one.path}" for one in verdict.fixed)


def not_checked_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Return what was not checked, and why."""
    return tuple(f"{one.path} by {one.check}: {one.reason}" for one in verdict.not_checked)


def checks_in_words(verdict: Verdict) -> tuple[str, ...]:
    """Return the checks that ran, with versions."""
    return tuple(f"{run.name} {run.version}".strip() for run in verdict.checks)


def places_fixed(verdict: Verdict) -> int:
    """Return how many places the gate repaired."""
    return sum(one.count or 1 for one in verdict.fixed)
