"""From records to views: pure folds, tolerant of missing keys and unknown events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from rails.core.events.approval import ApprovalClosed, ApprovalOpened
from rails.core.events.base import UnknownEvent
from rails.core.events.changes import GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    HumanSteered,
    LogRecovered,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import LlmCall
from rails.core.events.values import StoredText
from rails.core.json_text import json_object, to_json
from rails.core.outcomes import outcome_for
from rails.core.text import sha256
from rails.core.tool_request import Json
from rails.core.verdict import Verdict
from rails.log.actions import how_to_answer, is_of_agent, question_text
from rails.projections.attempts import FIRST_TRY, Progress, TurnDoubt, doubts_of, explain_failures, warnings_of
from rails.projections.common import (
    SessionTotals,
    SessionView,
    TurnView,
    checks_in_words,
    fixed_in_words,
    not_checked_in_words,
    places_fixed,
)
from rails.projections.progress import PlanFold
from rails.projections.turn import TurnBuilder

#: What the JSON of a session says of a finding.
_FINDING: Final = ("path", "line", "column", "rule", "message", "tool", "severity", "new")
#: Events that belong to the session, not to one of its turns.
_FRAME: Final = (WorkflowStart, WorkflowEnd, AgentEngage, AgentFinished, SessionResumed, LogRecovered, Undo)


def session_view(
    records: Iterable[Record],
    damage: Sequence[object] = (),
    *,
    load: Callable[[Record], Record] | None = None,
    keep: Callable[[TurnView], TurnView | None] | None = None,
) -> SessionView:
    """Return a session's view; only turns stay in memory.

    ``damage``: unreadable, complete after reading, shown by ``str``. ``load`` restores large values
    (``rails.log.reader.full``). ``keep`` returns a turn's kept form or None.
    """
    fold = SessionFold(load)
    turns = tuple(kept for turn in fold.turns(records) if (kept := keep(turn) if keep else turn))
    return fold.view(turns, damage)


def outline(turn: TurnView) -> TurnView:
    """Return a turn without its texts, for very long sessions."""
    return TurnView(
        turn.number,
        turn.agent,
        "",
        "",
        turn.first_seq,
        turn.last_seq,
        turn.outcome,
        cached_tokens=turn.cached_tokens,
        progress=turn.progress,
        attempt=turn.attempt,
        causes=turn.causes,
    )


class SessionFold:
    """Yields a session's turns one by one, and keeps its totals."""

    def __init__(self, load: Callable[[Record], Record] | None = None) -> None:
        self._load = load
        self._frame = _Frame()
        self._plan = PlanFold()
        self._totals = _Totals()
        self._doubts: list[TurnDoubt] = []
        self._first: Record | None = None
        self._last: Record | None = None
        self._records = self._unknown = 0

    def turns(self, records: Iterable[Record]) -> Iterator[TurnView]:
        """Yield each turn when it is over."""
        progress = Progress()
        for turn in _turns(map(self._take, records)):
            self._totals.add(turn)
            compared = progress.compared(turn)
            self._totals.retries += compared.progress not in ("", FIRST_TRY)
            self._doubts += doubts_of(compared)
            yield compared

    def view(self, turns: tuple[TurnView, ...], damage: Sequence[object] = ()) -> SessionView:
        """Return the session with these turns, after all were yielded."""
        frame = self._frame
        first = self._first
        last = self._last
        return SessionView(
            session_id=first.session_id if first else "",
            started=first.timestamp if first else "",
            ended=last.timestamp if last and frame.outcome else "",
            task=frame.task,
            project=frame.project,
            agents=tuple(filter(None, self._totals.agents)),
            models=tuple(filter(None, self._totals.models)),
            outcome=frame.outcome,
            message=frame.message,
            turns=turns,
            totals=self._totals.value(),
            failures=explain_failures(turns),
            attention=warnings_of(self._doubts, frame.undone, ended=frame.outcome not in ("", "asked")),
            undone=tuple(frame.undone),
            resumed=frame.resumed,
            prompts=frame.prompts,
            damage=tuple(str(item) for item in damage),
            unknown_events=self._unknown,
            records=self._records,
            head=last.hash if last else "",
            plan=tuple(self._plan.steps),
        )

    def _take(self, record: Record) -> Record:
        record = self._load(record) if self._load else record
        self._first = self._first or record
        self._last = record
        self._records += 1
        self._unknown += record.kind is UnknownEvent
        self._frame.add(record)
        self._plan.add(record)
        return record


def session_as_json(view: SessionView) -> dict[str, Json]:
    """Return the view as JSON of ``session.schema.json``."""
    whole = json_object(replace(view, turns=()))
    return {"v": 1, **whole, "turns": [_turn_json(turn) for turn in view.turns]}


