"""Strict JSON of a person's file: value, lines, and mistakes in plain words.

As :mod:`rails.data_formats.strict_json`, but with lone surrogates: servers cut texts there.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace, in_json, place_of
from rails.data_formats.strict_json import JsonFault, JsonRules, read_json

_RULES: Final = JsonRules(surrogates=True)
_COMMA: Final = lazy(r",[ \t\n\r]*\Z")
#: What to do, by a fault's code or message.
_FIXES: Final = {
    "depth": "Make it flatter.",
    "duplicate_key": "Keep one of the two.",
    "number": f"At most {limits.NUMBER_CHARS} characters, and what a 64-bit float can hold.",
    "Extra data": "Keep one JSON object in the file.",
}


class JsonError(ValueError):
    """The text is not JSON. ``line`` and ``column`` are 1-based; ``fix`` says what to do."""

    def __init__(self, message: str, fix: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.line = line
        self.column = column


class JsonDocument(Struct, frozen=True):
    """A parsed JSON text: its ``value``, and each value's line."""

    value: Json
    text: str

    def line(self, place: JsonPlace) -> int:
        """Return the line of ``place``, or of what is around it."""
        return place_of(in_json(self.text), place)[0]


def parse_document(text: str) -> JsonDocument:
    """Parse one JSON value. Raises :class:`JsonError`."""
    read = read_json(text, _RULES)
    if not isinstance(read, JsonFault):
        return JsonDocument(read.value, text)
    found = text[read.offset : read.offset + 2]
    message = read.message.removesuffix(" at").removesuffix(" starting").rstrip(": ")
    fix = _fix(read, found)
    offset = read.offset
    if found.startswith(("}", "]")) and (comma := _COMMA.search(text, 0, offset)):
        message = f"there is a comma before {found[0]!r}"
        fix = "Remove the comma: JSON allows none after the last one."
        offset = comma.start()
    raise JsonError(message, fix, *line_column(text, offset))


def _fix(fault: JsonFault, found: str) -> str:
    if said := _FIXES.get(fault.code) or _FIXES.get(fault.message):
        return said
    if fault.message.startswith(("Unterminated", "Invalid")):
        return 'Write line breaks as \\n, quotes as \\" and \\ as \\\\.'
    if found.startswith(("//", "/*", "#")):
        return 'JSON has no comments: remove it, or put the text under a "$comment" key.'
    if found.startswith("'"):
        return "JSON strings need double quotes."
    if found.startswith("\ufeff"):
        return "Save the file as UTF-8 without BOM."
    return f"Found {found[0]!r}." if found else "The text ends too early: close every bracket and quote."
