"""An answer in the streaming wire formats of model servers.

Sources: the event order of Anthropic's Messages API (``message_start``, per block ``content_block_start``
/ ``_delta`` / ``_stop``, ``message_delta``, ``message_stop``) and the chunks of the OpenAI-compatible
``/chat/completions``, ended by ``data: [DONE]``; the events of OpenAI's ``/responses``; the chunks of Gemini's
``:streamGenerateContent``.

A part of an answer is a text, a call (whose arguments are streamed as they are, valid or not, where the format can have
them so) or, as a mapping, a block, a delta, an item or a part of that format, which is sent whole.
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


def anthropic_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the server-sent events of one answer, each as its bytes."""
    message = {"id": "msg_stub", "type": "message", "role": "assistant", "model": model, "content": []}
    yield event("message_start", message=message | {"usage": {"input_tokens": 11, "output_tokens": 1}})
    for index, part in enumerate(parts):
        start, deltas = _block(part, chunk)
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end: dict[str, Any] = {"stop_reason": stop_reason, "stop_sequence": None}
    if stop_reason == "refusal":
        end["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "The request was declined."}
    yield event("message_delta", delta=end, usage={"output_tokens": 7})
    yield event("message_stop")


def _block(part: Part, chunk: int) -> tuple[Mapping[str, Json], list[dict[str, str]]]:
    """Return how a block of Anthropic's begins, and what comes of it then."""
    if isinstance(part, str):
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in _pieces(part, chunk)]
    if not isinstance(part, NativeCall):
        return part, []
    deltas = [{"type": "input_json_delta", "partial_json": one} for one in _pieces(part.arguments, chunk)]
    return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}, deltas


def openai_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the chunks of one answer as an OpenAI-compatible server streams them, ``[DONE]`` included."""
    calls = 0
    for part in parts:
        if isinstance(part, str):
            for piece in _pieces(part, chunk):
                yield _choice(model, {"content": piece})
        elif isinstance(part, NativeCall):
            opening = {"name": part.name, "arguments": ""}
            call = {"index": calls, "id": part.id, "type": "function", "function": opening}
            yield _choice(model, {"tool_calls": [call]})
            for piece in _pieces(part.arguments, chunk):
                yield _choice(model, {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
            calls += 1
        else:
            yield _choice(model, part)
    yield _choice(model, {}, _OPENAI.get(stop_reason or "", stop_reason))
    yield b'data: {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}\n\n'
    yield b"data: [DONE]\n\n"


def responses_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the server-sent events of one answer of OpenAI's Responses API."""
    head = {"id": "resp_stub", "object": "response", "model": model}
    yield event("response.created", response=head | {"status": "in_progress", "output": []})
    items = [_item(index, part) for index, part in enumerate(parts)]
    for index, (part, item) in enumerate(zip(parts, items, strict=True)):
        yield event("response.output_item.added", output_index=index, item=dict(item) | {"status": "in_progress"})
        text, kind = part if isinstance(part, str) else "", "output_text"
        if isinstance(part, NativeCall):
            text, kind = part.arguments, "function_call_arguments"
        for piece in _pieces(text, chunk):
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            yield event(f"response.{kind}.delta", delta=piece, **place)
        yield event("response.output_item.done", output_index=index, item=item)
    reason = _RESPONSES.get(stop_reason or "")
    status = "incomplete" if reason else "completed"
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_tokens_details": {"cached_tokens": 0}}
    end = {"status": status, "output": items, "usage": usage, "incomplete_details": reason and {"reason": reason}}
    yield event(f"response.{status}", response=head | end)


def _item(index: int, part: Part) -> Mapping[str, Any]:
    """Return one item of a response's output."""
    if isinstance(part, str):
        content = [{"type": "output_text", "text": part, "annotations": []}]
        return {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed", "content": content}
    if isinstance(part, NativeCall):
        call = {"type": "function_call", "id": f"fc_{index}", "call_id": part.id, "status": "completed"}
        return call | {"name": part.name, "arguments": part.arguments}
    return part


def gemini_events(parts: Sequence[Part], stop_reason: str | None, model: str, chunk: int) -> Iterator[bytes]:
    """Yield the chunks of one answer of Gemini's API; the arguments of its calls are objects."""
    for part in parts:
        if isinstance(part, str):
            for piece in _pieces(part, chunk):
                yield _candidate(model, {"text": piece})
        elif isinstance(part, NativeCall):
            call = {"id": part.id, "name": part.name, "args": json.loads(part.arguments)}
            yield _candidate(model, {"functionCall": call})
        else:
            yield _candidate(model, part)
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    finish = _GEMINI.get(stop_reason or "", stop_reason)
    yield _data(candidates=[{"finishReason": finish, "index": 0}], usageMetadata=usage, modelVersion=model)


def event(kind: str, **body: object) -> bytes:
    """Return one server-sent event of ``kind``, with its type inside its data as Anthropic and OpenAI have it."""
    return f"event: {kind}\n".encode() + _data(type=kind, **body)


def _candidate(model: str, part: Mapping[str, Any]) -> bytes:
    content = {"role": "model", "parts": [part]}
    return _data(candidates=[{"content": content, "index": 0}], modelVersion=model)


def _choice(model: str, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data(object="chat.completion.chunk", model=model, choices=[choice])


def _data(**body: object) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
