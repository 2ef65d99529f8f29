"""Positions of values in a JSON, YAML or TOML text, by their path of keys and indexes.

A property's place is its key, an item's its first character; an unknown path has that of what is around it. Nothing is
judged; no JSON is too deep (no recursion).
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from rails.core.lazy_pattern import lazy

if TYPE_CHECKING:
    from yaml import Node

#: From the root to a value: object keys and array indexes.
JsonPlace: TypeAlias = tuple[str | int, ...]
#: Lines and columns, from 1.
Places: TypeAlias = Mapping[JsonPlace, tuple[int, int]]

_TOKEN: Final = lazy(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|(\Z))|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPE: Final = lazy(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)

_NAME: Final = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
_PART: Final = lazy(_NAME)
#: A table of a TOML text, or a key that begins a line.
_TOML: Final = lazy(
    rf"(?m)^[ \t]*(?:(?P<table>\[\[?)(?P<name>[^\]\n]+)\]|(?P<key>{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*=)"
)
#: Values whose places are kept; a larger document has the place of what is around them.
_MOST: Final = 200_000


class JsonSpan(NamedTuple):
    """Offsets of a value and its key (the value's, if none)."""

    start: int
    end: int
    key_start: int
    key_end: int


class RepeatedKey(NamedTuple):
    """A repeated key: path, place, first place."""

    path: JsonPlace
    start: int
    end: int
    first: int


class LineIndex:
    r"""Offsets to 1-based lines and columns (characters; lines end at ``\n``)."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Return the line and column of ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def place_of(places: Places, path: Sequence[str | int]) -> tuple[int, int]:
    """Return 1-based line and column of ``path``, or of the nearest value around it."""
    for end in range(len(path), -1, -1):
        if found := places.get(tuple(path[:end])):
            return found
    return 1, 1


def in_json(text: str) -> Places:
    """Return the places of a JSON text's values."""
    lines = LineIndex(text)
    return {path: lines.at(span.key_start) for path, span in islice(every_value(text), _MOST)}


def in_yaml(root: Node | None) -> Places:
    """Return the places of a composed document's values."""
    import yaml

    found: dict[JsonPlace, tuple[int, int]] = {}
    pending: list[tuple[JsonPlace, Node, Node]] = [((), root, root)] if root is not None else []
    while pending and len(found) < _MOST:
        path, named, node = pending.pop()
        found.setdefault(path, (named.start_mark.line + 1, named.start_mark.column + 1))
        if len(path) > 100:
            continue
        if isinstance(node, yaml.SequenceNode):
            pending += [((*path, number), item, item) for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            keys = ((key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode))
            pending += [((*path, key.value), key, value) for key, value in keys]
    return found


def in_toml(text: str) -> Places:
    """Return the places of tables and of keys that begin a line."""
    lines = LineIndex(text)
    found: dict[JsonPlace, tuple[int, int]] = {(): (1, 1)}
    table: JsonPlace = ()
    tables = Counter[JsonPlace]()
    for match in _TOML.finditer(text):
        name = "name" if match["table"] else "key"
        place = lines.at(match.start(name))
        path: JsonPlace = () if match["table"] else table
        for part in _PART.finditer(match[name]):
            path = (*path, part[0].strip("\"'"))
            found.setdefault(path, place)
            if match["table"] == "[[" and part.end() == len(match[name].rstrip()):
                tables[path] += 1
            if path in tables:
                path = (*path, tables[path] - 1)
                found.setdefault(path, place)
        table = path if match["table"] else table
    return found


def locate_values(text: str, paths: Collection[JsonPlace]) -> dict[JsonPlace, JsonSpan]:
    """Return the spans of the known ``paths``; of repeated keys the last counts."""
    spans = every_value(text, deepest=max(map(len, paths), default=0))
    return {path: span for path, span in spans if path in paths}


def repeated_keys(text: str, start: int = 0) -> Iterator[RepeatedKey]:
    """Yield every repeated key in order, until JSON ends."""
    for path, span in every_value(text, start, repeated=True):
        yield RepeatedKey(path, span.start, span.end, span.key_start)


def offset_inside(text: str, span: JsonSpan, index: int) -> int:
    """Return the offset in ``text`` of character ``index`` of the string at ``span``."""
    if text[span.start] != '"':
        return span.start
    written = (match.start() for match in _ESCAPE.finditer(text, span.start + 1, span.end - 1))
    return next(islice(written, index, None), span.end - 1)


class _Open(Struct):
    """An object or array that is not closed yet, and where it is being read."""

    start: int
    is_object: bool
    key_next: bool
    key: str | int = 0
    key_start: int = -1
    key_end: int = -1
    seen: dict[str | int, int] = field(default_factory=dict)


def every_value(
    text: str, at: int = 0, *, deepest: int = sys.maxsize, repeated: bool = False
) -> Iterator[tuple[JsonPlace, JsonSpan]]:
    """Yield path and span of every value with at most ``deepest`` keys, in order of their ends, until JSON ends.

    ``repeated``: instead those of repeated keys, with the place of the first.
    """
    stack: list[_Open] = []
    for match in _TOKEN.finditer(text, at):
        first = match[0][0]
        start, end = match.span()
        top = stack[-1] if stack else _Open(start, False, False)
        if match.lastindex or (first in ",}]" and not stack):
            return
        if first in "{[":
            stack.append(_Open(start, first == "{", first == "{"))
        elif first == "," and top.is_object:
            top.key_next = True
        elif first == ",":
            top.key += 1  # type: ignore[operator]
        elif first == '"' and top.key_next:
            top.key_next = False
            top.key = json.loads(match[0], strict=False) if "\\" in match[0] else match[0][1:-1]
            top.key_start = start
            top.key_end = end
            if repeated and (earlier := top.seen.setdefault(top.key, start)) != start:
                yield tuple([item.key for item in stack]), JsonSpan(start, end, earlier, earlier)
        elif first != ":":
            if first in "}]":
                start = stack.pop().start
            if len(stack) <= deepest and not repeated:
                inside = bool(stack) and stack[-1].is_object
                keys = (stack[-1].key_start, stack[-1].key_end) if inside else (start, end)
                yield tuple([item.key for item in stack]), JsonSpan(start, end, *keys)
