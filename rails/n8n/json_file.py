"""From bytes to a JSON value, the way n8n's own ``JSON.parse`` reads them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from rails.core.dataclass import dataclass, field
from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json
from rails.n8n.model import Issue, JsonPath

#: Nesting that the rules follow. n8n's own exports stay under 40; the limit keeps every walk bounded.
DEPTH: Final = 120
#: What separates one array element or member from the next, for counting nesting without parsing.
_OPENERS: Final = frozenset("[{")
_CLOSERS: Final = frozenset("]}")


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A parsed file: its text without byte-order mark, its value, and whether a key occurs twice."""

    text: str
    value: Json
    repeated_keys: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file is not JSON, and at which character."""

    text: str
    issue: Issue
    offset: int


class _Reader:
    """Collects what the standard parser drops: that an object names a key twice."""

    def __init__(self) -> None:
        self.repeated = False

    def object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.repeated = True
        return made


def _number(digits: str) -> int | float:
    # What no float can hold becomes infinite, as in JavaScript; Python's own integers have no such end.
    return int(digits) if len(digits) < 300 else float(digits)


def _constant(name: str) -> Json:
    raise ValueError(name)


def read_workflow_file(data: bytes) -> WorkflowFile | Unreadable:
    """Parse ``data``. Never raises: what cannot be read comes back as :class:`Unreadable`."""
    decoded = decode_text(data)
    if decoded is None:
        return _unreadable("", "The file is not UTF-8 text", 0)
    text, reader = decoded.text, _Reader()
    try:
        value: Json = json.loads(
            text, object_pairs_hook=reader.object, parse_int=_number, parse_constant=_constant, strict=True
        )
    except json.JSONDecodeError as error:
        return _unreadable(text, f"The file is not valid JSON: {one_line(error.msg)}", error.pos)
    except ValueError as error:
        name = str(error)
        return _unreadable(text, f"The file is not valid JSON: {one_line(name)} is not a JSON value", text.find(name))
    except RecursionError:
        return _too_deep(text)
    if text.count("[") + text.count("{") > DEPTH and _deeper_than(value, DEPTH):
        return _too_deep(text)
    return WorkflowFile(text, value, reader.repeated)


def _unreadable(text: str, message: str, offset: int) -> Unreadable:
    remedy = "Write one complete JSON object: double quotes, no comments, no trailing commas."
    return Unreadable(text, Issue("N8N001", (), message, remedy), max(offset, 0))


def _too_deep(text: str) -> Unreadable:
    issue = Issue(
        "N8N001",
        (),
        f"The JSON is nested deeper than {DEPTH} levels and was not checked",
        "Flatten the deepest values, or keep them as JSON text in a string.",
    )
    return Unreadable(text, issue, 0)


def _deeper_than(value: Json, limit: int) -> bool:
    return any(level > limit for level in _levels(value))


def _levels(value: Json) -> Iterator[int]:
    level, layer = 0, [value]
    while layer:
        level += 1
        yield level
        layer = [child for item in layer if isinstance(item, dict | list) for child in _children(item)]


def _children(item: dict[str, Json] | list[Json]) -> Iterator[Json]:
    values = item.values() if isinstance(item, dict) else item
    return (child for child in values if isinstance(child, dict | list))


_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ValuePosition:
    """Character offsets of a value and of its key; the key's are the value's where there is no key."""

    start: int
    end: int
    key_start: int
    key_end: int


@dataclass(slots=True)
class _Wanted:
    """A node of the tree of paths that were asked for."""

    children: dict[str | int, _Wanted] = field(default_factory=dict)
    path: JsonPath | None = None


@dataclass(slots=True)
class _Open:
    """An object or array that the scan is inside of."""

    wanted: _Wanted | None
    start: int
    is_object: bool
    key: str | int = 0
    key_start: int = -1
    key_end: int = -1
    seen: set[str] | None = None


class Lines:
    """Turns character offsets into 1-based lines and columns (in characters; lines end at ``\\n``)."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Return the line and column of ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def locate_values(text: str, paths: Collection[JsonPath], *, unique: bool = False) -> dict[JsonPath, ValuePosition]:
    """Return the places of ``paths`` in ``text``. A path that is not there is left out.

    Where an object has a key twice the last one counts, as for every JSON reader. ``unique`` promises that
    none has, so that the pass can end when everything is found.
    """
    return _Scan(_tree(paths), len(paths) if unique else -1).run(text)


