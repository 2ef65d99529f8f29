"""Unescaped quotation marks in strings: accept the only reading that the schema allows.

The text alone nearly always has several; the tool's schema (closed and required keys, enums, no key twice) often
leaves one. Every mark that could end a string is tried, up to the second reading that fits. ``doubtful`` can still
refuse the only one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from itertools import islice
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson
from rails.json_schema import quick_check
from rails.parsing.call_formats.json_calls import Call, read_value
from rails.parsing.lenient_tokens import ALL_ESCAPES, CONFIDENCE, Doubt, DoubtfulText, Stop, decode_string
from rails.parsing.readings import JOINED, Undecided, plain, settled
from rails.parsing.repairs import repair
from rails.parsing.text_values import coerced
from rails.parsing.values import ToolSchemas

#: Full-width marks that stand for the block's own.
_WIDE: Final = str.maketrans("：，、｛｝［］", ":,,{}[]")
_JOINED: Final = lazy(JOINED)
_BRACED: Final = lazy(r"\{[^{}]*\}")
#: The end of an object whose last value is a string, and the next object with its first key.
_NEXT_ITEM: Final = lazy(r"[\"']\s*\}\s*,\s*\{\s*[\"']([\w$-]{1,100})[\"']\s*:")
#: An inch mark behind its digit.
_INCH: Final = lazy(r"\d[\"'](?!\w)")
#: What stands before an opening mark: nothing, a blank or an operator, then perhaps a letter as in f"…".
_BEFORE_OPENING: Final = lazy(r"(?:\A|[^\w)\]}\"'])[fFrRbBuU]{0,2}\Z")


def marks(text: str, mark: str) -> list[int]:
    """Return the places of unescaped marks of one kind."""
    return [m.start() for m in re.finditer(rf"\\.|{mark}", text, re.S) if m[0] == mark]


def swallows(raw: str, mark: str, keys: Set[str]) -> bool:
    """Return whether ``raw``, read as the inside of a string, may hold the end of one and the next of its ``keys``.

    Not where braces enclose it: what is in them is a text of its own.
    """
    raw = raw.translate(_WIDE)  # a full-width mark may be the block's as well as a plain one
    named = "|".join(map(re.escape, keys))
    beside = rf"(?:{mark}(?:{named})\b|\b(?:{named}){mark})[^\n]{{0,2}}?\s*:"
    while (outside := _BRACED.sub("_", raw)) != raw:
        raw = outside
    return re.search(beside, raw) is not None


def partnerless(raw: str, mark: str) -> bool:
    """Return whether a mark of ``raw``, not an inch mark, lacks a partner, is doubled, or has a wrong one at an edge.

    Only a language can settle it.
    """
    inner, edges = marks(raw, mark), raw.strip()
    runs = [len(run) for run in re.findall(f"{mark}+", raw)]
    starts, ends = edges.startswith(mark), edges.endswith(mark)
    doubled = all(run % 2 == 0 for run in runs) or sum(run >= 3 for run in runs) % 2 == 1
    doubled = doubled or raw.endswith(mark * 2) or (raw.startswith(mark) and runs[0] == 2)
    if doubled or (starts and ends and len(inner) == 2) or raw[inner[0] + 1 :].lstrip()[:1] in (",", ":"):
        return True
    if len(inner) % 2 == 1:
        return starts or ends or not _pairs(raw, inner)
    first_is_wrong = starts and (_opens(raw, inner[1]) or _is_inch(raw, inner[1]))
    return first_is_wrong or (ends and not _opens(raw, inner[-2]))


def _pairs(raw: str, inner: list[int]) -> bool:
    within = False
    for at in inner:
        opens = _opens(raw, at)
        if not (within or opens or _is_inch(raw, at)):
            return False
        within = opens and not within
    return not within


def _is_inch(raw: str, at: int) -> bool:
    return _INCH.match(raw, at - 1) is not None


def _opens(raw: str, at: int) -> bool:
    return _BEFORE_OPENING.search(raw[max(at - 3, 0) : at]) is not None


def _joins(raw: str, mark: str) -> bool:
    """Return whether what is between the first two marks joins strings in some language."""
    inner = [*marks(raw, mark), len(raw)]
    return _JOINED.fullmatch(raw, inner[0] + 1, inner[1]) is not None


#: Bounds that keep the search short: characters, quotation marks, steps, complete readings looked at.
_CHARS: Final = 40_000
_QUOTES: Final = 1_500
_STEPS: Final = 4_000
_READINGS: Final = 32

_NAMED: Final = lazy(r"""["'](tool|tool_name|name)["']\s*:\s*["']([\w.-]{1,100})["']""")
_SPACE: Final = lazy(r"\s*")
_OBJECT: Final = lazy(r"\s*(?=\{)")
#: A quotation between apostrophes, with the closing one if its line has it.
_APOSTROPHES: Final = lazy(r"(?:^|[^\w)\]}\"'])[bBfFrRuU]{0,2}'(?=[^\s']|\Z)[^']*('?)")
#: A back-tick of inline code; three of them are a fence.
_TICK: Final = lazy(r"(?<!`)`(?!`)")
_WRITTEN_LINE: Final = lazy(r"(?<!\\)(?:\\\\)*\\[nrt]")
_KEY: Final = lazy(r"""(["'])([^"'\\\n]{1,100})\1\s*:\s*""")
_SCALAR: Final = lazy(r"-?\d[\d.eE+-]*|true|false|null|True|False|None")
_FRAME_KEYS: Final = ("arguments", "args", "params", "parameters")
_OWN_KEYS: Final = frozenset({"tool", "tool_name", "explanation", *_FRAME_KEYS})
_TEXT: Final[Mapping[str, Json]] = {"type": "string"}


