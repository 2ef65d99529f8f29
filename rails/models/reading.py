"""An answer while it streams: texts, calls, and opaque parts.

Anything else (thoughts, signatures, unknown fields) becomes an :class:`~rails.core.conversation.Opaque` part and goes
back to the same provider. With ``BESIDE`` it extends the part before; else it is a block.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from rails.core import limits
from rails.core.conversation import (
    BAD_CALL,
    Message,
    MessagePart,
    ModelAnswer,
    NativeCall,
    Opaque,
    StopReason,
    TextDelta,
    TextPart,
    Usage,
)
from rails.core.text import one_line

BESIDE: Final = "beside"
#: Fields that say what an object is: a later piece repeats them, and does not go on with them.
_FIXED: Final = frozenset({"type", "id", "index", "format", "role", "name", "status"})
#: What a server may say of an ending, in the order in which it is looked for. Other words say nothing: what came does.
_STOPS: Final[tuple[tuple[str, StopReason, str], ...]] = (
    (r"(stop|end_turn)$", "end_turn", ""),
    (r"(tool_calls?|tool_use|function_call)$", "tool_use", ""),
    (r"stop_sequence$", "stop_sequence", "the answer reached a stop sequence"),
    (r".*(malformed|tool_call|function_call)", "cut", BAD_CALL),
    (r".*pause", "pause_turn", "the model paused and wants to go on"),
    (r".*context", "max_tokens", "the answer was cut: the conversation fills the model's context"),
    (r".*(max|length|limit)", "max_tokens", "the answer was cut at the limit of its tokens"),
    (
        r".*(filter|safety|refus|block|prohibit|recitation|spii|language|policy|sensitive)",
        "refusal",
        "the model's service refused to answer",
    ),
    (
        r".*(error|fail|abort|cancel|interrupt|insufficient|time_?out|compaction)|other$",
        "cut",
        "the server broke off the answer",
    ),
)


class Slot:
    """A part in progress: a text, a call, or ("own") an opaque block."""

    def __init__(self, kind: str) -> None:
        self.kind, self.id, self.name = kind, "", ""
        self.text: list[str] = []
        self.fields: dict[str, Any] = {}

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take in opaque fields: texts and lists are extended."""
        self.fields = _merged(self.fields, fields)

    @property
    def is_whole(self) -> bool:
        """Whether a call's arguments are a complete object."""
        text = "".join(self.text).rstrip()
        with suppress(ValueError, RecursionError):
            return text.endswith("}") and isinstance(json.loads(text), dict)
        return False

    def parts(self, sender: str, number: int) -> Iterator[MessagePart]:
        """Yield its message parts; ``number``: parts before it."""
        text = "".join(self.text)
        fields = self.fields
        if self.kind == "call":
            has_id = 0 < len(self.id) <= limits.CALL_NAME_CHARS
            id_ = self.id if has_id else f"call_{number}"
            yield NativeCall(id_, self.name[: limits.CALL_NAME_CHARS], text)
        elif text and self.kind == "text":
            yield TextPart(text)
        unsigned = fields.get("type") == "thinking" and not fields.get("signature")  # Anthropic's API would refuse it
        if fields and not unsigned:
            yield Opaque(sender, json.dumps(fields if self.kind == "own" else {BESIDE: fields}))


