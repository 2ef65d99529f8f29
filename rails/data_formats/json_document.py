"""Strict JSON of a person's file: value, lines, and mistakes in plain words.

As :mod:`rails.data_formats.strict_json`, but with lone surrogates: servers cut texts there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace, Places, RepeatedKey, in_json, place_of, repeated_keys
from rails.data_formats.strict_json import JsonFault, JsonRules, read_json

_RULES: Final = JsonRules(surrogates=True)
_STRING_OR_BRACKET: Final = lazy(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|[{}\[\]]', re.S)
_COMMA: Final = lazy(r",[ \t\n\r]*\Z")
_CLOSERS: Final = {"{": "}", "[": "]"}
#: What the standard library says of a string, and what a person should read.
_STRING_SLIPS: Final = {
    "Unterminated string starting at": "a string is not closed",
    "Invalid control character at": "a string has a line break, tab or other control character in it",
    "Invalid \\escape": "a backslash in a string is followed by something that JSON has no escape for",
    "Invalid \\uXXXX escape": "a \\u in a string is not followed by four hexadecimal digits",
}


class JsonError(ValueError):
    """The text is not JSON. ``line`` and ``column`` are 1-based; ``fix`` says what to do."""

    def __init__(self, message: str, fix: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.line = line
        self.column = column


class JsonDocument:
    """A parsed JSON text: its ``value``, and each value's line."""

    def __init__(self, value: Json, text: str) -> None:
        self.value = value
        self._text = text

    @cached_property
    def _places(self) -> Places:
        return in_json(self._text)

    def line(self, place: JsonPlace) -> int:
        """Return the line of ``place``, or of what is around it."""
        return place_of(self._places, place)[0]


def parse_document(text: str) -> JsonDocument:
    """Parse one JSON value. Raises :class:`JsonError`."""
    read = read_json(text, _RULES)
    if isinstance(read, JsonFault):
        message, fix, offset = _in_words(text, read)
        raise JsonError(message, fix, *line_column(text, offset))
    return JsonDocument(read.value, text)


def _in_words(text: str, fault: JsonFault) -> tuple[str, str, int]:
    if text.startswith("\ufeff"):
        return "the text starts with a byte-order mark", "Save the file as UTF-8 without BOM.", 0
    opened = _opened(text, fault.offset)
    if fault.code == "depth" or len(opened) > limits.JSON_DEPTH:
        return f"values are nested more than {limits.JSON_DEPTH} levels deep", "Make it flatter.", fault.offset
    if key := _repeated(text, fault):  # of two mistakes, the first
        return f"the key {key.path[-1]!r} occurs twice", "Keep one of the two.", key.start
    if fault.code == "number":
        words = f"At most {limits.NUMBER_CHARS} characters, and what a 64-bit float can hold."
        return "a number is too large, too small or too long", words, fault.offset
    comma = _COMMA.search(text, 0, fault.offset)
    if comma and opened and text[fault.offset : fault.offset + 1] == _CLOSERS[opened[-1]]:
        return (
            f"there is a comma before {_CLOSERS[opened[-1]]!r}",
            "Remove the comma: JSON allows none after the last one.",
            comma.start(),
        )
    return *_slip(text, fault, opened), fault.offset


def _repeated(text: str, fault: JsonFault) -> RepeatedKey | None:
    end = len(text) if fault.code == "duplicate_key" else fault.offset
    return next(repeated_keys(text[:end]), None)


def _opened(text: str, end: int) -> list[str]:
    opened: list[str] = []
    for match in _STRING_OR_BRACKET.finditer(text, 0, end):
        if match[0] in _CLOSERS:
            opened.append(match[0])
        elif match[0] in "]}" and opened:
            opened.pop()
    return opened


def _slip(text: str, fault: JsonFault, opened: Sequence[str]) -> tuple[str, str]:
    said = fault.message
    for start, message in _STRING_SLIPS.items():
        if said.startswith(start):
            return message, 'Write line breaks as \\n, quotes as \\" and \\ as \\\\.'
    if said == "Extra data":
        return "there is more text after the end of the JSON value", "Keep one JSON object in the file."
    fix = _syntax_fix(text[fault.offset : fault.offset + 2])
    if said.startswith("Expecting property name"):
        return "a key in double quotes should be here", fix
    if said.startswith("Expecting ',' delimiter"):
        return f"a comma or {_CLOSERS[opened[-1]] if opened else '}'!r} should be here", fix
    if said.startswith("Expecting ':' delimiter"):
        *_, key = _STRING_OR_BRACKET.finditer(text, 0, fault.offset)
        return f"a colon should follow the key {json.loads(key[0], strict=False)!r}", fix
    return "a JSON value should be here", fix


def _syntax_fix(rest: str) -> str:
    if rest.startswith(("//", "/*", "#")):
        return 'JSON has no comments: remove it, or put the text under a "$comment" key.'
    if rest.startswith("'"):
        return "JSON strings need double quotes."
    if not rest:
        return "The text ends too early: close every bracket and quote."
    return f"Found {rest[0]!r}."
