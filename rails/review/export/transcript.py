"""A session as a Claude Code transcript, for its viewers.

Source: Claude Code 2.1 transcripts (JSON lines, chained by ``uuid`` and ``parentUuid``, ``message`` of the Messages
API). An internal format: only ``user``, ``assistant``, ``system`` are written. Verdicts and decisions: ``system`` with
key ``rails``, which readers ignore.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import rails
from rails.core.conversation import MessagePart, NativeCall, NativeResult, Opaque, TextPart, message_from_json
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, CheckpointEvent, GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    ErrorEvent,
    Escalation,
    Handoff,
    HumanSteered,
    LogRecovered,
    OverseerAlert,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import FeedbackSent, LlmError, LlmResponse, OutputRefused, ToolRequestValidationFailed
from rails.core.tool_request import Json

_SPACE: Final = uuid.UUID("6f0a8d0e-3f0c-5f0e-9c53-1d7a1f3f9a10")
#: What is told in a line of its own, and what of it is a fault.
_SHOWN: Final = (
    *(WorkflowStart, ToolRequestValidationFailed, ChangeRefused, GateVerdict, HumanDecision, ToolExecutionResult),
    *(CheckpointEvent, Undo, LlmError, ErrorEvent, SessionResumed, OutputRefused, Escalation, Handoff, HumanSteered),
    *(OverseerAlert, LogRecovered, WorkflowEnd),
)
_LOUD: Final = (LlmError, ErrorEvent, LogRecovered, ToolRequestValidationFailed, ChangeRefused)


def to_transcript(records: Sequence[Record]) -> str:
    """Return the session as JSON Lines. Deterministic."""
    folder = next((event.project for r in records if isinstance(event := r.event, WorkflowStart)), "")
    lines = []
    parent = None
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
    if isinstance(record.event, _SHOWN):
        ours["details"] = dict(record.details)
    return ours


def _body(record: Record) -> dict[str, Json] | None:
    match record.event:
        case AgentEngage(first_message=first, task=task):
            return _user(first or task or record.message)
        case Escalation(first_message=first) if first:
            return _user(first)
        case LlmResponse() as event:
            return {"type": "assistant", "message": _answer(record, event)}
        case FeedbackSent(reply=reply, text=text):
            return _user([block for part in (reply.parts if reply else ()) for block in _blocks(part)] or text)
    return _system(record) if isinstance(record.event, _SHOWN) else None


def _user(content: Json) -> dict[str, Json]:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _system(record: Record) -> dict[str, Json]:
    return {
        "type": "system",
        "subtype": "informational",
        "content": f"{record.event_type}: {record.message}",
        "level": "error" if isinstance(record.event, _LOUD) else "info",
        "isMeta": False,
    }


def _answer(record: Record, event: LlmResponse) -> dict[str, Json]:
    usage = event.usage
    stop = event.stop_reason
    content = [block for part in _parts(event) for block in _blocks(part)]
    return {
        "id": f"msg_{record.session_id}_{record.seq}",
        "type": "message",
        "role": "assistant",
        "model": event.model or record.llm_model_used,
        "content": [*content] or [{"type": "text", "text": event.text}],
        "stop_reason": None if stop == "cut" else stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
        },
    }


def _parts(event: LlmResponse) -> Sequence[MessagePart]:
    try:
        return message_from_json({"role": "assistant", "content": event.content}).parts
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
    """Return a call's arguments as an object, or their text."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}
