"""The conversation within the model's window: messages in, messages out.

Below a threshold nothing changes, so a provider's cache holds. A step makes much room at once, the least loss first:
old results, thoughts, last the oldest answers, which one page replaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.config.prices import Price, price_of
from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, Opaque, TextPart, ToolSpec, Usage
from rails.core.errors import ModelError
from rails.core.events.turn import ContextReduced
from rails.core.text import head_and_tail, one_line
from rails.models.model import Model
from rails.session import escalation
from rails.session.escalation import Tried
from rails.session.feedback import HEADER
from rails.session.turn_context import TurnContext, whole_answer

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
_ASK: Final = (
    "--- SUMMARY WANTED ---\nThis conversation is about to be cut to fit your context window. Write the page that you "
    "will go on from, in at most 500 words: the task and its plan, what is done and what is left, what the person "
    "decided, what you learned of the code (names, places), open findings. Call no tool; answer with the page alone."
)
_SUMMARY: Final = "\n\nSummary:\n"
#: What to do where a conversation does not fit.
LARGER: Final = "Go on with a model of a larger window (--resume with --model), or begin a new session."
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


def estimate(system: str, tools: Sequence[ToolSpec], messages: Messages) -> int:
    """Return the estimated tokens of a prompt."""
    fixed = _tokens(system) + sum(_tokens(one.name + one.description + one.schema) + _FRAME for one in tools)
    return fixed + total(messages)


def total(messages: Messages) -> int:
    """Return the estimated tokens of messages."""
    return sum(map(size, messages))


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
    return f"Result of {found['tool']}: {begins} (left out; ask again if needed)"


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
    whole = total(messages)
    step = _NOTHING
    left = tuple(messages)
    for step in _milder(messages, last, over):
        left = reduced(messages, step)
        if not page and whole - total(left) >= over:
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
    most = total(messages) - over - _tokens(original(messages))
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


# -- the model's part ---------------------------------------------------------------------------------


class ModelWindow(Struct):
    """The model's window: ``tokens`` (0: unknown, so nothing is left out) and its measure."""

    tokens: int = 0
    measured: Measured = Measured()
    said: dict[str, int] = {}

    def of(self, model: Model, prices: Mapping[str, Price]) -> None:
        """Set ``model``'s window: from the settings, its server, or its class."""
        price = price_of(model.name, prices)
        if model.name not in self.said:
            self.said[model.name] = (price and price.window) or model.served_window()
        self.tokens = self.said.get(model.name) or model.window

    def learn(self, model: str, limit: int, thought: int) -> None:
        """Take over a server's limit from a refused prompt, estimated at ``thought`` tokens."""
        self.tokens = self.said[model] = limit or self.tokens // 2
        self.measured = Measured(thought, max(self.measured.tokens(thought), self.tokens))

    def thought(self, context: TurnContext, messages: Messages) -> int:
        """Return a prompt's estimated tokens, uncorrected; 0 where the window is unknown."""
        return estimate(context.system, context.tools, messages) if self.tokens else 0

    def fitted(self, context: TurnContext, messages: Messages, tried: Tried) -> ContextReduced | None:
        """Return the step that is due, published, or ``None``. Raises ModelError where none is enough."""
        if not self.tokens:
            return None
        room = self._room(context)
        now = self._counted(context, messages)
        fixed = min(room, self._counted(context, ()))  # is no conversation
        if now <= fixed + (room - fixed) * _DUE:
            return None
        step = self.step(context, messages, now - fixed - int((room - fixed) * _LEFT), tried)
        if (step.after if step else now) > room:
            raise ModelError(
                f"The conversation takes about {now:,} tokens, and the window of {one_line(context.model.name, 60)} is "
                f"{self.tokens:,}, of which {room:,} are for it; nothing more of it can be left out. Nothing was sent. "
                f"{LARGER}"
            )
        return step

    def step(
        self, context: TurnContext, messages: Messages, over: int, tried: Tried, *, page: bool = False
    ) -> ContextReduced | None:
        """Publish and return a reduction by ``over`` tokens; ``None`` if impossible."""
        now = self._counted(context, messages)
        over = over * estimate(context.system, context.tools, messages) // now
        step = next_step(messages, over, page=page)
        if step is None:
            return None
        if step.kept_from:
            summary, usage = self._summary(context, reduced(messages, replace(step, kept_from=0)))
            text = _page(messages, step.kept_from, tried, summary, page_chars(messages, over))
            step = replace(step, page=text, usage=usage)
        after = self._counted(context, reduced(messages, step))
        words = f"Context compacted: {now:,} → {after:,} tokens"
        step = replace(step, before=now, after=after, window=self.tokens, words=words)
        context.publish(step)
        return step

    def _counted(self, context: TurnContext, messages: Messages) -> int:
        return self.measured.tokens(estimate(context.system, context.tools, messages))

    def _room(self, context: TurnContext) -> int:
        return self.tokens - min(context.model.max_tokens, self.tokens // 4)

    def _summary(self, context: TurnContext, messages: Messages) -> tuple[str, Usage]:
        *before, last = messages
        asked = (*before, replace(last, parts=(*last.parts, TextPart(_ASK))))
        if self._counted(context, asked) > self._room(context):
            return "", Usage()
        try:
            said = whole_answer(context.model, context.system, asked, context.tools, context.time_left)
        except ModelError:  # the log has the facts
            return "", Usage()
        return (said.message.text.strip() if said.stop_reason == "end_turn" else ""), said.usage


def _page(messages: Messages, kept_from: int, tried: Tried, summary: str, chars: int) -> str:
    shown = "\n".join(part.text for one in messages[kept_from:] for part in one.parts if isinstance(part, TextPart))
    before = messages[0].text.partition(_SUMMARY)[2]
    parts = [
        "Your older answers and their feedback are left out; this is their summary. Read the files again that "
        "you need.",
        f"The state now: {escalation.state(tried.written)}",
        f"What failed since the task was given, the newest last:\n{escalation.failures_text(tried)}",
    ]
    if said := [text for text in tried.said if text not in shown]:
        parts.append("The person said since, the newest last:\n" + escalation.newest(said, chars // 2))
    facts = head_and_tail("\n\n".join(parts), chars)[0]
    told = head_and_tail(summary or before, max(600, chars - len(facts)))[0]
    return f"{original(messages)}{EARLIER}{facts}{_SUMMARY if told else ''}{told.rstrip()}\n"
