"""Shared by the readers of other models' wire formats.

A reader gets one container's text with its marks (``rails.parsing.quoted``). It returns all calls in order, not
validated, or raises ``NotInForm`` at the first offset that its format does not allow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson, read_prefix


class FormCall(NamedTuple):
    """A call in another model's form: tool, arguments, and their repairs."""

    tool: str
    arguments: dict[str, Json]
    repairs: tuple[Repair, ...] = ()


FormReader: TypeAlias = Callable[[str], Sequence[FormCall]]


class NotInForm(Exception):
    """The text is not in the format from ``offset`` on."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class Cursor:
    """A text and a position. Methods take one thing there, or raise NotInForm."""

    def __init__(self, text: str) -> None:
        self.text, self.pos = text, 0

    def take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        """Take ``pattern`` behind blanks; ``wanted`` is its name in words."""
        found = self.skip(pattern)
        if found is None:
            raise NotInForm(f"expecting {wanted}", self.pos)
        return found

    def skip(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take ``pattern`` behind blanks, if it is there."""
        found = pattern.match(self.text, SPACE.match(self.text, self.pos).end())  # type: ignore[union-attr]
        self.pos = found.end() if found else self.pos
        return found

    def json(self, end: re.Pattern[str]) -> tuple[Json, tuple[Repair, ...]]:
        """Take one JSON value: strict, or damaged up to the first ``end``."""
        start = self.pos = SPACE.match(self.text, self.pos).end()  # type: ignore[union-attr]
        found = read_prefix(self.text, start)
        if found is not None and not isinstance(found, JsonFault):
            self.pos = found[1]
            return found[0], ()
        stop = end.search(self.text, start)
        body = self.text[start : stop.start() if stop else len(self.text)]
        if len(end.findall(self.text, start)) > 1:
            raise NotInForm("the arguments are not JSON, and could end in several places", start)
        from rails.parsing.repairs import repair

        repaired = repair(body)
        if not isinstance(repaired, ParsedJson):
            raise NotInForm(f"the arguments are not JSON: {repaired.message}", start + repaired.offset)
        self.pos = start + len(body)
        return repaired.value, repaired.repairs


SPACE: Final = lazy(r"\s*")
NAME: Final = r"([A-Za-z_][\w.-]{0,99})"


def bare_name(name: str) -> str:
    """Return a tool's name without a template's namespace."""
    return re.sub(r"^(?:functions|tools|default_api|api)\.", "", name)


def object_of(value: Json, offset: int) -> dict[str, Json]:
    """Return arguments that must be an object, or an object's text."""
    if isinstance(value, str):
        found = read_prefix(value, 0)
        value = found[0] if isinstance(found, tuple) and not value[found[1] :].strip() else value
    if not isinstance(value, dict):
        raise NotInForm("the arguments must be an object", offset)
    return value


def json_calls(value: Json, offset: int, repairs: tuple[Repair, ...] = ()) -> Iterator[FormCall]:
    """Yield the calls of an object with name and arguments, or of a list."""
    for one in value if isinstance(value, list) else [value]:
        inner = one.get("function") if isinstance(one, dict) else None
        item = inner if isinstance(inner, dict) else one
        if not isinstance(item, dict):
            raise NotInForm("a call must be an object", offset)
        name = next((item[key] for key in ("name", "tool_name", "tool", "function") if key in item), None)
        keys = [key for key in ("arguments", "parameters", "args", "input") if key in item]
        if not isinstance(name, str) or len(keys) > 1:
            raise NotInForm("a call must have a name and arguments", offset)
        yield FormCall(bare_name(name), object_of(item[keys[0]] if keys else {}, offset), repairs)


def tagged_values(cursor: Cursor, opening: re.Pattern[str], closing: str, after: re.Pattern[str]) -> dict[str, Json]:
    """Take named values between tags until ``after``; group 1 of ``opening`` is the name.

    A value that holds its own tags is refused: it could end in several places.
    """
    found: dict[str, Json] = {}
    while not cursor.skip(after):
        start = cursor.pos
        name = cursor.take(opening, "a parameter")[1]
        end = cursor.text.find(closing, cursor.pos)
        value = cursor.text[cursor.pos : end]
        if end < 0 or name in found or opening.search(value):
            raise NotInForm(f"the parameter '{name[:60]}' does not end, or comes twice", start)
        found[name], cursor.pos = value, SPACE.match(cursor.text, end + len(closing)).end()  # type: ignore[union-attr]
    return found


class CallMarks(NamedTuple):
    """A form's marks: around a section and each call's JSON; ``call`` has the tool's name."""

    section: re.Pattern[str]
    call: re.Pattern[str]
    call_end: re.Pattern[str]
    end: re.Pattern[str]
    words: tuple[str, str]  # the marks of a call, for who reads what is wrong


def marked_calls(text: str, marks: CallMarks) -> Sequence[FormCall]:
    """Return the calls of a section, or of one call."""
    cursor, calls = Cursor(text), list[FormCall]()
    cursor.skip(marks.section)
    while not (calls and cursor.skip(marks.end)):
        name = cursor.take(marks.call, marks.words[0])[1]
        start = cursor.pos
        value, repairs = cursor.json(marks.call_end)
        cursor.take(marks.call_end, marks.words[1])
        calls.append(FormCall(bare_name(name), object_of(value, start), repairs))
    return calls
