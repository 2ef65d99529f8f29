"""A running session as events (``event.schema.json``). ``json-tool-status`` (each step of a request) and
``json-tool-block`` (once per block) are of the JSON tool block protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from rails.core.conversation import Usage
from rails.core.events.approval import ApprovalClosed, ApprovalOpened, HumanDecision
from rails.core.events.changes import ChangeRefused, ExecutionStarted, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    ErrorEvent,
    Escalation,
    Handoff,
    HumanSteered,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import (
    CorrectionEvent,
    FeedbackSent,
    LlmCall,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    ToolBlock,
    ToolRequestValidationFailed,
    ToolStatus,
)
from rails.core.outcomes import outcome_for
from rails.core.text import counted, one_line
from rails.core.tool_request import Json

#: The version of the schema; it grows by kinds and fields.
VERSION: Final = 1
_WORDS: Final = 200
_FINDINGS: Final = 50
#: How far a call is with each status; all others: its block is being looked at.
_STATES: Final = {
    "buffering": "detected",
    "executing": "executing",
    "completed": "completed",
    "failed": "failed",
    "denied": "failed",
}
_GATE: Final = {"pass": "Checks passed", "error": "Could not be checked"}
_ENDED: Final = {"approve": "approved", "deny": "denied", "abort": "denied"}
_Facts = dict[str, Json]


class LiveSignal(Struct, frozen=True):
    """An event: its record's number, kind and data."""

    number: int
    kind: str
    data: Mapping[str, Json]

    def to_json(self) -> _Facts:
        """Return the event as in the schema."""
        return {"v": VERSION, "type": self.kind, "seq": self.number, **self.data}