#: Where each string begins and ends.
_Ends = tuple[tuple[int, int], ...]


_TORN: Final = JsonFault("inner_quotes", "a quotation mark inside a string is not escaped")


def settle_quotes(text: str, tools: ToolSchemas, *, sure: bool = True) -> ParsedJson | JsonFault:
    """Return the one reading of ``text`` that fits its tool's schema, or why there is none.

    ``sure``: quotation marks are the fault; if not, the target's language must vouch for the text.
    """
    short = len(text) <= _CHARS and text.count('"') + text.count("'") <= _QUOTES
    named, start = _NAMED.search(text) if short else None, _OBJECT.match(text)
    if not named or named[2] not in tools or not start:
        return _TORN
    keys = quick_check.names(tools[named[2]]) | _OWN_KEYS
    found: list[tuple[list[DoubtfulText], ParsedJson]] = []
    try:
        for ends in islice(_Search(text, keys).readings(start.end(), _root(named[2], tools)), _READINGS):
            reading = _reading(text, ends, keys)
            if reading is not None and _fits(reading[1].value, tools):
                found.append(reading)
            if len(found) > 1:
                return JsonFault(
                    "ambiguous", "a quotation mark inside a string is not escaped, and there are several readings"
                )
    except RecursionError:
        return _TORN
    strings, read = found[0] if found else ([], ParsedJson(None))
    torn = [one for one in strings if one.doubt == "torn"]
    if not torn or any(swallows(one.raw, one.mark, keys) for one in strings):
        return _TORN
    sure = sure and not any(_joins(one.raw, one.mark) for one in torn)
    for one in torn:
        one.needs_voucher = not sure or partnerless(one.raw, one.mark) or _unsure(one.raw, one.mark)
    try:
        value = settled(read.value, {one: one for one in strings if one.doubt == "torn" or "\\" in one.raw})
    except Undecided:
        return _TORN
    at = torn[0].offset
    note = Repair("inner_quotes", at, text[at : at + 40], "", CONFIDENCE["inner_quotes"])
    return ParsedJson(value, (note, *read.repairs))


def _root(name: str, tools: ToolSchemas) -> Mapping[str, Json]:
    schema = dict(tools[name])
    exact: Json = {"enum": [name]}
    members: dict[str, Json] = {**quick_check.properties(schema), "tool": exact, "tool_name": exact}
    members.update({"explanation": dict(_TEXT), "id": dict(_TEXT), "type": {"enum": ["tool_request"]}})
    members.update({key: schema for key in _FRAME_KEYS if key not in members})
    return {"type": "object", "properties": members}


def _fits(value: Json, tools: ToolSchemas) -> bool:
    read = read_value(value, tools)
    if not isinstance(read, Call) or read.tool not in tools:
        return False
    return quick_check.fits(tools[read.tool], coerced(dict(read.parameters), tools[read.tool]).value)


def _unsure(raw: str, mark: str) -> bool:
    lines = _WRITTEN_LINE.split(raw)[:-1]
    return ("\n" in raw and lines != []) or any(
        len(marks(line, mark)) % 2 or "" in _APOSTROPHES.findall(line) or len(_TICK.findall(line)) % 2 for line in lines
    )


