"""Where every value of a JSON text stands, by one linear pass over its tokens.

The text has been read before, so it is known to be JSON and nothing here judges. An explicit stack instead of
recursion, so that no document is too deep. Comments that were blanked out, and whatever separates tokens, do no harm.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

#: From the root to a value: object keys and array indexes.
Path: TypeAlias = tuple[str | int, ...]

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


class Span(NamedTuple):
    """Character offsets of a value and of its key; the key's are the value's where there is no key."""

    start: int
    end: int
    key_start: int
    key_end: int


class RepeatedKey(NamedTuple):
    """A key that its object already had: its path, where it stands, and where the object had it first."""

    path: Path
    start: int
    end: int
    first: int


class Lines:
    """Turns character offsets into 1-based lines and columns (in characters; lines end at ``\\n``)."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Return the line and column of ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def locate(text: str, paths: Collection[Path], *, unique: bool = False) -> dict[Path, Span]:
    """Return where the values of ``paths`` stand in ``text``. A path that is not there is left out.

    Where an object has a key twice the last one counts, as for every JSON reader. ``unique`` promises that
    none has, so that the pass can end when everything is found.
    """
    found: dict[Path, Span] = {}
    for path, span in _Scan(_tree(paths)).run(text):
        found[path] = span
        if unique and len(found) == len(paths):
            break
    return found


def every(text: str) -> Iterator[tuple[Path, Span]]:
    """Yield the path and the span of every value, in the order in which they end."""
    return _Scan(_EVERYTHING).run(text)


def repeated_keys(text: str) -> list[RepeatedKey]:
    """Return every key that its object already had, in the order of the text."""
    scan = _Scan(None)
    for _ in scan.run(text):
        pass
    return scan.repeated


def inside(text: str, span: Span, index: int) -> int:
    """Return the offset in ``text`` of character ``index`` of the string value at ``span``."""
    if index < 0 or text[span.start : span.start + 1] != '"':
        return span.start
    offset = span.start + 1
    for match in _ESCAPE.finditer(text, offset, span.end - 1):
        if index == 0:
            return match.start()
        index -= 1
    return max(span.end - 1, offset)


class _Wanted:
    """A node of the tree of paths that were asked for."""

    __slots__ = ("children", "path")

    def __init__(self) -> None:
        self.children: dict[str | int, _Wanted] = {}
        self.path: Path | None = None


_EVERYTHING: Final = _Wanted()


def _tree(paths: Iterable[Path]) -> _Wanted:
    root = _Wanted()
    for path in paths:
        here = root
        for segment in path:
            here = here.children.setdefault(segment, _Wanted())
        here.path = path
    return root


class _Open:
    """An object or array that the scan is inside of."""

    __slots__ = ("is_object", "key", "key_end", "key_start", "seen", "start", "wanted")

    def __init__(self, wanted: _Wanted | None, start: int, *, is_object: bool) -> None:
        self.wanted, self.start, self.is_object = wanted, start, is_object
        self.key: str | int = 0
        self.key_start = self.key_end = -1
        self.seen: dict[str, int] = {}


class _Scan:
    """One pass over the tokens. Without ``wanted``, only repeated keys are noted."""

    def __init__(self, wanted: _Wanted | None) -> None:
        self._root = wanted
        self._stack: list[_Open] = []
        self.repeated: list[RepeatedKey] = []

    def run(self, text: str) -> Iterator[tuple[Path, Span]]:
        """Yield the path and span of each value that is wanted, when it ends."""
        stack, key_next = self._stack, False
        for match in _TOKEN.finditer(text):
            word = match[0]
            first = word[0]
            if first == ",":
                top = stack[-1]
                key_next = top.is_object
                if type(top.key) is int:
                    top.key += 1
            elif first == ":":
                key_next = False
            elif key_next and first == '"':
                self._key(word, match.start(), match.end())
            elif first in "{[":
                stack.append(_Open(self._here(), match.start(), is_object=first == "{"))
                key_next = first == "{"
            elif first in "}]":
                closed = stack.pop()
                key_next = False
                if closed.wanted is not None:
                    yield from self._value(closed.wanted, closed.start, match.end())
            elif (wanted := self._here()) is not None:
                yield from self._value(wanted, match.start(), match.end())

    def _here(self) -> _Wanted | None:
        if not self._stack or self._root is _EVERYTHING:
            return self._root
        top = self._stack[-1]
        return top.wanted.children.get(top.key) if top.wanted else None

    def _key(self, word: str, start: int, end: int) -> None:
        top = self._stack[-1]
        top.key = key = word[1:-1] if "\\" not in word else str(json.loads(word, strict=False))
        top.key_start, top.key_end = start, end
        if self._root is None:
            if key in top.seen:
                path = tuple(item.key for item in self._stack)
                self.repeated.append(RepeatedKey(path, start, end, top.seen[key]))
            top.seen.setdefault(key, start)

    def _value(self, wanted: _Wanted, start: int, end: int) -> Iterator[tuple[Path, Span]]:
        stack = self._stack
        path = tuple([item.key for item in stack]) if wanted is _EVERYTHING else wanted.path
        if path is None:
            return
        top = stack[-1] if stack else None
        if top is not None and top.is_object:
            yield path, Span(start, end, top.key_start, top.key_end)
        else:
            yield path, Span(start, end, start, end)