class Live:
    """Makes events of records, in order. ``cost`` of an answer: ``None`` if unknown."""

    def __init__(self, cost: Callable[[str, Usage], float | None] = lambda _model, _usage: None) -> None:
        self._cost = cost
        self._requests: dict[str, tuple[str, str]] = {}
        self._open: set[str] = set()
        self._asked: tuple[str, ...] = ()
        self._text = ""
        #: What a block becomes that was corrected on the way.
        self._executed: dict[str, str] = {}

    def add(self, record: Record) -> Iterator[LiveSignal]:
        """Yield the events of ``record``."""
        at = round(datetime.fromisoformat(record.timestamp).timestamp() * 1000)
        for kind, data in self._signals(record):
            yield LiveSignal(record.seq, kind, {**data, "timestamp": at})

    def _signals(self, record: Record) -> Iterator[tuple[str, _Facts]]:
        match record.event:
            case ToolStatus() as event:
                self._requests[event.id] = event.tool, event.path
                yield from self._status((event.id,), "buffering", event.status_message)
            case McpRequestFormulated(request=request):
                content = {"tool": request.tool_name, "parameters": dict(request.parameters)}
                self._executed[request.id] = json.dumps(content, ensure_ascii=False)
            case CorrectionEvent(id=request_id, after=after, taken=True):
                self._executed[request_id] = after
            case ToolBlock() as event:
                yield self._block(event)
            case ToolRequestValidationFailed(ids=ids) | ChangeRefused(ids=ids):
                yield from self._status(ids, "failed", record.message)
            case GateVerdict() as event:
                yield from self._judged(event)
            case ExecutionStarted(ids=ids, tool=tool):
                yield from self._status(ids, "executing", f"Running {tool}" if tool else record.message)
            case ToolExecutionResult(ids=ids, ok=ok):
                yield from self._status(ids, "completed" if ok else "failed", record.message)
            case FeedbackSent() | AgentFinished() | WorkflowEnd():
                left = [request_id for request_id in self._requests if request_id in self._open]
                yield from self._status(left, "failed", "Not executed")
                yield from _frame(record)
            case LlmResponse() as event:
                self._text = event.text
                yield from self._answered(event, record.llm_model_used)
            case LlmCall(turn=number):
                self._requests, self._asked, self._executed = {}, (), {}
                agent, model = one_line(record.agent_role, 60), one_line(record.llm_model_used, 60)
                yield "turn", {"turn": number, "message": f"{agent} · turn {number}: asking {model}"}
            case _:
                yield from self._approval(record)

    def _answered(self, event: LlmResponse, model: str) -> Iterator[tuple[str, _Facts]]:
        if prose := (event.prose or "").strip():
            yield "text-delta", {"delta": prose, "processedDelta": prose, "format": "markdown"}
        usage = event.usage
        yield (
            "cost",
            {
                "input": usage.input_tokens,
                "output": usage.output_tokens,
                "cost": self._cost(model, usage),
                "model": model,
                "seconds": round((event.duration_ms or 0) / 1000, 1),
            },
        )

    def _approval(self, record: Record) -> Iterator[tuple[str, _Facts]]:
        match record.event:
            case ApprovalOpened() as event:
                named = tuple(request.id for request in event.requests if request.id)
                self._asked = named or _named(event.id)
                yield from self._status(self._asked, "waiting", "Waiting for approval")
                options: list[Json] = [option.word for option in event.options]
                lines: list[Json] = [*event.lines]
                shown: _Facts = {"kind": event.kind, "message": event.explanation, "lines": lines, "options": options}
                yield "approval", {"question": record.seq, "state": "open", "by": "", **shown}
            case ApprovalClosed(id=question_id, state=state, question=number):
                yield from self._ended(question_id, state, number, record.message)
            case HumanDecision(id=question_id, answer=answer) as event:
                yield from self._ended(question_id, answer, 0, event.reason, event.by)
            case _:
                yield from _frame(record)

    def _status(self, ids: Iterable[str], status: str, message: str) -> Iterator[tuple[str, _Facts]]:
        state = _STATES.get(status, "processing")
        for request_id in ids:
            tool, path = self._requests.get(request_id, ("", ""))
            if state in ("completed", "failed"):
                self._open.discard(request_id)
            data: _Facts = {"toolId": request_id, "toolType": tool, "path": one_line(path, _WORDS), "status": status}
            yield "json-tool-status", {**data, "state": state, "statusMessage": one_line(message, _WORDS)}

    def _block(self, event: ToolBlock) -> tuple[str, _Facts]:
        tool, path = self._requests.get(event.id, ("", ""))
        tool, path = event.tool or tool, event.path or path
        self._requests[event.id] = tool, path
        self._open.add(event.id)
        original = self._text[event.start : event.end] if event.start >= 0 else event.content
        return "json-tool-block", {
            "toolId": event.id,
            "toolType": tool,
            "path": one_line(path, _WORDS),
            "content": self._executed.get(event.id, original) if event.corrected else original,
            "original": original,
            "validationPassed": event.passed,
            "corrected": event.corrected,
            "verdict": event.verdict,
            "status": "complete",
            "state": "processing",
        }

    def _judged(self, event: GateVerdict) -> Iterator[tuple[str, _Facts]]:
        new = [finding for finding in event.verdict.findings if finding.new]
        status = event.verdict.status
        yield from self._status(
            event.ids, "checked" if status == "pass" else "findings", _GATE.get(status, counted(len(new), "finding"))
        )
        findings: list[Json] = [
            {"path": str(finding.path), "line": finding.line, "rule": finding.rule, "message": finding.message}
            for finding in new[:_FINDINGS]
        ]
        yield "gate", {"toolIds": list(event.ids), "status": status, "findings": findings, "count": len(new)}

    def _ended(
        self, question_id: str, answer: str, number: int, reason: str, by: str = ""
    ) -> Iterator[tuple[str, _Facts]]:
        status = _ENDED.get(answer, answer)
        message = f"{status.capitalize()}: {reason}" if reason else status.capitalize()
        yield from self._status(self._asked or _named(question_id), status, message)
        yield "approval", {"question": number, "state": status, "by": by, "message": reason}


def _named(request_id: str) -> tuple[str, ...]:
    return (request_id,) if request_id else ()


def _frame(record: Record) -> Iterator[tuple[str, _Facts]]:
    message = one_line(record.message, _WORDS)
    match record.event:
        case WorkflowStart(agents=agents, model=model):
            yield "session", {"session": record.session_id, "agents": list(agents), "model": model, "message": message}
        case AgentEngage(task=task):
            yield "agent", {"agent": one_line(record.agent_role, 60), "message": one_line(task)}
        case FeedbackSent(attempt=attempt, limit=limit, codes=codes):
            kinds = ", ".join(codes)
            message = f"Asking the model to fix it ({kinds}, attempt {attempt} of {limit})" if kinds else ""
            yield "attempt", {"attempt": attempt, "limit": limit, "message": one_line(message, _WORDS)}
        case LlmError(error=error) | ErrorEvent(error=error):
            yield "error", {"message": one_line(error or record.message, 2_000)}
        case Escalation(rung=rung):
            yield "escalation", {"rung": rung, "message": message}
        case Handoff():
            yield "handoff", {"state": "written", "message": message}
        case HumanSteered(about="handoff", answer=answer):
            yield "handoff", {"state": answer, "message": message}
        case WorkflowEnd(outcome=outcome) | HumanSteered(about="conversation", answer=outcome):
            yield "end", {"outcome": outcome_for(outcome), "message": message}
        case HumanSteered(about=about, answer=answer, by=by):
            yield "steered", {"about": about, "answer": answer, "by": by, "message": message}
