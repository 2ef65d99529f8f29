"""A running session as signals: what a page shows the moment it happens. A fold over records, in order.

The first two kinds are those of the JSON tool block protocol: ``json-tool-status`` as soon as a request's
tool and path are known and with every step that follows, ``json-tool-block`` once for each complete block.
``turn``, ``attempt``, ``cost``, ``approval`` and ``end`` are ours. ``words`` is what a person reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.events.approval import ApprovalClosed, ApprovalOpened, HumanDecision
from rails.core.events.changes import ChangeRefused, ExecutionStarted, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, ErrorEvent, WorkflowEnd
from rails.core.events.turn import (
    FeedbackSent,
    LlmCall,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    ToolBlock,
    ToolRequestValidationFailed,
    ToolStatus,
)
from rails.core.text import counted, one_line
from rails.core.tool_request import Json
from rails.log.actions import action_text, result_text

_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class LiveSignal:
    """Something to show: its kind and data, and the number of the record it comes from."""

    number: int
    kind: str
    data: Mapping[str, Json]


class Live:
    """Makes signals of records; knows the requests of the turn that it has seen so far."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[str, str]] = {}
        self._actions: dict[str, str] = {}
        self._asked: tuple[str, ...] = ()

    def add(self, record: Record) -> Iterator[LiveSignal]:
        """Yield what ``record`` means for whoever watches."""
        for kind, data in self._signals(record):
            yield LiveSignal(record.seq, kind, data)

    def _signals(self, record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        match record.event:
            case ToolStatus() as event:
                self._requests[event.id] = event.tool, event.path
                words = one_line(f"{event.status_message} {event.path}", _WORDS)
                yield self._status(event.id, "buffering", f"🔧 {words}")
            case ToolBlock() as event:
                yield self._block(event)
            case ToolRequestValidationFailed(ids=ids) | ChangeRefused(ids=ids):
                for request_id in ids:
                    yield self._status(request_id, "failed", f"❌ {one_line(record.message, _WORDS)}")
            case GateVerdict() as event:
                yield from self._judged(event)
            case ExecutionStarted(ids=ids):
                for request_id in ids:
                    doing = self._actions.get(request_id, "Writing...")
                    yield self._status(request_id, "executing", f"🔧 {one_line(doing, _WORDS)}")
            case McpRequestFormulated(request=request):
                self._actions[request.id] = action_text(request.tool_name, request.parameters)
            case ToolExecutionResult() as event:
                yield from self._executed(event, record.message)
            case LlmCall():
                self._requests, self._actions, self._asked = {}, {}, ()
                yield from _frame(record)
            case _:
                yield from self._approval(record)

    def _approval(self, record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield what is asked of a human, and how it ended."""
        match record.event:
            case ApprovalOpened(id=question_id, requests=requests):
                self._asked = tuple(one.id for one in requests if one.id) or _named(question_id)
                yield from (self._status(one, "waiting", "● Waiting for approval") for one in self._asked)
                yield "approval", {"question": record.seq, "state": "open"}
            case ApprovalClosed(id=question_id, state=state, question=number):
                yield from self._ended(question_id, state, number)
            case HumanDecision(id=question_id, answer=answer, reason=reason):
                yield from self._ended(question_id, answer, 0, reason)
            case _:
                yield from _frame(record)

    def _status(self, request_id: str, status: str, words: str) -> tuple[str, dict[str, Json]]:
        tool, path = self._requests.get(request_id, ("", ""))
        path = one_line(path, _WORDS)
        return "json-tool-status", {
            "id": request_id,
            "status": status,
            "toolType": tool,
            "path": path,
            "words": words,
        }

    def _block(self, event: ToolBlock) -> tuple[str, dict[str, Json]]:
        verdict = event.verdict
        tool, path = self._requests.setdefault(event.id, (event.tool, event.path))
        shown = one_line(path or tool, _WORDS)
        mended = " (corrected)" if verdict == "corrected" else ""
        words = f"❌ Refused {shown}" if verdict == "failed" else f"🔎 Checking {shown}{mended}"
        return "json-tool-block", {"id": event.id, "verdict": verdict, "toolType": tool, "path": path, "words": words}

    def _judged(self, event: GateVerdict) -> Iterator[tuple[str, dict[str, Json]]]:
        new = sum(finding.new for finding in event.verdict.findings)
        status = event.verdict.status
        words = {"pass": "🔎 Checks passed", "fail": f"❌ {counted(new, 'finding')}"}.get(
            status, "❌ Could not be checked"
        )
        for request_id in event.ids:
            yield self._status(request_id, "checked" if status == "pass" else "failed", words)

    def _ended(
        self, question_id: str, answer: str, number: int, reason: str = ""
    ) -> Iterator[tuple[str, dict[str, Json]]]:
        said = one_line(reason, 120)
        because = f": {said}" if said else ""
        words = {"approve": "✅ Approved", "deny": f"⛔ Denied{because}", "abort": f"⛔ Stopped{because}"}
        words["dry_run"] = "Dry run: nothing is asked"
        words["answered"] = "✅ Answered"
        status = {"approve": "approved", "deny": "denied", "abort": "denied"}.get(answer, answer)
        for request_id in self._asked or _named(question_id):
            yield self._status(request_id, status, words.get(answer, f"⛔ {answer.capitalize()}: nobody decided"))
        yield "approval", {"question": number, "state": status}

    def _executed(self, event: ToolExecutionResult, message: str) -> Iterator[tuple[str, dict[str, Json]]]:
        status, sign = ("completed", "✅") if event.ok else ("failed", "❌")
        for request_id in event.ids:
            action = result_text(self._actions.get(request_id, message), event.facts) if event.tool else message
            yield self._status(request_id, status, f"{sign} {one_line(action, _WORDS)}")


def _named(request_id: str) -> tuple[str, ...]:
    return (request_id,) if request_id else ()


def _frame(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the events of the session around the requests."""
    match record.event:
        case AgentEngage(task=task):
            yield "agent", {"agent": one_line(record.agent_role, 60), "words": one_line(task)}
        case LlmCall(turn=number):
            who = f"{one_line(record.agent_role, 60)} · turn {number}"
            yield "turn", {"turn": number, "words": f"{who}: asking {one_line(record.llm_model_used, 60)}"}
        case LlmResponse(usage=usage, duration_ms=spent):
            seconds = round((spent or 0) / 1000, 1)
            yield "cost", {"input": usage.input_tokens, "output": usage.output_tokens, "seconds": seconds}
        case FeedbackSent(attempt=attempt, limit=limit, codes=codes):
            kinds = ", ".join(codes)
            words = one_line(f"Asking the model to fix it ({kinds}, attempt {attempt} of {limit})", _WORDS)
            yield "attempt", {"attempt": attempt, "limit": limit, "words": kinds and words}
        case LlmError(error=error) | ErrorEvent(error=error):
            yield "error", {"words": one_line(error or record.message, _WORDS)}
        case WorkflowEnd(outcome=outcome):
            yield "end", {"outcome": outcome, "words": one_line(record.message, _WORDS)}
