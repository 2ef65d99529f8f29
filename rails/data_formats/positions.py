"""Strict JSON of a file that a person wrote, with the line of every value.

The standard parser gives no positions, keeps the last of two equal keys and accepts ``NaN``. A person
who made a mistake in a definition file needs its line, so this small parser (RFC 8259, nothing more)
remembers where each value starts. Comments and trailing commas get a message of their own.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.text import line_column
from rails.core.tool_request import Json

#: From the root to a value: object keys and array indexes.
JsonPlace = tuple[str | int, ...]

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_STRING_SLIPS: Final = {
    "Unterminated string starting at": "a string is not closed",
    "Invalid control character at": "a string has a line break, tab or other control character in it",
    "Invalid \\escape": "a backslash in a string is followed by something that JSON has no escape for",
    "Invalid \\uXXXX escape": "a \\u in a string is not followed by four hexadecimal digits",
}
_scan_string: Final[Callable[[str, int, bool], tuple[str, int]]] = json.decoder.scanstring  # type: ignore[attr-defined]


class JsonError(ValueError):
    """The text is not JSON. ``line`` and ``column`` are 1-based; ``fix`` says what to do."""

    def __init__(self, message: str, fix: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.fix, self.line, self.column = message, fix, line, column


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A parsed JSON text: its value, and the line where each value in it starts."""

    value: Json
    lines: Mapping[JsonPlace, int]

    def line(self, place: JsonPlace) -> int:
        """Return the line of ``place``, or of the nearest value around it that exists."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def parse_document(text: str) -> JsonDocument:
    """Parse one JSON value. Raises :class:`JsonError`."""
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[JsonPlace, int] = {}
        self.counted = (0, 1)

    def document(self) -> JsonDocument:
        if self.text.startswith("\ufeff"):
            self.fail("the text starts with a byte-order mark", "Save the file as UTF-8 without BOM.")
        value = self.value(())
        self.skip()
        if self.at < len(self.text):
            self.fail("there is more text after the end of the JSON value", "Keep one JSON object in the file.")
        return JsonDocument(value, self.lines)

    def value(self, place: JsonPlace) -> Json:
        self.skip()
        self.lines[place] = self.line_here()
        if len(place) > limits.JSON_DEPTH:
            self.fail(f"values are nested more than {limits.JSON_DEPTH} levels deep", "Make it flatter.")
        char = self.text[self.at : self.at + 1]
        if char == "{":
            return self.members(place)
        if char == "[":
            return self.items(place)
        if char == '"':
            return self.string()
        return self.number_or_word()

    def members(self, place: JsonPlace) -> Json:
        found: dict[str, Json] = {}
        self.at += 1
        while self.more("}", first=not found):
            if self.text[self.at : self.at + 1] != '"':
                self.fail("a key in double quotes should be here", self.syntax_fix())
            start = self.at
            key = self.string()
            if key in found:
                self.at = start
                self.fail(f"the key {key!r} is there twice", "Keep one of the two.")
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                self.fail(f"a colon should follow the key {key!r}", self.syntax_fix())
            self.at += 1
            found[key] = self.value((*place, key))
        return found

    def items(self, place: JsonPlace) -> Json:
        found: list[Json] = []
        self.at += 1
        while self.more("]", first=not found):
            found.append(self.value((*place, len(found))))
        return found

    def more(self, close: str, *, first: bool) -> bool:
        """Step over a comma or the closing bracket; say whether another element follows."""
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char == close:
            self.at += 1
            return False
        if first:
            return True
        if char != ",":
            self.fail(f"a comma or {close!r} should be here", self.syntax_fix())
        comma = self.at
        self.at += 1
        self.skip()
        if self.text[self.at : self.at + 1] == close:
            self.at = comma
            self.fail(f"there is a comma before {close!r}", "Remove the comma: JSON allows none after the last one.")
        return True

    def string(self) -> str:
        try:
            value, self.at = _scan_string(self.text, self.at + 1, True)
        except json.JSONDecodeError as error:
            self.at = error.pos
            self.fail(
                _STRING_SLIPS.get(error.msg.split(":")[0], "a string is wrong"),
                'Write line breaks as \\n, quotes as \\" and \\ as \\\\.',
            )
        return value

    def number_or_word(self) -> Json:
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            self.fail("a JSON value should be here", self.syntax_fix())
        if len(found[0]) > limits.NUMBER_CHARS:
            self.fail("a number is too long", f"At most {limits.NUMBER_CHARS} characters.")
        self.at = found.end()
        if found[0].lstrip("-").isdigit():
            return int(found[0])
        number = float(found[0])
        if number in (float("inf"), float("-inf")):
            self.fail("a number is too large", "Use a number that a 64-bit float can hold.")
        return number

    def skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def line_here(self) -> int:
        """Count lines only from where the last count ended, so that a whole file stays linear."""
        at, line = self.counted
        line += self.text.count("\n", at, self.at)
        self.counted = (self.at, line)
        return line

    def syntax_fix(self) -> str:
        rest = self.text[self.at : self.at + 2]
        if rest.startswith(("//", "/*", "#")):
            return 'JSON has no comments: remove it, or put the text under a "$comment" key.'
        if rest.startswith("'"):
            return "JSON strings need double quotes."
        if not rest:
            return "The text ends too early: close every bracket and quote."
        return f"Found {rest[0]!r}."

    def fail(self, message: str, fix: str) -> NoReturn:
        raise JsonError(message, fix, *line_column(self.text, self.at))


if TYPE_CHECKING:
    from yaml import Node

Places = Mapping[JsonPlace, tuple[int, int]]
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_HEADER: Final = re.compile(r"\s*(\[\[?)([^\]]+)\]")
_KEY: Final = re.compile(r"(\s*)((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART: Final = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
#: Values whose places are kept; a larger document has the place of what is around them.
_MOST: Final = 200_000


def place_of(places: Places, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column (1-based) of the value at ``path``, or of the nearest one around it."""
    for end in range(len(path), -1, -1):
        if found := places.get(tuple(path[:end])):
            return found
    return 1, 1


