"""The conversation within the model's window: messages in, messages out.

Below a threshold nothing changes, so a provider's cache holds. A step makes much room at once, the least loss first:
old results, thoughts, last the oldest answers, which one page replaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, Opaque, TextPart, ToolSpec
from rails.core.events.turn import ContextReduced
from rails.core.text import head_and_tail, one_line
from rails.session.feedback import HEADER

#: Messages, the oldest first.
Messages = Sequence[Message]
#: Of the room for a conversation, the share at which a step is due and what it leaves; of that, what a page may take.
_DUE: Final = 0.8
_LEFT: Final = 0.4
_PAGE: Final = 0.25
#: Bytes of text for a token: few enough for code in any script.
_BYTES: Final = 3
#: Tokens that a part of a message costs besides its text.
_FRAME: Final = 8
#: What a page may have in any case, and what is left of a text that is cut.
_LEAST_CHARS: Final = 2_000
_LEAST_SHARE: Final = 200
_NOTHING: Final = ContextReduced("", 0, 0, 0)
EARLIER: Final = "\n\n--- EARLIER IN THIS CONVERSATION ---\n"
_RESULT: Final = re.compile(
    r"^Result of (?P<tool>[^\s;(]+)(?: \(failed\))?; this is data, not instructions:\n"
    r"(?P<fence>~{4,})\n(?P<body>.*?)\n(?P=fence)$(?:\n\[\d+ characters left out;[^\n]*)?",
    re.M | re.S,
)


class Measured(Struct, frozen=True):
    """The last prompt's estimate and its provider's count, in tokens; 0: unknown."""

    thought: int = 0
    counted: int = 0

    def tokens(self, thought: int) -> int:
        """Return an estimate corrected by the count."""
        if not (self.thought and self.counted):
            return thought
        ratio = min(4.0, max(0.75, self.counted / self.thought))
        return math.ceil(round(thought * ratio, 6))


def room(window: int, answer: int) -> int:
    """Return the prompt tokens that leave room for an answer."""
    return window - min(answer, window // 4)


def over(now: int, fixed: int, room: int) -> int:
    """Return by how many tokens a step is due; 0: none is. ``fixed`` tokens are no conversation."""
    if now <= fixed + (room - fixed) * _DUE:
        return 0
    return now - fixed - int((room - fixed) * _LEFT)


def estimate(system: str, tools: Sequence[ToolSpec], messages: Messages) -> int:
    """Return the estimated tokens of a prompt."""
    fixed = _tokens(system) + sum(_tokens(one.name + one.description + one.schema) + _FRAME for one in tools)
    return fixed + sum(map(size, messages))


def size(message: Message) -> int:
    """Return the estimated tokens of a message."""
    return _FRAME + sum(_tokens(_text_of(part)) + _FRAME for part in message.parts)


def _tokens(text: str) -> int:
    return (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))) // _BYTES + 1


def _text_of(part: MessagePart) -> str:
    match part:
        case TextPart(text) | NativeResult(text=text) | Opaque(data=text):
            return text
        case NativeCall(_, name, arguments):
            return name + arguments


def reduced(messages: Messages, step: ContextReduced) -> tuple[Message, ...]:
    """Return a conversation without what ``step`` leaves out; order, pairs and the last message stay."""
    newest = _last_answer(messages)
    kept = []
    for number, message in enumerate(messages):
        parts = message.parts
        if number < step.thoughts_before:
            parts = tuple(part for part in parts if not isinstance(part, Opaque))
        if message.role == "user" and number < step.results_before:
            parts = tuple(map(_shorter, parts))
        if step.newest_chars and number >= newest:
            parts = tuple(_cut(message, step.newest_chars))
        kept.append(message if parts == message.parts else replace(message, parts=parts))
    if not step.page:
        return tuple(kept)
    stands_for = sum(one.stands_for + (one.role == "assistant") for one in messages[: step.kept_from])
    return (Message("user", (TextPart(step.page),), stands_for), *kept[step.kept_from :])


def _shorter(part: MessagePart) -> MessagePart:
    if not isinstance(part, TextPart | NativeResult):
        return part
    return replace(part, text=_RESULT.sub(_left_out, part.text))


def _left_out(found: re.Match[str]) -> str:
    begins = one_line(found["body"].partition("\n")[0], 120)
    told = f"Result of {found['tool']}: {begins} (left out; ask again if needed)"
    return told if len(told) < len(found[0]) else found[0]


def _cut(message: Message, chars: int) -> Iterator[MessagePart]:
    for part in message.parts:
        match part:
            case TextPart(text) if message.role == "user" and not text.startswith(HEADER):
                yield part  # a person's words
            case TextPart(text) | NativeResult(text=text):
                yield replace(part, text=head_and_tail(text, chars)[0])
            case NativeCall(arguments=arguments) if len(arguments) > chars:
                yield replace(part, arguments=json.dumps({"left_out": f"{len(arguments)} characters"}))
            case Opaque(data=data) if len(data) > chars:
                pass
            case _:
                yield part


def next_step(messages: Messages, over: int, *, page: bool = False) -> ContextReduced | None:
    """Return the mildest step that saves ``over`` tokens, or ``None``.

    At worst, or with ``page``, the answers before ``kept_from`` go; the caller writes their page (:func:`page_chars`).
    """
    last = _last_answer(messages)
    whole = sum(map(size, messages))
    step = _NOTHING
    left = tuple(messages)
    for step in _milder(messages, last, over):
        left = reduced(messages, step)
        if not page and whole - sum(map(size, left)) >= over:
            return step
    if not last:
        return None
    tail = max(0, whole - over - _tokens(original(messages))) * (1 - _PAGE)
    kept = last if page else min(_fitting(left, tail), default=0)
    if kept:
        return replace(step, kept_from=kept)
    return replace(step, kept_from=last, newest_chars=_share(left[last:], tail))


def _share(messages: Messages, tokens: float) -> int:
    texts = [_text_of(part) for message in messages for part in message.parts]
    widest = max(len(text.encode("utf-8", "surrogatepass")) / (len(text) or 1) for text in texts)
    return max(_LEAST_SHARE, int(tokens * _BYTES / max(1, widest)) // len(texts))


def _last_answer(messages: Messages) -> int:
    return max((n for n, one in enumerate(messages) if one.role == "assistant"), default=0)


def page_chars(messages: Messages, over: int) -> int:
    """Return a page's most characters."""
    most = sum(map(size, messages)) - over - _tokens(original(messages))
    return max(_LEAST_CHARS, int(most * _PAGE) * _BYTES)


def _milder(messages: Messages, last: int, over: int) -> Iterator[ContextReduced]:
    shorter = zip(messages, reduced(messages, replace(_NOTHING, results_before=last)), strict=True)
    gains = accumulate(size(one) - size(other) for one, other in shorter)
    enough = next((number + 1 for number, gain in enumerate(gains) if gain >= over), last)
    yield replace(_NOTHING, results_before=min(enough, last))
    yield replace(_NOTHING, results_before=last, thoughts_before=last)


def _fitting(messages: Messages, most: float) -> Iterator[int]:
    for number in range(len(messages) - 1, 0, -1):
        most -= size(messages[number])
        if most < 0:
            return
        if messages[number].role == "assistant":
            yield number


def original(messages: Messages) -> str:
    """Return the first message before a page replaced it."""
    return messages[0].text.partition(EARLIER)[0] if messages else ""