def repeated_keys(text: str) -> list[tuple[JsonPath, ValuePosition]]:
    """Return every key that its object already had, with its path."""
    scan = _Scan(None)
    scan.run(text)
    return scan.repeated


def offset_inside(text: str, place: ValuePosition, index: int) -> int:
    """Return the offset in ``text`` of character ``index`` of the string value at ``place``."""
    if index < 0 or text[place.start : place.start + 1] != '"':
        return place.start
    offset = place.start + 1
    for match in _ESCAPE.finditer(text, offset, place.end - 1):
        if index == 0:
            return match.start()
        index -= 1
    return max(place.end - 1, offset)


def _tree(paths: Iterable[JsonPath]) -> _Wanted:
    root = _Wanted()
    for path in paths:
        here = root
        for segment in path:
            here = here.children.setdefault(segment, _Wanted())
        here.path = path
    return root


class _Scan:
    """One pass over the tokens with an explicit stack, so that no document is too deep."""

    def __init__(self, wanted: _Wanted | None, enough: int = -1) -> None:
        self._root = wanted
        self._enough = enough
        self._find_repeated = wanted is None
        self._stack: list[_Open] = []
        self._expect_key = False
        self.places: dict[JsonPath, ValuePosition] = {}
        self.repeated: list[tuple[JsonPath, ValuePosition]] = []

    def run(self, text: str) -> dict[JsonPath, ValuePosition]:
        stack = self._stack
        for match in _TOKEN.finditer(text):
            if len(self.places) == self._enough:
                break
            token = match[0]
            first = token[0]
            if first == ",":
                top = stack[-1]
                self._expect_key = top.is_object
                if type(top.key) is int:
                    top.key += 1
            elif first == ":":
                self._expect_key = False
            elif self._expect_key and first == '"':
                self._key(_unquote(token), match.start(), match.end())
            elif first in "{[":
                self._enter(match.start(), first == "{")
            elif first in "}]":
                self._leave(match.end())
            elif (wanted := self._here()) is not None:
                self._value(wanted, match.start(), match.end())
        return self.places

    def _here(self) -> _Wanted | None:
        if not self._stack:
            return self._root
        top = self._stack[-1]
        return top.wanted.children.get(top.key) if top.wanted else None

    def _enter(self, start: int, is_object: bool) -> None:
        seen: set[str] | None = set() if is_object and self._find_repeated else None
        self._stack.append(_Open(self._here(), start, is_object, seen=seen))
        self._expect_key = is_object

    def _leave(self, end: int) -> None:
        closed = self._stack.pop()
        self._expect_key = False
        self._value(closed.wanted, closed.start, end)

    def _key(self, key: str, start: int, end: int) -> None:
        top = self._stack[-1]
        top.key, top.key_start, top.key_end = key, start, end
        if top.seen is None:
            return
        if key in top.seen:
            path = tuple(item.key for item in self._stack)
            self.repeated.append((path, ValuePosition(start, end, start, end)))
        top.seen.add(key)

    def _value(self, wanted: _Wanted | None, start: int, end: int) -> None:
        if wanted is None or wanted.path is None:
            return
        top = self._stack[-1] if self._stack else None
        if top is not None and top.is_object:
            self.places[wanted.path] = ValuePosition(start, end, top.key_start, top.key_end)
        else:
            self.places[wanted.path] = ValuePosition(start, end, start, end)


def _unquote(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    import json

    return str(json.loads(token))
