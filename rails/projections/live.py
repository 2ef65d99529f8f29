"""A running session as signals: what a page shows the moment it happens. A fold over records, in order.

The first two kinds are those of the JSON tool block protocol: ``json-tool-status`` as soon as a request's
tool and path are known and with every step that follows, ``json-tool-block`` once for each complete block.
``turn``, ``attempt``, ``cost``, ``approval`` and ``end`` are ours. ``words`` is what a person reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core import record_fields as d
from rails.core.dataclass import dataclass
from rails.core.events.record import Record
from rails.core.record_fields import Details
from rails.core.text import one_line
from rails.core.tool_request import Json

_WROTE: Final = {"create": "Created", "modify": "Edited", "delete": "Deleted"}
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
        self._asked: tuple[str, ...] = ()

    def add(self, record: Record) -> Iterator[LiveSignal]:
        """Yield what ``record`` means for whoever watches."""
        for kind, data in self._signals(record):
            yield LiveSignal(record.seq, kind, data)

    def _signals(self, record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        facts = record.details
        match record.event_type:
            case "TOOL_STATUS":
                request_id = d.text(facts, "id")
                self._requests[request_id] = d.text(facts, "toolType"), d.text(facts, "path")
                words = one_line(f"{d.text(facts, 'statusMessage')} {d.text(facts, 'path')}", _WORDS)
                yield self._status(request_id, "buffering", f"🔧 {words}")
            case "TOOL_BLOCK":
                yield self._block(facts)
            case "TOOL_REQUEST_VALIDATION_FAILED" | "CHANGE_REFUSED":
                for request_id in d.ids(facts):
                    yield self._status(request_id, "failed", f"❌ {one_line(record.message, _WORDS)}")
            case "GATE_VERDICT":
                yield from self._judged(facts)
            case "APPROVAL_OPENED":
                asked = [d.text(request, "id") for request in d.objects(facts, "requests")]
                self._asked = tuple(filter(None, asked)) or d.ids(facts)
                yield from (self._status(one, "waiting", "✋ Waiting for you") for one in self._asked)
                yield "approval", {"question": record.seq, "state": "open"}
            case "APPROVAL_CLOSED" | "HUMAN_DECISION":
                yield from self._decided(record)
            case "EXECUTION_STARTED":
                doing = f"Running {d.text(facts, 'tool')}" if d.text(facts, "tool") else "Writing"
                for request_id in d.ids(facts):
                    yield self._status(request_id, "executing", f"🔧 {one_line(doing, 80)}...")
            case "TOOL_EXECUTION_RESULT":
                yield from self._executed(record)
            case "LLM_CALL":
                self._requests, self._asked = {}, ()
                yield from _frame(record)
            case _:
                yield from _frame(record)

    def _status(self, request_id: str, status: str, words: str) -> tuple[str, dict[str, Json]]:
        tool, path = self._requests.get(request_id, ("", ""))
        data: dict[str, Json] = {"id": request_id, "status": status, "toolType": tool}
        return "json-tool-status", {**data, "path": one_line(path, _WORDS), "words": words}

    def _block(self, facts: Details) -> tuple[str, dict[str, Json]]:
        request_id, verdict = d.text(facts, "id"), d.text(facts, "verdict")
        known = d.text(facts, "toolType"), d.text(facts, "path")
        tool, path = self._requests.setdefault(request_id, known)
        shown = one_line(path or tool, _WORDS)
        mended = " (corrected)" if verdict == "corrected" else ""
        words = f"❌ Refused {shown}" if verdict == "failed" else f"🔎 Checking {shown}{mended}"
        return "json-tool-block", {"id": request_id, "verdict": verdict, "toolType": tool, "path": path, "words": words}

    def _judged(self, facts: Details) -> Iterator[tuple[str, dict[str, Json]]]:
        new = sum(d.flag(finding, "new", True) for finding in d.objects(facts, "findings"))
        status = d.text(facts, "status")
        found = f"❌ {new} finding{'' if new == 1 else 's'}"
        words = {"pass": "🔎 Checks passed", "fail": found}.get(status, "❌ Could not be checked")
        for request_id in d.ids(facts):
            yield self._status(request_id, "checked" if status == "pass" else "failed", words)

    def _decided(self, record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        facts = record.details
        answer, reason = d.text(facts, "answer") or d.text(facts, "state"), one_line(d.shortened(facts, "reason"), 120)
        because = f": {reason}" if reason else ""
        words = {"approve": "✅ Approved", "deny": f"⛔ Denied{because}", "abort": f"⛔ Stopped{because}"}
        status = {"approve": "approved", "deny": "denied", "abort": "denied"}.get(answer, answer)
        for request_id in self._asked or d.ids(facts):
            yield self._status(request_id, status, words.get(answer, f"⛔ {answer.capitalize()}: nobody decided"))
        yield "approval", {"question": int(d.number(facts, "question")), "state": status}

    def _executed(self, record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        facts = record.details
        ok, changes = d.flag(facts, "ok", True), d.objects(facts, "changes")
        did = [f"{_WROTE.get(d.text(change, 'kind'), 'Wrote')} {d.text(change, 'path')}" for change in changes]
        words = one_line(", ".join(did) or record.message, _WORDS)
        for request_id in d.ids(facts):
            yield self._status(request_id, "completed" if ok else "failed", f"{'✅' if ok else '❌'} {words}")


def _frame(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the events of the session around the requests."""
    facts = record.details
    match record.event_type:
        case "AGENT_ENGAGE":
            yield "agent", {"agent": one_line(record.agent_role, 60), "words": one_line(d.shortened(facts, "task"))}
        case "LLM_CALL":
            number = int(d.number(facts, "turn"))
            who = f"{one_line(record.agent_role, 60)} · turn {number}"
            yield "turn", {"turn": number, "words": f"{who}: asking {one_line(record.llm_model_used, 60)}"}
        case "LLM_RESPONSE":
            usage = d.inner(facts, "usage")
            used: dict[str, Json] = {name: int(d.number(usage, f"{name}_tokens")) for name in ("input", "output")}
            yield "cost", {**used, "seconds": round(d.number(facts, "duration_ms") / 1000, 1)}
        case "FEEDBACK_SENT":
            attempt, limit = (int(d.number(facts, name)) for name in ("attempt", "limit"))
            codes = ", ".join(d.texts(facts, "codes"))
            words = f"Sent back to the agent ({codes}): attempt {attempt} of {limit} failed" if codes else ""
            yield "attempt", {"attempt": attempt, "limit": limit, "words": one_line(words, _WORDS)}
        case "LLM_ERROR" | "ERROR":
            yield "error", {"words": one_line(d.shortened(facts, "error") or record.message, _WORDS)}
        case "WORKFLOW_END":
            yield "end", {"outcome": d.text(facts, "outcome"), "words": one_line(record.message, _WORDS)}
