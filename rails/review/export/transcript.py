"""A session in the shape of a Claude Code transcript, which many viewers read as it is.

Source of the form: transcripts of Claude Code 2.1 (one JSON object per line; ``uuid`` and ``parentUuid``
make a chain; ``message`` is the Messages API's message). It is that program's internal format, so only
its stable core is written: ``user``, ``assistant`` and ``system`` lines. What only we have (verdicts,
decisions) is a ``system`` line with our details under the key ``rails``, which readers ignore.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import rails
from rails.core.conversation import MessagePart, NativeCall, NativeResult, Opaque, TextPart, message_from_json
from rails.core.events.record import Record
from rails.core.record_fields import inner, integer, text
from rails.core.tool_request import Json

_SPACE: Final = uuid.UUID("6f0a8d0e-3f0c-5f0e-9c53-1d7a1f3f9a10")
_SHOWN: Final = frozenset(
    {
        "WORKFLOW_START",
        "TOOL_REQUEST_VALIDATION_FAILED",
        "CHANGE_REFUSED",
        "GATE_VERDICT",
        "HUMAN_DECISION",
        "TOOL_EXECUTION_RESULT",
        "CHECKPOINT",
        "UNDO",
        "LLM_ERROR",
        "ERROR",
        "SESSION_RESUMED",
        "OUTPUT_REFUSED",
        "ESCALATION",
        "HANDOFF",
        "HUMAN_STEERED",
        "OVERSEER_ALERT",
        "LOG_RECOVERED",
        "WORKFLOW_END",
    }
)
_LOUD: Final = frozenset({"LLM_ERROR", "ERROR", "LOG_RECOVERED", "TOOL_REQUEST_VALIDATION_FAILED", "CHANGE_REFUSED"})


def to_transcript(records: Sequence[Record]) -> str:
    """Return the session as JSON Lines. The same records give the same text."""
    folder = next((text(r.details, "project") for r in records if r.event_type == "WORKFLOW_START"), "")
    lines, parent = [], None
    for record in records:
        body = _body(record)
        if body is None:
            continue
        own = str(uuid.uuid5(_SPACE, f"{record.session_id}:{record.seq}"))
        frame: dict[str, Json] = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": folder,
            "sessionId": record.session_id,
            "version": rails.__version__,
            "gitBranch": "",
            "uuid": own,
            "timestamp": f"{record.timestamp[:23]}Z",
        }
        lines.append(json.dumps({**frame, **body, "rails": _ours(record)}, ensure_ascii=False))
        parent = own
    return "".join(f"{line}\n" for line in lines)


def _ours(record: Record) -> dict[str, Json]:
    ours: dict[str, Json] = {"seq": record.seq, "event_type": record.event_type, "agent_role": record.agent_role}
    if record.event_type in _SHOWN:
        ours["details"] = dict(record.details)
    return ours


def _body(record: Record) -> dict[str, Json] | None:
    details = record.details
    match record.event_type:
        case "AGENT_ENGAGE":
            first = text(details, "first_message") or text(details, "task") or record.message
            return {"type": "user", "message": {"role": "user", "content": first}}
        case "ESCALATION" if first := text(details, "first_message"):
            return {"type": "user", "message": {"role": "user", "content": first}}
        case "LLM_RESPONSE":
            return {"type": "assistant", "message": _answer(record)}
        case "FEEDBACK_SENT":
            return {"type": "user", "message": {"role": "user", "content": _feedback(details)}}
        case kind if kind in _SHOWN:
            level = "error" if kind in _LOUD else "info"
            return {
                "type": "system",
                "subtype": "informational",
                "content": f"{kind}: {record.message}",
                "level": level,
                "isMeta": False,
            }
    return None


def _answer(record: Record) -> dict[str, Json]:
    details = record.details
    usage = inner(details, "usage")
    content = [block for part in _parts(details, "assistant") for block in _blocks(part)]
    stop = text(details, "stop_reason")
    return {
        "id": f"msg_{record.session_id}_{record.seq}",
        "type": "message",
        "role": "assistant",
        "model": text(details, "model") or record.llm_model_used,
        "content": [*content] or [{"type": "text", "text": text(details, "text")}],
        "stop_reason": None if stop == "cut" else stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": integer(usage, "input_tokens"),
            "output_tokens": integer(usage, "output_tokens"),
            "cache_read_input_tokens": integer(usage, "cache_read_tokens"),
            "cache_creation_input_tokens": integer(usage, "cache_write_tokens"),
        },
    }


def _feedback(details: Mapping[str, Json]) -> Json:
    blocks = [block for part in _parts(inner(details, "reply"), "user") for block in _blocks(part)]
    return [*blocks] or text(details, "text")


def _parts(value: Mapping[str, Json], role: str) -> Sequence[MessagePart]:
    try:
        return message_from_json({"role": role, "content": value.get("content")}).parts
    except ValueError:
        return ()


def _blocks(part: MessagePart) -> Iterator[Json]:
    match part:
        case TextPart(words) if words.strip():
            yield {"type": "text", "text": words}
        case NativeCall(id_, name, arguments):
            yield {"type": "tool_use", "id": id_, "name": name, "input": _object(arguments)}
        case NativeResult(id_, words, is_error):
            yield {"type": "tool_result", "tool_use_id": id_, "content": words, "is_error": is_error}
        case TextPart() | Opaque():
            pass


def _object(arguments: str) -> dict[str, Json]:
    """Return a call's arguments as an object; what is none is shown as the text that it is."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}
