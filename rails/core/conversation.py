"""Messages between a model and AI-Rails, for any provider.

Messages are append-only: caches and thinking are bound to the history. :func:`answer_to_json` has an answer's one
written form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict

from rails.core.tool_request import Json

#: How the note of an answer begins whose call its provider could not read: it is stopped as "cut".
BAD_CALL: Final = "the model's server could not read the call that it wrote"
#: Why a model stopped. Only "end_turn" and "tool_use" let native tool calls run.
StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "cut"]


class TextPart(Struct, frozen=True):
    """Plain text of a message."""

    text: str


class NativeCall(Struct, frozen=True):
    """A provider's own tool call; ``arguments``: unparsed JSON."""

    id: str
    name: str
    arguments: str


class NativeResult(Struct, frozen=True):
    """A :class:`NativeCall`'s answer; every call gets one."""

    id: str
    text: str
    is_error: bool


class Opaque(Struct, frozen=True):
    """A provider's own block, such as signed thinking: sent back unchanged, never read.

    ``provider`` is like "anthropic", "openai@127.0.0.1:8000"; ``data`` is JSON text.
    """

    provider: str
    data: str


MessagePart: TypeAlias = TextPart | NativeCall | NativeResult | Opaque


class Message(Struct, frozen=True):
    """One message; ``user`` ones carry task, feedback and tool results.

    ``stands_for`` counts the model's earlier answers that are left out: a recording goes on behind them.
    """

    role: Literal["user", "assistant"]
    parts: tuple[MessagePart, ...]
    stands_for: int = 0

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[NativeCall, ...]:
        """The native tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, NativeCall))


class Usage(Struct, frozen=True):
    """Tokens of one model call (0: not reported). ``input_tokens`` excludes both cache counts."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All input: fresh, from and into the cache."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


class TextDelta(Struct, frozen=True):
    """A piece of streamed text."""

    text: str


class ModelAnswer(Struct, frozen=True):
    """A complete answer: a stream's last item."""

    message: Message
    stop_reason: StopReason
    usage: Usage = Usage()
    model: str = ""
    #: Set when the stop reason needs words ("the answer was cut at 4096 tokens").
    note: str = ""


Delta: TypeAlias = TextDelta | ModelAnswer


class ToolSpec(Struct, frozen=True):
    """A tool for a provider; ``parameters``: a JSON Schema."""

    name: str
    description: str
    schema: str


_STOP_REASONS: Final[frozenset[str]] = frozenset(get_args(StopReason))


def message_to_json(message: Message) -> dict[str, Json]:
    """Return ``{"role": …, "content": [blocks]}``."""
    return {"role": message.role, "content": [_part_to_json(part) for part in message.parts]}


def message_from_json(value: Json) -> Message:
    """Read what :func:`message_to_json` wrote; ``content`` may be a string. Raises ValueError."""
    if not isinstance(value, Mapping):
        raise ValueError("a message is a JSON object")
    role = value.get("role")
    content = value.get("content")
    if role not in ("user", "assistant"):
        raise ValueError('"role" must be "user" or "assistant"')
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        raise ValueError('"content" must be a text or a list of blocks')
    return Message(cast(Literal["user", "assistant"], role), tuple(map(_part_from_json, content)))


def answer_to_json(answer: ModelAnswer) -> dict[str, Json]:
    """Return message, stop reason, usage, model."""
    return {
        **message_to_json(answer.message),
        "stop_reason": answer.stop_reason,
        "usage": asdict(answer.usage),
        "model": answer.model,
        "note": answer.note,
    }


def answer_from_json(value: Json) -> ModelAnswer:
    """Read what :func:`answer_to_json` wrote, at least a message. Raises ValueError."""
    message = message_from_json(value)
    if message.role != "assistant" or not isinstance(value, Mapping):
        raise ValueError('the "role" of an answer must be "assistant"')
    stop = value.get("stop_reason", "tool_use" if message.calls else "end_turn")
    if stop not in _STOP_REASONS:
        raise ValueError(f'"stop_reason" must be one of {", ".join(sorted(_STOP_REASONS))}')
    return ModelAnswer(
        message,
        cast(StopReason, stop),
        usage_from_json(value.get("usage")),
        _text(value, "model", ""),
        _text(value, "note", ""),
    )


def readable(answer: ModelAnswer) -> ModelAnswer:
    """Return an answer after a round trip through the log's form.

    Raises ValueError if a session could not be read back.
    """
    try:
        return answer_from_json(answer_to_json(answer))
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def usage_from_json(value: Json) -> Usage:
    """Read token counts; missing or odd ones are 0."""
    if not isinstance(value, Mapping):
        return Usage()
    return Usage(
        *(count if isinstance(count, int) and count > 0 else 0 for count in map(value.get, Usage.__struct_fields__))
    )


def _part_to_json(part: MessagePart) -> dict[str, Json]:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case NativeCall(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "input_json": arguments}
        case NativeResult(id_, text, is_error):
            return {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": is_error}
        case Opaque(provider, data):
            return {"type": "opaque", "provider": provider, "data": data}


def _part_from_json(value: Json) -> MessagePart:
    if not isinstance(value, Mapping):
        raise ValueError("a block of a message is a JSON object")
    match value.get("type"):
        case "text":
            return TextPart(_text(value, "text"))
        case "tool_use":
            return NativeCall(_text(value, "id"), _text(value, "name"), _text(value, "input_json"))
        case "tool_result":
            return NativeResult(_text(value, "tool_use_id"), _text(value, "content"), value.get("is_error") is True)
        case "opaque":
            return Opaque(_text(value, "provider"), _text(value, "data"))
    raise ValueError('the "type" of a block must be text, tool_use, tool_result or opaque')


def _text(value: Mapping[str, Json], key: str, default: str | None = None) -> str:
    found = value.get(key, default)
    if not isinstance(found, str):
        raise ValueError(f'"{key}" must be a string')
    return found
