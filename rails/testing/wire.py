"""An answer in the streaming wire formats of model servers.

Sources: the event order of Anthropic's Messages API (``message_start``, per block ``content_block_start``
/ ``_delta`` / ``_stop``, ``message_delta``, ``message_stop``) and the chunks of the OpenAI-compatible
``/chat/completions``, ended by ``data: [DONE]``; the events of OpenAI's ``/responses``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rails.core.conversation import NativeCall
from rails.core.tool_request import Json

_OPENAI_FINISH: Final = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


def anthropic_events(
    parts: Sequence[str | NativeCall | Mapping[str, Json]], stop_reason: str | None, model: str, chunk: int
) -> Iterator[bytes]:
    """Yield the server-sent events of one answer, each as its bytes.

    A part is a text, a call (whose arguments are streamed as they are, valid or not) or a content block
    as a mapping, which is sent whole.
    """
    usage: dict[str, Json] = {"input_tokens": 11, "output_tokens": 1}
    message: dict[str, Json] = {"id": "msg_stub", "type": "message", "role": "assistant", "model": model}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield event("message_start", {"message": message})
    for index, part in enumerate(parts):
        yield from _block(index, part, chunk)
    delta: dict[str, Json] = {"stop_reason": stop_reason, "stop_sequence": None}
    if stop_reason == "refusal":
        delta["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "The request was declined."}
    yield event("message_delta", {"delta": delta, "usage": {"output_tokens": 7}})
    yield event("message_stop", {})


def _block(index: int, part: str | NativeCall | Mapping[str, Json], chunk: int) -> Iterator[bytes]:
    deltas: list[dict[str, Json]]
    if isinstance(part, str):
        start: dict[str, Json] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(part, chunk)]
    elif isinstance(part, NativeCall):
        start = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(part.arguments, chunk)]
    else:
        start, deltas = dict(part), []
    yield event("content_block_start", {"index": index, "content_block": start})
    for delta in deltas:
        yield event("content_block_delta", {"index": index, "delta": delta})
    yield event("content_block_stop", {"index": index})


def event(kind: str, body: Mapping[str, Json]) -> bytes:
    """Return one server-sent event of ``kind``, with its type inside its data as Anthropic has it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n".encode()


def openai_events(
    parts: Sequence[str | NativeCall], stop_reason: str | None, model: str, chunk: int
) -> Iterator[bytes]:
    """Yield the chunks of one answer as an OpenAI-compatible server streams them, ``[DONE]`` included."""
    calls = 0
    for part in parts:
        if isinstance(part, str):
            for piece in _pieces(part, chunk):
                yield _choice(model, {"content": piece})
            continue
        opening: dict[str, Json] = {"name": part.name, "arguments": ""}
        yield _choice(model, {"tool_calls": [{"index": calls, "id": part.id, "type": "function", "function": opening}]})
        for piece in _pieces(part.arguments, chunk):
            yield _choice(model, {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
        calls += 1
    yield _choice(model, {}, _OPENAI_FINISH.get(stop_reason or "", stop_reason))
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield _data({"object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def responses_events(
    parts: Sequence[str | NativeCall], stop_reason: str | None, model: str, chunk: int
) -> Iterator[bytes]:
    """Yield the server-sent events of one answer of OpenAI's Responses API.

    A call whose ``id`` begins with ``custom_`` is one of a custom tool: its arguments are plain text.
    """
    head: dict[str, Json] = {"id": "resp_stub", "object": "response", "model": model, "output": []}
    yield event("response.created", {"response": {**head, "status": "in_progress"}})
    done: list[Json] = []
    for index, part in enumerate(parts):
        item = _item(index, part)
        begun = {**item, "status": "in_progress"}
        yield event("response.output_item.added", {"output_index": index, "item": begun})
        if isinstance(part, str):
            for piece in _pieces(part, chunk):
                place: dict[str, Json] = {"item_id": item["id"], "output_index": index, "content_index": 0}
                yield event("response.output_text.delta", {**place, "delta": piece})
        yield event("response.output_item.done", {"output_index": index, "item": item})
        done.append(item)
    usage: dict[str, Json] = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    status = "incomplete" if stop_reason == "max_tokens" else "completed"
    yield event(f"response.{status}", {"response": {**head, "status": status, "output": done, "usage": usage}})


def _item(index: int, part: str | NativeCall) -> dict[str, Json]:
    """Return one item of a response's output."""
    if isinstance(part, str):
        content: list[Json] = [{"type": "output_text", "text": part, "annotations": []}]
        return {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed", "content": content}
    if part.id.startswith("custom_"):
        call: dict[str, Json] = {"type": "custom_tool_call", "id": f"ctc_{index}", "input": part.arguments}
    else:
        call = {"type": "function_call", "id": f"fc_{index}", "arguments": part.arguments}
    return {**call, "call_id": part.id, "name": part.name, "status": "completed"}


def _choice(model: str, delta: Mapping[str, Json], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return _data({"object": "chat.completion.chunk", "model": model, "choices": [choice]})


def _data(body: Mapping[str, object]) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
