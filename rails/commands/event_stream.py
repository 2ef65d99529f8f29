"""A run as a stream of events for another program: server-sent events, or JSON lines.

The events and their fields are those of the JSON tool block protocol: ``json-tool-status`` as soon as a
request's tool and path are known, ``json-tool-block`` exactly once for each block and in order,
``text-delta`` for the prose, ``error``, and ``[DONE]`` at the very end of a stream of server-sent events
(JSON lines end with ``{"type": "done"}``). ``escalation`` and ``handoff`` are ours. ``toolId`` is the
request's id, unique in a session, so two requests for one path don't collide. ``verdict`` (passed,
corrected, failed) is the final word: a block that was corrected has ``validationPassed: false``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Literal, TextIO

from rails.core.events.record import Record
from rails.core.record_fields import text
from rails.core.tool_request import Json

Form = Literal["sse", "jsonl"]


class EventStream:
    """Writes the records of a session as events to ``out``; call it with each record, then ``close`` it."""

    def __init__(self, out: TextIO, form: Form) -> None:
        """Write to ``out`` in the given form."""
        self._out, self._form = out, form
        self._text = ""
        self._tools: dict[str, tuple[str, str]] = {}

    def __call__(self, record: Record) -> None:
        """Write what ``record`` means for a listener, if anything."""
        facts = record.details
        match record.event_type:
            case "TOOL_STATUS":
                self._tools[text(facts, "id")] = (text(facts, "toolType"), text(facts, "path"))
                self._status(text(facts, "id"), text(facts, "status"), text(facts, "statusMessage"))
            case "LLM_RESPONSE":
                self._text = text(facts, "text")
                if prose := text(facts, "prose").strip():
                    self._write({"type": "text-delta", "delta": prose, "processedDelta": prose, "format": "markdown"})
            case "TOOL_BLOCK":
                self._block(facts)
            case "EXECUTION_STARTED" | "TOOL_EXECUTION_RESULT":
                self._executed(record.event_type, facts, record.message)
            case "ESCALATION":
                self._write({"type": "escalation", "rung": text(facts, "rung"), "message": record.message})
            case "HANDOFF" | "HUMAN_STEERED" if record.event_type == "HANDOFF" or facts.get("about") == "handoff":
                state = "written" if record.event_type == "HANDOFF" else text(facts, "answer")
                self._write({"type": "handoff", "state": state, "message": record.message})
            case "LLM_ERROR" | "ERROR":
                self._write({"type": "error", "message": text(facts, "error") or record.message})
            case "WORKFLOW_END":
                self._write({"type": "end", "outcome": text(facts, "outcome"), "message": record.message})

    def close(self) -> None:
        """End the stream."""
        if self._form == "sse":
            self._out.write("data: [DONE]\n\n")
        else:
            self._write({"type": "done"})
        self._out.flush()

    def _block(self, facts: Mapping[str, Json]) -> None:
        start, end = facts.get("start"), facts.get("end")
        content = text(facts, "content")
        if isinstance(start, int) and isinstance(end, int) and start >= 0:
            content = self._text[start:end]
        self._write(
            {
                "type": "json-tool-block",
                "status": "complete",
                "toolType": text(facts, "toolType"),
                "path": text(facts, "path"),
                "toolId": text(facts, "id"),
                "content": content,
                "validationPassed": facts.get("validationPassed"),
                "corrected": facts.get("corrected"),
                "verdict": text(facts, "verdict"),
                "timestamp": _now(),
            }
        )
        self._tools.setdefault(text(facts, "id"), (text(facts, "toolType"), text(facts, "path")))

    def _executed(self, event: str, facts: Mapping[str, Json], message: str) -> None:
        state = "executing" if event == "EXECUTION_STARTED" else "completed" if facts.get("ok") is True else "failed"
        ids = facts.get("ids")
        for request_id in ids if isinstance(ids, list) else []:
            self._status(str(request_id), state, message)

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
                "timestamp": _now(),
            }
        )

    def _write(self, event: Mapping[str, Json]) -> None:
        text = json.dumps(event, ensure_ascii=True)
        self._out.write(f"data: {text}\n\n" if self._form == "sse" else f"{text}\n")
        self._out.flush()


def _now() -> int:
    return time.time_ns() // 1_000_000