def in_json(text: str) -> Places:
    """Return the places of all values of a JSON text."""
    offsets: dict[JsonPlace, int] = {}
    stack: list[list[str | int]] = []  # for each open container: the key or index that comes next
    key_at, key = -1, ""
    for token in _TOKEN.finditer(text):
        char = token[0][0]
        if len(offsets) > _MOST:
            break
        if char in "}]":
            stack.pop()
        elif char == ":":
            stack[-1][0] = json.loads(key, strict=False)
        elif char == ",":
            key_at = -1
            if isinstance(stack[-1][0], int):
                stack[-1][0] += 1
        elif char == '"' and stack and stack[-1][0] == "" and key_at < 0 and _is_key(text, token.end()):
            key_at, key = token.start(), token[0]
        else:
            path = tuple(part for (part,) in stack)
            offsets[path] = key_at if key_at >= 0 and stack and isinstance(stack[-1][0], str) else token.start()
            key_at = -1
            if char in "{[":
                stack.append(["" if char == "{" else 0])
            elif stack and isinstance(stack[-1][0], str):
                stack[-1][0] = ""
        if char in "}]" and stack and isinstance(stack[-1][0], str):
            stack[-1][0] = ""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return {path: _place(starts, offset) for path, offset in offsets.items()}


def _is_key(text: str, end: int) -> bool:
    return text[end : end + 1] == ":" or text[end:].lstrip()[:1] == ":"


def _place(starts: list[int], offset: int) -> tuple[int, int]:
    line = bisect.bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def in_yaml(root: Node | None) -> Places:
    """Return the places of all values of a composed YAML document."""
    import yaml

    found: dict[JsonPlace, tuple[int, int]] = {}
    pending: list[tuple[JsonPlace, Node]] = [((), root)] if root is not None else []
    while pending and len(found) < _MOST:
        path, node = pending.pop()
        found.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if len(path) > 100:
            continue
        if isinstance(node, yaml.SequenceNode):
            pending += [((*path, number), item) for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    inner = (*path, key.value)
                    found[inner] = key.start_mark.line + 1, key.start_mark.column + 1
                    pending.append((inner, value))
    return found


def in_toml(text: str) -> Places:
    """Return the places of tables and of keys that begin a line of a TOML text."""
    found: dict[JsonPlace, tuple[int, int]] = {(): (1, 1)}
    table: JsonPlace = ()
    tables: dict[JsonPlace, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            found.setdefault(_parts(header[2]), (number, header.start(2) + 1))
            table = _table(header, tables)
            found.setdefault(table, (number, header.start(2) + 1))
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[2]))
            found.setdefault(path, (number, len(key[1]) + 1))
    return found


def _table(header: re.Match[str], tables: dict[JsonPlace, int]) -> JsonPlace:
    """Return the path of a table's header; of an array of tables, the last item so far counts."""
    path: JsonPlace = ()
    parts = _parts(header[2])
    for position, part in enumerate(parts):
        path = (*path, part)
        if header[1] == "[[" and position == len(parts) - 1:
            tables[path] = tables.get(path, -1) + 1
        if path in tables:
            path = (*path, tables[path])
    return path


def _parts(text: str) -> JsonPlace:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
