"""Answers in the streaming formats of model servers.

Sources: event order of Anthropic's Messages API (``message_start``, ``content_block_start`` / ``_delta`` / ``_stop``,
``message_delta``, ``message_stop``), OpenAI's ``/chat/completions`` (ends with ``data: [DONE]``) and ``/responses``,
Gemini's ``:streamGenerateContent``. A part is a text, a call (arguments as they are, if possible) or a mapping, sent
unsplit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rails.core.conversation import NativeCall
from rails.core.tool_request import Json

Part = str | NativeCall | Mapping[str, Json]
_OPENAI: Final = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_RESPONSES: Final = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
_GEMINI: Final = {"end_turn": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
_MESSAGE: Final = """{
  "id": "msg_stub", "type": "message", "role": "assistant", "content": [], "stop_reason": null, "stop_sequence": null,
  "usage": {"input_tokens": 11, "output_tokens": 1}
}"""
_REFUSED: Final = '{"type": "refusal", "category": "cyber", "explanation": "The request was declined."}'
_OPENAI_USAGE: Final = '{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}'
_RESPONSES_USAGE: Final = """{
  "input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
  "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}
}"""
_GEMINI_USAGE: Final = '{"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}'


def anthropic_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the server-sent events."""
    yield event("message_start", message=json.loads(_MESSAGE) | {"model": model})
    for index, part in enumerate(parts):
        yield event("content_block_start", index=index, content_block=_block(part))
        for kind, piece in _pieces(part, chunk):
            delta = {"type": "text_delta", "text": piece}
            if kind == "call":
                delta = {"type": "input_json_delta", "partial_json": piece}
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": stop_reason, "stop_sequence": None}
    if stop_reason == "refusal":
        end["stop_details"] = json.loads(_REFUSED)
    yield event("message_delta", delta=end, usage={"output_tokens": 7})
    yield event("message_stop")


def _block(part: Part) -> Mapping[str, Any]:
    if isinstance(part, NativeCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
    return {"type": "text", "text": ""} if isinstance(part, str) else part


def openai_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the chunks, ``[DONE]`` included."""
    calls = 0
    for part in parts:
        if isinstance(part, NativeCall):
            opening = {"name": part.name, "arguments": ""}
            call = {"index": calls, "id": part.id, "type": "function", "function": opening}
            yield _choice(model, {"tool_calls": [call]})
        elif isinstance(part, Mapping):
            yield _choice(model, part)
        for kind, piece in _pieces(part, chunk):
            delta: dict[str, object] = {"content": piece}
            if kind == "call":
                delta = {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]}
            yield _choice(model, delta)
        calls += isinstance(part, NativeCall)
    yield _choice(model, {}, _OPENAI.get(stop_reason or "", stop_reason))
    yield _data(object="chat.completion.chunk", model=model, choices=[], usage=json.loads(_OPENAI_USAGE))
    yield b"data: [DONE]\n\n"


def responses_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the server-sent events of the Responses API."""
    head = {"id": "resp_stub", "object": "response", "model": model}
    yield event("response.created", response=head | {"status": "in_progress", "output": []})
    items = [_item(index, part) for index, part in enumerate(parts)]
    for index, item in enumerate(items):
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        for kind, piece in _pieces(parts[index], chunk):
            name = "function_call_arguments" if kind == "call" else "output_text"
            yield event(f"response.{name}.delta", item_id=item["id"], output_index=index, content_index=0, delta=piece)
        yield event("response.output_item.done", output_index=index, item=item)
    reason = _RESPONSES.get(stop_reason or "")
    status = "incomplete" if reason else "completed"
    end = {"status": status, "output": items, "incomplete_details": reason and {"reason": reason}}
    yield event(f"response.{status}", response=head | end | {"usage": json.loads(_RESPONSES_USAGE)})


def _item(index: int, part: Part) -> Mapping[str, Any]:
    if isinstance(part, str):
        content = [{"type": "output_text", "text": part, "annotations": []}]
        return {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed", "content": content}
    if isinstance(part, NativeCall):
        call = {"type": "function_call", "id": f"fc_{index}", "call_id": part.id, "status": "completed"}
        return call | {"name": part.name, "arguments": part.arguments}
    return part


def gemini_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the chunks; calls' arguments are objects."""
    for part in parts:
        sent: list[Mapping[str, Any]] = [{"text": piece} for _, piece in _pieces(part, chunk)]
        if isinstance(part, NativeCall):
            sent = [{"functionCall": {"id": part.id, "name": part.name, "args": json.loads(part.arguments)}}]
        elif isinstance(part, Mapping):
            sent = [part]
        for one in sent:
            yield _data(candidates=[{"content": {"role": "model", "parts": [one]}, "index": 0}], modelVersion=model)
    ended = {"finishReason": _GEMINI.get(stop_reason or "", stop_reason), "index": 0}
    yield _data(candidates=[ended], usageMetadata=json.loads(_GEMINI_USAGE), modelVersion=model)


def event(kind: str, **body: object) -> bytes:
    """Return a server-sent event, its type inside its data too."""
    return f"event: {kind}\n".encode() + _data(type=kind, **body)


def _choice(model: str, delta: Mapping[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data(object="chat.completion.chunk", model=model, choices=[choice])


def _data(**body: object) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _pieces(part: Part, size: int) -> Iterator[tuple[str, str]]:
    """Yield the streamed pieces; a mapping has none."""
    if isinstance(part, Mapping):
        return
    kind, text = ("call", part.arguments) if isinstance(part, NativeCall) else ("text", part)
    for start in range(0, len(text), size):
        yield kind, text[start : start + size]
