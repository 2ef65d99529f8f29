"""A session's counts for lists and sparklines, kept record by record."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field

from rails.core.conversation import Usage
from rails.core.events.approval import ApprovalClosed, ApprovalOpened, HumanDecision
from rails.core.events.base import Event
from rails.core.events.changes import ChangeRefused, CheckpointEvent, GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    ErrorEvent,
    Escalation,
    Handoff,
    HumanSteered,
    OverseerAlert,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import (
    ContextReduced,
    CorrectionEvent,
    FeedbackSent,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    ToolRequestValidationFailed,
)
from rails.core.json_text import json_object
from rails.core.lazy_pattern import lazy
from rails.core.outcomes import SessionEnd, outcome_for
from rails.core.tool_request import Json
from rails.core.verdict import Verdict
from rails.log.actions import is_of_agent, question_text

#: Points of the verdict sparkline that are kept, newest last.
_SPARK: Final = 40
_LANDMARKS: Final = 300
_MODELS: Final = 200
_FILES: Final = 500
#: What a person's later yes to denials that nobody was there for is about.
DENIED: Final = "what was denied"
_HUNK: Final = lazy(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


#: What is counted of events without reading them.
_COUNTED: Final[Mapping[type[Event], str]] = {
    **{LlmResponse: "turns", McpRequestFormulated: "requests"},
    **dict.fromkeys((ToolRequestValidationFailed, ChangeRefused), "refused"),
    **dict.fromkeys((LlmError, ErrorEvent), "errors"),
}
_LANDMARK: Final = {AgentEngage, AgentFinished, Escalation, Handoff, WorkflowEnd}
_READ: Final = frozenset(
    {
        FeedbackSent,
        ApprovalOpened,
        ApprovalClosed,
        LlmResponse,
        ContextReduced,
        CorrectionEvent,
        OverseerAlert,
        GateVerdict,
        HumanDecision,
        ToolExecutionResult,
        CheckpointEvent,
        HumanSteered,
        Undo,
        WorkflowStart,
        WorkflowEnd,
    }
)


class SessionStats(Struct):
    """The facts of a session in a list. Counts are of records, tokens the providers'.

    ``spark``, per verdict and decision: p pass, f fail, e error, a approved, d denied. ``rules``: new findings.
    ``used``, by model: tokens in, out, read from and written to cache. ``seconds`` worked. Record numbers:
    ``landmarks`` (plan), ``start``, ``told`` (last feedback), ``waiting`` (question). ``failed``: sent back. ``files``,
    ``judged`` (last change): lines added, removed. ``tested`` since the last change. ``asks``: words, answerable later.
    ``unattended``: denials. ``message``: how it ended, or why it stands still.
    """

    session_id: str
    started: str = ""
    last: str = ""
    task: str = ""
    outcome: str = ""
    message: str = ""
    records: int = 0
    damage: int = 0
    newer: int = 0
    turns: int = 0
    requests: int = 0
    refused: int = 0
    gate_failed: int = 0
    approved: int = 0
    denied: int = 0
    errors: int = 0
    undone: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    agents: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)
    spark: str = ""
    used: dict[str, list[int]] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    limits: dict[str, Json] = field(default_factory=dict)
    landmarks: list[int] = field(default_factory=list)
    start: int = 0
    told: int = 0
    files: dict[str, list[int]] = field(default_factory=dict)
    judged: dict[str, list[int]] = field(default_factory=dict)
    tested: bool = False
    waiting: int = 0
    question: str = ""
    asks: bool = False
    unattended: int = 0
    failed: int = 0

    @property
    def ending(self) -> SessionEnd | Literal[""]:
        """The outcome, "asked" with an open question, "" if unknown."""
        return outcome_for(self.outcome) if self.outcome else ("asked" if self.waiting else "")

    def add(self, record: Record) -> None:
        """Count ``record``; its large values should be whole."""
        self.started = self.started or record.timestamp
        self.seconds += worked(self.last, record)
        self.last = record.timestamp
        self.records = record.seq
        _remember(self.agents, record.agent_role)
        _remember(self.models, record.llm_model_used)
        kind = record.kind
        if count := _COUNTED.get(kind):
            setattr(self, count, getattr(self, count) + 1)
        if kind in _LANDMARK:
            self._landmark(record)
        if kind is SessionResumed:
            self.outcome = self.message = ""
        if kind in _READ:
            self._read(record)

    def _read(self, record: Record) -> None:
        match record.event:
            case LlmResponse(usage=usage, duration_ms=spent):
                self._spend("model", (spent or 0) / 1000)
                self.input_tokens += usage.input_tokens
                self.output_tokens += usage.output_tokens
                self.cached_tokens += usage.cache_read_tokens
                self._use(record.llm_model_used, usage)
            case CorrectionEvent(usage=usage) | ContextReduced(usage=usage) | OverseerAlert(usage=Usage() as usage):
                self._use(record.llm_model_used, usage)
            case GateVerdict(verdict=verdict, duration_ms=spent, diff=diff):
                self._spend("gate", spent / 1000)
                self.judged = lines_by_file(diff)
                self._verdict(verdict)
            case HumanDecision(answer=answer, seconds=spent, by=by) if answer != "dry_run":  # nobody was asked then
                self._spend("human", spent)
                self.unattended += answer == "deny" and by == "headless"
                self.waiting = 0
                self.question = ""
                self._decision(agreed=answer == "approve")
            case ToolExecutionResult() as event:
                self._spend("run" if event.tool else "write", event.duration_ms / 1000)
                self._result(event)
            case FeedbackSent(codes=codes):
                self.told = record.seq
                self.failed += bool(codes)
            case ApprovalOpened() as asked:
                self.waiting = record.seq
                self.question = question_text(asked)
                self.asks = is_of_agent(asked)
            case ApprovalClosed():
                self.waiting = 0
                self.question = self.outcome = self.message = ""
            case CheckpointEvent(paths=paths):
                for path in paths:
                    _remember(self.paths, path)
            case Undo(redo=redo):
                self.undone += -1 if redo else 1
            case _:
                self._read_frame(record)

    def _read_frame(self, record: Record) -> None:
        match record.event:
            case WorkflowStart(task=task, limits=limits):
                self.task = task or record.message
                self.start = record.seq
                self.limits = json_object(limits)
            case WorkflowEnd(outcome=outcome):
                self.outcome = outcome or "ended"
                self.message = record.message
                self.waiting = 0
                self.question = ""
            case HumanSteered(about="handoff"):
                self._landmark(record)
            case HumanSteered(about="conversation", answer=answer, text=text):
                self.outcome = answer
                self.message = text or ""
            case HumanSteered(about=about) if about == DENIED:
                self.unattended = 0

    def _result(self, event: ToolExecutionResult) -> None:
        self.tested = event.ok if event.ran_tests else self.tested and not event.changes
        if not event.ok:
            return
        for change in event.changes or ():
            if change.path in self.files or len(self.files) < _FILES:
                counts = self.files.setdefault(change.path, [0, 0])
                for at, lines in enumerate(self.judged.get(change.path, (0, 0))):
                    counts[at] += lines

    def _landmark(self, record: Record) -> None:
        self.landmarks = [*self.landmarks, record.seq][-_LANDMARKS:]

    def to_json(self) -> dict[str, Json]:
        """Return JSON that ``SessionStats(**…)`` reads back."""
        return json_object(self)

    def _use(self, model: str, usage: Usage) -> None:
        new = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        if any(new) and (model in self.used or len(self.used) < _MODELS):
            self.used[model] = [a + b for a, b in zip(self.used.get(model, (0, 0, 0, 0)), new, strict=True)]

    def _spend(self, stage: str, seconds: float) -> None:
        if seconds > 0:
            self.stages[stage] = round(self.stages.get(stage, 0.0) + seconds, 3)

    def _verdict(self, verdict: Verdict) -> None:
        self.gate_failed += verdict.status != "pass"
        self._mark(verdict.status[0])
        for rule in (finding.rule for finding in verdict.findings if finding.new):
            self.rules[rule] = self.rules.get(rule, 0) + 1

    def _decision(self, *, agreed: bool) -> None:
        self.approved += agreed
        self.denied += not agreed
        self._mark("a" if agreed else "d")

    def _mark(self, letter: str) -> None:
        self.spark = (self.spark + letter)[-_SPARK:]


def lines_by_file(diff: str) -> dict[str, list[int]]:
    """Return how many lines a unified diff adds to and removes from each file."""
    counts: dict[str, list[int]] = {}
    old = new = 0
    path = ""
    for row in diff.split("\n"):
        if old > 0 or new > 0:
            mark = row[:1]
            old -= mark != "+"
            new -= mark != "-"
            counts[path][0] += mark == "+"
            counts[path][1] += mark == "-"
        elif row.startswith("--- "):
            path = row[4:].removeprefix("a/")
        elif row.startswith("+++ ") and row != "+++ /dev/null":
            path = row[4:].removeprefix("b/")
        elif (hunk := _HUNK.match(row)) and len(counts) < _FILES:
            old, new = (1 if count is None else int(count) for count in hunk.groups())
            counts.setdefault(path, [0, 0])
    return counts


def _remember(known: list[str], value: str) -> None:
    if value and value not in known and len(known) < 200:
        known.append(value)


def worked(last: str, record: Record) -> float:
    """Return the seconds since the record before, without time before a resume."""
    return 0.0 if record.kind is SessionResumed else seconds_between(last, record.timestamp)


def seconds_between(start: str, end: str) -> float:
    """Return the seconds from one ISO 8601 time to another; 0 for none, or backwards."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