def _turn_json(turn: TurnView) -> dict[str, Json]:
    whole = json_object(replace(turn, gates=(), results=()))
    return {
        **whole,
        "gates": [_gate_json(gate) for gate in turn.gates],
        "results": [_result_json(one) for one in turn.results],
        "failed": turn.failed,
    }


def _gate_json(gate: GateVerdict) -> dict[str, Json]:
    verdict = gate.verdict
    return {
        "status": verdict.status,
        "findings": [{name: getattr(one, name) for name in _FINDING} for one in verdict.findings],
        "fixed": [*fixed_in_words(verdict)],
        "fixes": places_fixed(verdict),
        "not_checked": [*not_checked_in_words(verdict)],
        "checks": [*checks_in_words(verdict)],
        "seconds": round(gate.duration_ms / 1000, 3),
        "diff": gate.diff,
        "outlines": to_json(verdict.outlines),
    }


def _result_json(result: ToolExecutionResult) -> dict[str, Json]:
    return {
        "ok": result.ok,
        "text": result.text,
        "tool": result.tool,
        "changes": to_json(result.changes or ()),
        "seconds": round(result.duration_ms / 1000, 3),
    }


class _Frame:
    """Facts from the records around the turns."""

    def __init__(self) -> None:
        self.task = self.project = self.outcome = self.message = ""
        self.undone: list[int] = []
        self.prompts: dict[str, str] = {}
        self.resumed = 0

    def add(self, record: Record) -> None:
        match record.event:
            case WorkflowStart(task=task, project=project):
                self.task = task or record.message
                self.project = project
            case (
                WorkflowEnd(outcome=outcome, said=said) | HumanSteered(about="conversation", answer=outcome, text=said)
            ):
                self.outcome = outcome_for(outcome)
                self.message = said or record.message
            case AgentEngage(system=system):
                self.prompts[record.agent_role] = _prompt_digest(system)
            case ApprovalOpened() as asked if is_of_agent(asked):
                self.message = f"{question_text(asked)} {how_to_answer(record.session_id)}"
            case ApprovalClosed():
                self.outcome = self.message = ""
            case Undo(step=step, redo=redo):
                self.undone = [one for one in self.undone if one != step] + [step] * (not redo)
            case SessionResumed():
                self.resumed += 1
                self.outcome = self.message = ""


def _prompt_digest(system: str) -> str:
    """Return the start of the SHA-256 of an agent's prompt, "" without one."""
    if isinstance(system, StoredText):
        return system.blob[:12]  # large values are named by the same hash
    return sha256(system.encode("utf-8", "replace"))[:12] if system else ""


def _turns(records: Iterable[Record]) -> Iterator[TurnView]:
    """Yield the turns; what precedes the first question to a model is turn 0."""
    builder: TurnBuilder | None = None
    asked = 0
    for record in records:
        around = isinstance(record.event, _FRAME)
        if isinstance(record.event, LlmCall):
            # An overloaded model is asked again: that is the same turn, unless it had an answer already.
            if builder is None or builder.number == 0 or builder.answered:
                if builder:
                    yield builder.build()
                asked = max(record.event.turn, 0) or asked + 1
                builder = TurnBuilder(asked, record)
        elif not around and not isinstance(record.event, UnknownEvent) and builder is None:
            builder = TurnBuilder(0, record)
        if builder and not around:
            builder.add(record)
    if builder:
        yield builder.build()


class _Totals:
    """Counts turns in, one by one."""

    def __init__(self) -> None:
        self.agents: dict[str, None] = {}
        self.models: dict[str, None] = {}
        self.retries = 0
        self._counts: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._paths: set[str] = set()
        self._open: dict[str, set[tuple[str, str, str]]] = {}

    def add(self, turn: TurnView) -> None:
        self.agents[turn.agent] = self.models[turn.model] = None
        for stage, spent in turn.seconds.items():
            self._seconds[stage] = round(self._seconds.get(stage, 0.0) + spent, 3)
        for result in turn.results:
            if result.ok:
                self._paths |= {change.path for change in result.changes or ()}
        answers = [approval.answer for approval in turn.approvals]
        self._counts.update(
            turns=min(turn.number, 1),
            requests=len(turn.requests),
            repairs=sum(len(request.repairs) for request in turn.requests),
            refusals=len(turn.refusals),
            approved=answers.count("approve"),
            denied=answers.count("deny") + answers.count("abort"),
            input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens,
        )
        for gate in turn.gates:
            self._judged(turn.agent, gate.verdict)

    def _judged(self, agent: str, verdict: Verdict) -> None:
        new = [finding for finding in verdict.findings if finding.new]
        now = {(finding.path, finding.rule, finding.message) for finding in new}
        self._counts["findings"] += len(new)
        self._counts["findings_fixed"] += places_fixed(verdict) + len(self._open.get(agent, set()) - now)
        self._open[agent] = now

    def value(self) -> SessionTotals:
        return SessionTotals(
            **self._counts, retries=self.retries, files_changed=len(self._paths), seconds=self._seconds
        )