def _reading(text: str, ends: _Ends, keys: frozenset[str]) -> tuple[list[DoubtfulText], ParsedJson] | None:
    """Return the strings of a reading, and its value, if it has one."""
    strings, parts, pos = list[DoubtfulText](), list[str](), 0
    for begin, end in ends:
        raw, mark = text[begin + 1 : end], text[begin]
        doubt: Doubt = "torn" if marks(raw, mark) else "raw" if "\n" in raw else ""
        try:
            decoded = plain(decode_string(raw, mark, 0, ALL_ESCAPES, doubt)[0])
        except Stop:
            return None
        strings.append(DoubtfulText.of(decoded, raw, mark, doubt, begin))
        parts += [text[pos:begin], json.dumps(decoded, ensure_ascii=False)]
        pos = end + 1
    found = repair("".join(parts) + text[pos:], known=lambda: keys)
    return (strings, found) if isinstance(found, ParsedJson) else None


class _Search:
    """Finds the ends of all strings, wherever an unescaped mark may be one, that fit the schema."""

    def __init__(self, text: str, keys: Set[str]) -> None:
        self.text, self.keys = text, keys
        self.steps = 0
        self.dead: set[tuple[int, int, frozenset[str] | None]] = set()
        self.marks = {mark: marks(text, mark) for mark in "\"'"}

    def readings(self, start: int, root: Mapping[str, Json]) -> Iterator[_Ends]:
        """Yield the ends of each reading. Raises RecursionError for too many values or steps."""
        for end, strings in self.value(start, root):
            if not self.text[end:].strip(" \t\r\n}]"):
                yield strings

    def value(self, pos: int, schema: quick_check.SchemaValue) -> Iterator[tuple[int, _Ends]]:
        pos = self._behind_space(pos)
        char = self.text[pos : pos + 1]
        if char == "{":
            yield from self.parts(pos + 1, schema, frozenset())
        elif char == "[":
            yield from self.parts(pos + 1, schema.get("items") if isinstance(schema, Mapping) else None, None)
        elif char in ('"', "'"):
            yield from ((end + 1, ((pos, end),)) for end in self._string_ends(pos, schema))
        elif scalar := _SCALAR.match(self.text, pos):
            yield scalar.end(), ()

    def parts(
        self, pos: int, schema: quick_check.SchemaValue, seen: frozenset[str] | None
    ) -> Iterator[tuple[int, _Ends]]:
        """Yield the ends of what is left of an object, behind members of the names ``seen``, or of a list (None)."""
        begin = pos = self._behind_space(pos)
        closer = "]" if seen is None else "}"
        if self.text.startswith(closer, pos):
            if seen is None or seen.issuperset(quick_check.required(schema)):
                yield pos + 1, ()
            return
        state, inner = (pos, id(schema), seen), schema
        if state in self.dead:
            return
        if seen is not None:
            key, names = _KEY.match(self.text, pos), quick_check.properties(schema)
            if not key or key[2] in seen or (names and key[2] not in names):
                return
            begin, inner, seen = key.end(), names.get(key[2]), seen | {key[2]}
        self.dead.add(state)
        for end, strings in self.value(begin, inner):
            if closer == "]" and self.text[begin] in "\"'" and "\n" in self.text[begin:end]:
                continue  # it may hold the next item
            rest = self._next(end, closer)
            for stop, more in self.parts(rest, schema, seen) if rest >= 0 else ():
                self.dead.discard(state)
                yield stop, strings + more

    def _behind_space(self, pos: int) -> int:
        return _SPACE.match(self.text, pos).end()  # type: ignore[union-attr]

    def _next(self, pos: int, closer: str) -> int:
        self.steps += 1
        if self.steps > _STEPS:
            raise RecursionError
        pos = self._behind_space(pos)
        mark = self.text[pos : pos + 1]
        return pos + 1 if mark == "," else pos if mark == closer else -1

    def _string_ends(self, begin: int, schema: quick_check.SchemaValue) -> Iterator[int]:
        """Yield where the string could end; in a list, no further than its item, if its braces are its own."""
        choices = schema.get("enum") if isinstance(schema, Mapping) else None
        for end in filter(begin.__lt__, self.marks[self.text[begin]]):
            after = self._behind_space(end + 1)
            is_choice = not isinstance(choices, list) or self.text[begin + 1 : end] in choices
            if self.text[after : after + 1] in (",", "}", "]") and is_choice:
                yield end
            item = _NEXT_ITEM.match(self.text, end)
            if item and item[1] in self.keys and self.text.count("{", begin, end) <= self.text.count("}", begin, end):
                return
