"""A run as a stream of events for another program: server-sent events, or JSON lines.

The events and their fields are those of the JSON tool block protocol: ``json-tool-status`` as soon as a
request's tool and path are known, ``json-tool-block`` exactly once for each block and in order,
``text-partial`` for what an answer adds as it streams (masked; at most every 50 characters and 150 ms), ``text-delta``
for its prose once it is whole, ``error``, and ``[DONE]`` at the very end of a stream of server-sent events
(JSON lines end with ``{"type": "done"}``). ``escalation`` and ``handoff`` are ours. ``toolId`` is the
request's id, unique in a session, so two requests for one path don't collide. ``verdict`` (passed,
corrected, failed) is the final word: a block that was corrected has ``validationPassed: false``. ``state`` is how far
a call is: detected, processing (its block is whole), executing, and then completed or failed; what is refused or
denied is never executing, and failed once its author is told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Literal, TextIO

from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentFinished, ErrorEvent, Escalation, Handoff, HumanSteered, WorkflowEnd
from rails.core.events.turn import FeedbackSent, LlmError, LlmResponse, McpRequestFormulated, ToolBlock, ToolStatus
from rails.core.tool_request import Json
from rails.log.actions import action_text, result_text

Form = Literal["sse", "jsonl"]


class EventStream:
    """Writes the records of a session as events to ``out``; call it with each record, then ``close`` it."""

    def __init__(self, out: TextIO, form: Form) -> None:
        """Write to ``out`` in the given form."""
        self._out, self._form = out, form
        self._text = self._partial = ""
        self._tools: dict[str, tuple[str, str]] = {}
        self._actions: dict[str, str] = {}
        self._open: set[str] = set()

    def __call__(self, record: Record) -> None:
        """Write what ``record`` means for a listener, if anything."""
        match record.event:
            case ToolStatus() as event:
                self._tools[event.id] = (event.tool, event.path)
                self._status(event.id, event.status, event.status_message)
            case LlmResponse(text=text, prose=prose):
                self._text = text
                if prose := (prose or "").strip():
                    self._write({"type": "text-delta", "delta": prose, "processedDelta": prose, "format": "markdown"})
            case ToolBlock() as event:
                self._block(event)
            case McpRequestFormulated(request=request):
                self._actions[request.id] = action_text(request.tool_name, request.parameters)
            case ExecutionStarted(ids=ids, tool=tool):
                doing = self._actions.get(ids[0], tool) if tool else record.message
                self._executed(ids, "executing", doing)
            case ToolExecutionResult(ids=ids, ok=ok, tool=tool, facts=facts):
                did = result_text(self._actions.get(ids[0], tool), facts) if tool else record.message
                self._executed(ids, "completed" if ok else "failed", did)
            case FeedbackSent() | AgentFinished() | WorkflowEnd():
                self._executed([name for name in self._tools if name in self._open], "failed", "Not carried out")
                self._around(record)
            case _:
                self._around(record)

    def partly(self, text: str) -> None:
        """Write what an answer has more than when it was last told; an empty text begins the next one."""
        if text and text.startswith(self._partial) and text != self._partial:
            self._write({"type": "text-partial", "delta": text[len(self._partial) :], "timestamp": _now()})
        self._partial = text

    def _around(self, record: Record) -> None:
        match record.event:
            case Escalation(rung=rung):
                self._write({"type": "escalation", "rung": rung, "message": record.message})
            case Handoff():
                self._write({"type": "handoff", "state": "written", "message": record.message})
            case HumanSteered(about="handoff", answer=answer):
                self._write({"type": "handoff", "state": answer, "message": record.message})
            case LlmError(error=error) | ErrorEvent(error=error):
                self._write({"type": "error", "message": error or record.message})
            case WorkflowEnd(outcome=outcome):
                self._write({"type": "end", "outcome": outcome, "message": record.message})

    def close(self) -> None:
        """End the stream."""
        if self._form == "sse":
            self._out.write("data: [DONE]\n\n")
        else:
            self._write({"type": "done"})
        self._out.flush()

    def _block(self, event: ToolBlock) -> None:
        self._write(
            {
                "type": "json-tool-block",
                "status": "complete",
                "toolType": event.tool,
                "path": event.path,
                "toolId": event.id,
                "content": self._text[event.start : event.end] if event.start >= 0 else event.content,
                "validationPassed": event.passed,
                "corrected": event.corrected,
                "verdict": event.verdict,
                "state": "processing",
                "timestamp": _now(),
            }
        )
        self._tools.setdefault(event.id, (event.tool, event.path))
        self._open.add(event.id)

    def _executed(self, ids: Sequence[str], state: str, message: str) -> None:
        for request_id in ids:
            self._status(request_id, state, message)
            if state != "executing":
                self._open.discard(request_id)

    def _status(self, request_id: str, state: str, message: str) -> None:
        tool, path = self._tools.get(request_id, ("", ""))
        self._write(
            {
                "type": "json-tool-status",
                "status": state,
                "toolType": tool,
                "path": path,
                "toolId": request_id,
                "statusMessage": message,
                "state": "detected" if state == "buffering" else state,
                "timestamp": _now(),
            }
        )

    def _write(self, event: Mapping[str, Json]) -> None:
        text = json.dumps(event, ensure_ascii=True)
        self._out.write(f"data: {text}\n\n" if self._form == "sse" else f"{text}\n")
        self._out.flush()


def _now() -> int:
    return time.time_ns() // 1_000_000
