"""Finds calls copied, in any form, from a text that the agent read.

Only letters and digits are compared. The newest text is kept, up to a bound.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from json import dumps
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json

#: How many characters of words are kept, and from how many of a single text.
_KEPT: Final = 4_000_000
_CHARS: Final = 2_000_000
#: A call of fewer characters of words is too short to have been copied from anywhere.
_LEAST: Final = 8
#: Characters of words around a tool's name in which its parameters are looked for, and how many places are tried.
_AROUND: Final = 100
_PLACES: Final = 100
_ESCAPED_SPACE: Final = lazy(r"\\[nrt]")
_LINE_NUMBER: Final = lazy(r"^[ \t]*\d{1,7}[ \t]*[\t|:→│][ \t]?", re.M)
_FENCE: Final = lazy(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.M)
_BETWEEN: Final = lazy(r"[\W_]+")


def words_of(text: str) -> str:
    """Return the letters and digits of a text."""
    plain = _LINE_NUMBER.sub("", _ESCAPED_SPACE.sub(" ", text[:_CHARS]))
    return _BETWEEN.sub("", plain)


class ReturnedTexts:
    """The texts that were returned to an agent, each with its origin in words."""

    __slots__ = ("_size", "_texts")

    def __init__(self) -> None:
        self._texts: deque[tuple[str, str]] = deque()
        self._size = 0

    def add(self, text: str, origin: str) -> None:
        """Keep a text; the oldest are dropped beyond a bound."""
        words = words_of(text)
        if "tool" not in words and "<" not in text:
            return  # it cannot hold a call
        self._texts.append((words, origin))
        self._size += len(words)
        while self._size > _KEPT and len(self._texts) > 1:
            self._size -= len(self._texts.popleft()[0])

    def origin(self, raw: str) -> str:
        """Return where a call was read, or ""."""
        words = words_of(_FENCE.sub("", raw))
        if len(words) < _LEAST:
            return ""
        return next((origin for text, origin in reversed(self._texts) if words in text), "")

    def origin_of_parts(self, tool: str, parameters: Mapping[str, Json]) -> str:
        """Return where a call's names and values were read together, or ""."""
        parts = [words_of(one) for key, value in parameters.items() for one in (key, dumps(value, ensure_ascii=False))]
        name = words_of(tool)
        if sum(map(len, parts)) < _LEAST:
            return ""
        return next((origin for text, origin in reversed(self._texts) if _close(name, parts, text)), "")


def _close(name: str, parts: Sequence[str], text: str) -> bool:
    room = 2 * sum(map(len, parts)) + _AROUND
    for found in islice(re.finditer(re.escape(name), text), _PLACES):
        around = text[max(0, found.start() - room) : found.start() + room]
        if all(part.removeprefix("file") in around for part in parts):
            return True
    return False