def _merged(known: Any, value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(known, dict) and isinstance(value, Mapping):
        return {**known, **{key: _merged(known.get(key), part, key) for key, part in value.items()}}
    if isinstance(known, str) and isinstance(value, str) and name not in _FIXED:
        return known + value
    if isinstance(known, list) and isinstance(value, list):
        items = [*known]
        for item in value:
            goes_on = items and _place(item) is not None and _place(item) == _place(items[-1])
            items[-1:] = [_merged(items[-1], item)] if goes_on else [*items[-1:], item]
        return items
    return known if value is None else value


def _place(item: object) -> object:
    index = item.get("index") if isinstance(item, dict) else None
    return index if index is None else (index, item.get("type"))  # type: ignore[attr-defined]


class Reading:
    """Turns a stream's events into text and, at the end, an answer; adapters define ``take``.

    ``ended``: wait for no more. ``whole``: the server said it was done.
    """

    ended = whole = False
    stop = words = ""
    _chars = 0

    def __init__(self, sender: str, model: str) -> None:
        self.sender, self.model = sender, model
        self.slots: dict[Hashable, Slot] = {}
        self.counts: Any = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in an event; yield its text. Raises whatever a malformed one causes."""
        raise NotImplementedError

    def usage(self) -> Usage:
        """Return the tokens from ``counts``: thoughts count as answer, and what was in the cache not as prompt."""
        told = self.counts if isinstance(self.counts, dict) else {}
        counts = ChainMap(told, *(details for details in told.values() if isinstance(details, dict)))
        cached = count(counts, "cached_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount")
        asked = count(counts, "prompt_tokens", "input_tokens", "promptTokenCount")
        answered = count(counts, "completion_tokens", "output_tokens", "candidatesTokenCount")
        return Usage(asked - cached, answered + count(counts, "thoughtsTokenCount"), cached)

    def slot(self, key: Hashable, kind: str) -> Slot:
        """Return the part of that key, new if needed."""
        return self.slots.setdefault(key, Slot(kind))

    def add(self, slot: Slot, text: str) -> Iterator[TextDelta]:
        """Add a piece; one that is not text signals progress."""
        if text:
            slot.text.append(text)
            self.grow(text)
            yield TextDelta(text if slot.kind == "text" else "")

    def keep(self, slot: Slot, fields: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Add opaque fields, such as thoughts; signals progress."""
        if fields:
            slot.add(fields)
            self.grow(str(fields))
            yield TextDelta("")

    def grow(self, text: str) -> None:
        """Count what came; end an answer that is too long."""
        self._chars += len(text)
        self.ended |= self._chars > limits.ANSWER_CHARS

    def answer(self) -> ModelAnswer:
        """Return the answer; "cut" unless the server gave a reason or an end."""
        parts: list[MessagePart] = []
        for number, slot in enumerate(self.slots.values()):
            parts += slot.parts(self.sender, number)
        stop, note = self._ending()
        return ModelAnswer(Message("assistant", tuple(parts)), stop, self.usage(), self.model, note)

    def _ending(self) -> tuple[StopReason, str]:
        if self._chars > limits.ANSWER_CHARS:
            return "cut", f"the answer was stopped at {limits.ANSWER_CHARS} characters"
        word = self.stop.casefold().removeprefix("finish_reason_")
        for pattern, stop, note in _STOPS:
            if re.match(pattern, word):
                said = one_line(self.words, 600)
                own = f"{note}. {said}" if note == BAD_CALL else said
                return stop, (own if said and note else note)
        calls = [slot for slot in self.slots.values() if slot.kind == "call"]
        came = any(slot.text for slot in self.slots.values())
        if self.whole and came and all(call.is_whole for call in calls):
            return ("tool_use" if calls else "end_turn"), ""
        if not word:
            return "cut", "the server ended the answer before it was complete"
        return "cut", f"the answer stopped for an unknown reason: {one_line(self.stop)}"


def count(facts: object, *names: str) -> int:
    """Return the first field that is a number of tokens, or 0."""
    counts = [facts.get(name) for name in names] if isinstance(facts, Mapping) else []
    return next((one for one in counts if isinstance(one, int) and one > 0), 0)


def text_in(content: object) -> str:
    """Return a piece's text, possibly from parts. Raises TypeError if it is none."""
    if isinstance(content, list):
        return "".join(text_in(part.get("text")) for part in content if part.get("type", "text") == "text")
    if not isinstance(content, str | None):
        raise TypeError(f"{type(content).__name__} is where text belongs")
    return content or ""


def name_in(value: object) -> str:
    """Return a name or id, or ""."""
    return str(value or "")


def arguments_in(value: object) -> str:
    """Return a call's arguments as text; some servers send an object."""
    if isinstance(value, str | None):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def others(facts: Mapping[str, Any], *read: str) -> dict[str, Any]:
    """Return the non-empty fields that are not ``read``."""
    return {name: value for name, value in facts.items() if name not in read and value is not None}
