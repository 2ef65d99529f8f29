"""From log records to views: pure folds, tolerant of missing keys and unknown event types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rails.core.dataclass import replace
from rails.core.events.base import UnknownEvent
from rails.core.events.changes import GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    LogRecovered,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import LlmCall
from rails.core.events.values import StoredText
from rails.core.json_text import json_object, to_json
from rails.core.text import sha256
from rails.core.tool_request import Json
from rails.projections.attempts import explain_failures, warnings_of, with_progress
from rails.projections.common import (
    SessionTotals,
    SessionView,
    TurnView,
    checks_in_words,
    fixed_in_words,
    not_checked_in_words,
    places_fixed,
)
from rails.projections.progress import plan_of
from rails.projections.turn import TurnBuilder

#: What the JSON of a session says of a finding.
_FINDING: Final = ("path", "line", "column", "rule", "message", "tool", "severity", "new")
#: Events that belong to the session, not to one of its turns.
_FRAME: Final = (WorkflowStart, WorkflowEnd, AgentEngage, AgentFinished, SessionResumed, LogRecovered, Undo)


def session_view(
    records: Iterable[Record], damage: Sequence[object] = (), *, load: Callable[[Record], Record] | None = None
) -> SessionView:
    """Fold a session's records into its view.

    ``damage`` is what the lenient reader could not read; each is shown by its ``str``. ``load`` puts
    large values back into a record (``rails.log.reader.full``); without it their beginnings are shown.
    """
    records = [load(record) for record in records] if load else list(records)
    turns = with_progress(_turns(records))
    frame = _Frame(records)
    last = records[-1].timestamp if records else ""
    return SessionView(
        session_id=records[0].session_id if records else "",
        started=records[0].timestamp if records else "",
        ended=last if frame.outcome else "",
        task=frame.task,
        project=frame.project,
        agents=tuple(dict.fromkeys(turn.agent for turn in turns if turn.agent)),
        models=tuple(dict.fromkeys(turn.model for turn in turns if turn.model)),
        outcome=frame.outcome,
        message=frame.message,
        turns=turns,
        totals=_totals(turns),
        failures=explain_failures(turns),
        attention=warnings_of(turns, frame.undone, ended=bool(frame.outcome)),
        undone=tuple(frame.undone),
        resumed=frame.resumed,
        prompts=frame.prompts,
        damage=tuple(str(item) for item in damage),
        unknown_events=sum(isinstance(record.event, UnknownEvent) for record in records),
        records=len(records),
        head=records[-1].hash if records else "",
        plan=plan_of(records),
    )


def session_as_json(view: SessionView) -> dict[str, Json]:
    """Return the view as JSON; ``session.schema.json`` in this package describes it."""
    whole = json_object(replace(view, turns=()))
    return {"v": 1, **whole, "turns": [_turn_json(turn) for turn in view.turns]}


def _turn_json(turn: TurnView) -> dict[str, Json]:
    whole = json_object(replace(turn, gates=(), results=()))
    gates: list[Json] = [_gate_json(gate) for gate in turn.gates]
    return {**whole, "gates": gates, "results": [_result_json(one) for one in turn.results], "failed": turn.failed}


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
    """What the records around the turns say."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.task = self.project = self.outcome = self.message = ""
        self.undone: list[int] = []
        self.prompts: dict[str, str] = {}
        self.resumed = 0
        for record in records:
            match record.event:
                case WorkflowStart(task=task, project=project):
                    self.task, self.project = task or record.message, project
                case WorkflowEnd(outcome=outcome, said=said):
                    self.outcome, self.message = outcome or "ended", said or record.message
                case AgentEngage(system=system):
                    self.prompts[record.agent_role] = _prompt_digest(system)
                case Undo(step=step, redo=redo):
                    self.undone = [one for one in self.undone if one != step] + [step] * (not redo)
                case SessionResumed():
                    self.resumed += 1
                    self.outcome = self.message = ""


def _prompt_digest(system: str) -> str:
    """Return the beginning of the SHA-256 of an agent's prompt, "" where the log has none."""
    if isinstance(system, StoredText):
        return system.blob[:12]  # large values are named by the same hash
    return sha256(system.encode("utf-8", "replace"))[:12] if system else ""


def _turns(records: Iterable[Record]) -> tuple[TurnView, ...]:
    """Cut the records into turns. What comes before the first question to a model is turn 0, if it is anything."""
    builders: list[TurnBuilder] = []
    asked = 0
    for record in records:
        around = isinstance(record.event, _FRAME)
        if isinstance(record.event, LlmCall):
            # An overloaded model is asked again: that is the same turn, unless it had an answer already.
            if not builders or builders[-1].number == 0 or builders[-1].answered:
                asked = max(record.event.turn, 0) or asked + 1
                builders.append(TurnBuilder(asked, record))
        elif not around and not isinstance(record.event, UnknownEvent) and not builders:
            builders.append(TurnBuilder(0, record))
        if builders and not around:
            builders[-1].add(record)
    return tuple(builder.build() for builder in builders)


def _totals(turns: Sequence[TurnView]) -> SessionTotals:
    gates = [gate for turn in turns for gate in turn.gates]
    answers = [approval.answer for turn in turns for approval in turn.approvals]
    seconds: dict[str, float] = {}
    for turn in turns:
        for stage, spent in turn.seconds.items():
            seconds[stage] = round(seconds.get(stage, 0.0) + spent, 3)
    new = sum(finding.new for gate in gates for finding in gate.verdict.findings)
    paths = {change.path for turn in turns for result in turn.results if result.ok for change in result.changes or ()}
    return SessionTotals(
        turns=sum(turn.number > 0 for turn in turns),
        requests=sum(len(turn.requests) for turn in turns),
        repairs=sum(len(request.repairs) for turn in turns for request in turn.requests),
        refusals=sum(len(turn.refusals) for turn in turns),
        retries=sum(turn.progress not in ("", "first try") for turn in turns),
        findings=new,
        findings_fixed=sum(places_fixed(gate.verdict) for gate in gates) + _fixed_by_agents(turns),
        approved=answers.count("approve"),
        denied=answers.count("deny") + answers.count("abort"),
        files_changed=len(paths),
        input_tokens=sum(turn.input_tokens for turn in turns),
        output_tokens=sum(turn.output_tokens for turn in turns),
        seconds=seconds,
    )


def _fixed_by_agents(turns: Sequence[TurnView]) -> int:
    """Count new findings that the next verdict of the same agent no longer has."""
    fixed = 0
    open_findings: dict[str, set[tuple[str, str, str]]] = {}
    for turn in turns:
        for gate in turn.gates:
            now = {(f.path, f.rule, f.message) for f in gate.verdict.findings if f.new}
            fixed += len(open_findings.get(turn.agent, set()) - now)
            open_findings[turn.agent] = now
    return fixed
