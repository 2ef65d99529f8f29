"""Unescaped quotation marks in strings: accept the only reading that the schema allows.

The text alone nearly always has several; the tool's schema (closed and required keys, enums, no key twice) often
leaves one. Every mark that could end a string is tried, up to the second reading that fits. ``doubtful`` can still
refuse the only one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Final

from msgspec import Struct

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson
from rails.json_schema import quick_check
from rails.json_schema.allowed import allowed_types
from rails.parsing.call_formats.json_calls import Call, read_value
from rails.parsing.lenient_tokens import ALL_ESCAPES, CONFIDENCE, Doubt, DoubtfulText, Needs, Stop, decode_string
from rails.parsing.readings import JOINED, Undecided, language_of_call, plain, settled
from rails.parsing.repairs import repair
from rails.parsing.text_values import coerced
from rails.parsing.values import ToolSchemas

#: Full-width marks that stand for the block's own.
_WIDE: Final = str.maketrans("：，、｛｝［］", ":,,{}[]")
_BRACE: Final = lazy(r"[{}]")
_JOINED: Final = lazy(JOINED)
#: What stands before an opening mark: nothing, a blank or an operator, then perhaps a letter as in f"…".
_BEFORE_OPENING: Final = lazy(r"(?:\A|[^\w)\]}\"'])[fFrRbBuU]{0,2}\Z")


def marks(text: str, mark: str) -> list[int]:
    """Return the places of unescaped marks of one kind."""
    return [m.start() for m in re.finditer(rf"\\.|{mark}", text, re.S) if m[0] == mark]


def doubtful(raw: str, mark: str, keys: Set[str], *, item: bool) -> bool:
    """Return whether ``raw``, read as the inside of a string, may have been meant otherwise.

    ``keys``: the block's possible keys; ``item``: an array's item.
    """
    raw = raw if raw.isascii() else raw.translate(_WIDE)  # a full-width mark may be the block's as well as a plain one
    inner = marks(raw, mark)
    if item and re.search(r",\s*\n", raw):
        return True
    if not inner:
        return False
    return (
        re.search(rf"{mark}\s*{mark}[^{mark}\n]{{1,100}}{mark}\s*:", raw) is not None  # two strings in a row
        or (item and "\n" in raw)
        or _swallows(raw, mark, keys)
    )


def _delimits(raw: str, mark: str, inner: list[int]) -> bool:
    runs = re.findall(f"{mark}+", raw)
    doubled = all(len(run) % 2 == 0 for run in runs)
    long = [run for run in runs if len(run) >= 3]
    tripled = raw.endswith(mark * 2) or len(long) % 2 == 1 or (raw.startswith(mark * 2) and not long)
    edges = raw.strip()
    lost = re.search(rf"(?:\A|\n|\\n)(?:\\t|[ \t])*{mark}{mark}(?!{mark})", raw)
    twice = len(inner) == 2 and edges.startswith(mark) and edges.endswith(mark)
    return doubled or tripled or twice or lost is not None


def partnerless(raw: str, mark: str) -> bool:
    """Return whether a mark, not an inch mark, lacks a partner, or has a wrong one at an edge.

    Only a language can settle it.
    """
    inner, edges = marks(raw, mark), raw.strip()
    if not inner or _delimits(raw, mark, inner) or _separates(raw, inner):
        return bool(inner)
    if len(inner) % 2 == 1:
        at_edge = edges.startswith(mark) or edges.endswith(mark)
        return at_edge or not _pairs(raw, inner) or _near_structure(raw, mark)
    first_pair = edges.startswith(mark) and (_opens(raw, inner[1]) or _is_inch(raw, inner[1]))
    return first_pair or (edges.endswith(mark) and not _opens(raw, inner[-2]))


def _pairs(raw: str, inner: list[int]) -> bool:
    within = False
    for at in inner:
        if within:
            within = False
        elif _opens(raw, at):
            within = True
        elif not _is_inch(raw, at):
            return False
    return not within


def _is_inch(raw: str, at: int) -> bool:
    return raw[at - 1 : at].isdigit() and not raw[at + 1 : at + 2].isalnum()


def _opens(raw: str, at: int) -> bool:
    return _BEFORE_OPENING.search(raw[max(at - 3, 0) : at]) is not None


def _near_structure(raw: str, mark: str) -> bool:
    return re.search(rf"[,:{{}}\[\]]\s*{mark}|{mark}\s*[,:{{}}\[\]]", raw) is not None


def _joins(raw: str, mark: str) -> bool:
    inner = marks(raw, mark)
    if not inner:
        return False
    between = raw[inner[0] + 1 : inner[1] if len(inner) > 1 else len(raw)]
    joined = _JOINED.fullmatch(between) and (between.strip() != between or not _opens(raw, inner[0]))
    return between.lstrip()[:1] == "+" or bool(joined)


def _separates(raw: str, inner: list[int]) -> bool:
    return raw[inner[0] + 1 :].lstrip()[:1] in (",", ":") and not _opens(raw, inner[0])


def _swallows(raw: str, mark: str, keys: Set[str]) -> bool:
    found = [*re.finditer(rf"(?:{mark}([\w$-]{{1,100}})|\b([\w$-]{{1,100}}){mark})[^\n]{{0,2}}?\s*:", raw)]
    found += re.finditer(rf"[,{{]\s*{mark}([\w$-]{{1,100}})(){mark}", raw)
    return any((key[1] in keys or key[2] in keys) and not _enclosed(raw, key.start()) for key in found)


def _enclosed(raw: str, at: int) -> bool:
    depth = around = 0
    for brace in _BRACE.finditer(raw):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return False
        around = depth if brace.start() <= at else around
    return depth == 0 and around > 0


#: Bounds that keep the search short: characters, quotation marks, steps, complete readings looked at.
_CHARS: Final = 40_000
_QUOTES: Final = 1_500
_STEPS: Final = 4_000
_READINGS: Final = 32

_NAMED: Final = lazy(r"""["'](tool|tool_name|name)["']\s*:\s*["']([\w.-]{1,100})["']""")
_SPACE: Final = lazy(r"\s*")
#: A quotation between apostrophes, with the closing one if its line has it.
_APOSTROPHES: Final = lazy(r"(?:^|[^\w)\]}\"'])[bBfFrRuU]{0,2}'(?=[^\s']|\Z)[^']*('?)")
#: A back-tick of inline code; three of them are a fence.
_TICK: Final = lazy(r"(?<!`)`(?!`)")
_WRITTEN_LINE: Final = lazy(r"(?<!\\)(?:\\\\)*\\[nrt]")
_KEY: Final = lazy(r"""(["'])([^"'\\\n]{1,100})\1\s*:\s*""")
#: A text that holds JSON.
_HOLDS_JSON: Final = lazy(r"[\"']\s*[{\[]")
#: The end of an object whose last value is a string, and the next object with its first key.
_NEXT_ITEM: Final = lazy(r"[\"']\s*\}\s*,\s*\{\s*[\"']([\w$-]{1,100})[\"']\s*:")
_SCALAR: Final = lazy(r"-?\d[\d.eE+-]*|true|false|null|True|False|None")
_FRAME_KEYS: Final = ("arguments", "args", "params", "parameters")
_OWN_KEYS: Final = frozenset({"tool", "tool_name", "explanation", *_FRAME_KEYS})
#: Begins what stands for a doubtful text while the rest of its block is read.
_PLACE: Final = "\uf8f4"
_TEXT: Final[Mapping[str, Json]] = {"type": "string"}


class _Frame(Struct, frozen=True):
    schema: quick_check.SchemaValue
    seen: frozenset[str] | None

    def is_whole(self) -> bool:
        return self.seen is None or self.seen.issuperset(quick_check.required(self.schema))


_Stack = tuple[_Frame, ...]
_State = tuple[int, tuple[tuple[int, frozenset[str] | None], ...]]
#: Where each string begins and ends, and whether it is an item of an array.
_Ends = tuple[tuple[int, int, bool], ...]


_TORN: Final = JsonFault("inner_quotes", "a quotation mark inside a string is not escaped")


def settle_quotes(text: str, tools: ToolSchemas, *, sure: bool = True) -> ParsedJson | JsonFault:
    """Return the one reading of ``text`` that fits its tool's schema, or why there is none.

    ``sure``: quotation marks are the fault; if not, the target's language must vouch for the text.
    """
    short = len(text) <= _CHARS and text.count('"') + text.count("'") <= _QUOTES
    named, start = _NAMED.search(text) if short else None, _SPACE.match(text)
    if not named or named[2] not in tools or not start or text[start.end() : start.end() + 1] != "{":
        return _TORN
    keys = quick_check.names(tools[named[2]]) | _OWN_KEYS
    search = _Search(text, _root(named[2], tools), keys)
    found: list[tuple[ParsedJson, _Ends]] = []
    for ends in search.readings(start.end()):
        reading = _rewritten(text, ends, keys)
        if isinstance(reading, ParsedJson) and _fits(reading.value, tools):
            found.append((reading, ends))
            if len(found) > 1:
                return JsonFault(
                    "ambiguous", "a quotation mark inside a string is not escaped, and there are several readings"
                )
    if search.exhausted or not found:
        return _TORN
    reading, ends = found[0]
    if any(doubtful(text[begin + 1 : end], text[begin], keys, item=item) for begin, end, item in ends):
        return _TORN
    sure = sure and not any(_joins(text[begin + 1 : end], text[begin]) for begin, end, _ in ends)
    language = _language(reading.value, tools)

    def needs(raw: str, mark: str) -> Needs:
        if not sure or partnerless(raw, mark):
            return "vouch"
        return "judge" if not language and _unsure(raw, mark) else ""

    at = next((begin for begin, end, _ in ends if marks(text[begin + 1 : end], text[begin])), -1)
    chosen = _rewritten(text, ends, keys, needs)
    if at < 0 or isinstance(chosen, JsonFault):
        return _TORN
    try:
        value = settled(chosen.value, layout=True)
    except Undecided:
        return _TORN
    note = Repair("inner_quotes", at, text[at : at + 40], "", CONFIDENCE["inner_quotes"])
    return ParsedJson(value, (note, *(one for one in reading.repairs if one.name != "inner_quotes")))


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


def _language(value: Json, tools: ToolSchemas) -> str:
    read = read_value(value, tools)
    return language_of_call(read.parameters) if isinstance(read, Call) else ""


def _unsure(raw: str, mark: str) -> bool:
    if not _WRITTEN_LINE.search(raw):
        return False
    lines = _WRITTEN_LINE.split(raw)[:-1]
    return "\n" in raw or any(
        len(marks(line, mark)) % 2 or "" in _APOSTROPHES.findall(line) or len(_TICK.findall(line)) % 2 for line in lines
    )


def _rewritten(
    text: str, ends: _Ends, keys: frozenset[str], needs: Callable[[str, str], Needs] | None = None
) -> ParsedJson | JsonFault:
    parts, pos, doubtful = [], 0, dict[str, DoubtfulText]()
    for begin, end, _ in ends:
        raw, mark = text[begin + 1 : end], text[begin]
        doubt: Doubt = "torn" if marks(raw, mark) else "raw" if "\n" in raw else ""
        try:
            decoded = decode_string(raw, mark, 0, ALL_ESCAPES, doubt)[0]
        except Stop as stop:
            return stop.fault
        if needs and ("\\" in raw or doubt == "torn"):
            name = f"{_PLACE}{len(doubtful)}"
            doubtful[name] = one = DoubtfulText.of(decoded, raw, mark, doubt, begin)
            one.needs = needs(raw, mark) if doubt == "torn" else ""
            decoded = name
        parts += [text[pos:begin], json.dumps(plain(decoded), ensure_ascii=False)]
        pos = end + 1
    found = repair("".join(parts) + text[pos:], known=lambda: keys)
    if not doubtful or isinstance(found, JsonFault):
        return found
    return found._replace(value=_put_back(found.value, doubtful)) if _PLACE not in text else JsonFault("syntax", "")


def _put_back(value: Json, texts: Mapping[str, DoubtfulText]) -> Json:
    if isinstance(value, dict):
        return {key: _put_back(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, texts) for item in value]
    return texts.get(value, value) if isinstance(value, str) else value


def _state(pos: int, stack: _Stack) -> _State:
    """Return all that the readings of the rest depend on; schemas live as long as the search."""
    return pos, tuple((id(frame.schema), frame.seen) for frame in stack)


class _Search:
    def __init__(self, text: str, root: Mapping[str, Json], keys: Set[str]) -> None:
        self.text, self.root, self.keys = text, root, keys
        self.dead: set[_State] = set()
        self.steps = 0
        self.exhausted = False
        self.marks = {mark: marks(text, mark) for mark in "\"'"}

    def readings(self, start: int) -> Iterator[_Ends]:
        first = self.walk(start + 1, (_Frame(self.root, frozenset()),), first=True)
        if first is None or isinstance(first, bool):
            return
        waiting: list[tuple[Iterator[int], int, _Stack, _Ends]] = []
        waiting.append((self.ends(first[0], first[1]), first[0], first[2], ()))
        seen = 0
        alive = [False]
        while waiting:
            ends, begin, stack, chosen = waiting[-1]
            end = next(ends, -1)
            if end < 0:
                waiting.pop()
                if not alive.pop():
                    self.dead.add(_state(begin, stack))
                elif alive:
                    alive[-1] = True
                continue
            self.steps += 1
            if self.steps > _STEPS or seen > _READINGS:
                self.exhausted = True
                return
            after = self.walk(end + 1, stack)
            if after is True:
                seen += 1
                alive[-1] = True
                yield (*chosen, (begin, end, stack[-1].seen is None))
            elif isinstance(after, tuple) and _state(after[0], after[2]) not in self.dead:
                waiting.append(
                    (self.ends(after[0], after[1]), after[0], after[2], (*chosen, (begin, end, stack[-1].seen is None)))
                )
                alive.append(False)

    def ends(self, begin: int, schema: quick_check.SchemaValue) -> Iterator[int]:
        """Yield where the string could end; in a list, no further than its item, if its braces are its own."""
        text = self.text
        choices = schema.get("enum") if isinstance(schema, Mapping) else None
        for end in self.marks[text[begin]]:
            if end <= begin:
                continue
            space = _SPACE.match(text, end + 1)
            after = space.end() if space else end + 1
            if text[after : after + 1] not in (",", "}", "]"):
                continue
            if not isinstance(choices, list) or text[begin + 1 : end] in choices:
                yield end
            item = _NEXT_ITEM.match(text, end)
            if item and item[1] in self.keys and text.count("{", begin, end) <= text.count("}", begin, end):
                return

    def walk(
        self, pos: int, stack: _Stack, *, first: bool = False
    ) -> tuple[int, quick_check.SchemaValue, _Stack] | bool | None:
        """Go on to the next string value. True at a proper end of the text, None at a dead end.

        ``first``: a container was just opened, not a value ended.
        """
        text = self.text
        while True:
            pos = _SPACE.match(text, pos).end()  # type: ignore[union-attr]
            char = text[pos : pos + 1]
            top = stack[-1]
            if char in ("}", "]"):
                if (char == "}") != (top.seen is not None) or not top.is_whole():
                    return None
                pos, stack, first = pos + 1, stack[:-1], False
                if not stack:
                    return True if not text[pos:].strip(" \t\r\n}]") else None
                continue
            if not first:
                if char != ",":
                    return None
                pos = _SPACE.match(text, pos + 1).end()  # type: ignore[union-attr]
                if text[pos : pos + 1] in ("}", "]"):
                    continue
            step = self._value(pos, stack)
            if step is None or step[3]:
                return None if step is None else (step[0], step[1], step[2])
            pos, stack, first = step[0], step[2], step[4]

    def _value(self, pos: int, stack: _Stack) -> tuple[int, quick_check.SchemaValue, _Stack, bool, bool] | None:
        """Read a due key and its value's start: (pos, schema, stack, is a string, opened)."""
        text, top = self.text, stack[-1]
        if top.seen is not None:
            key = _KEY.match(text, pos)
            names = quick_check.properties(top.schema)
            if not key or key[2] in top.seen or (names and key[2] not in names):
                return None
            stack = (*stack[:-1], _Frame(top.schema, top.seen | {key[2]}))
            schema: quick_check.SchemaValue = names.get(key[2])
            pos = key.end()
        else:
            schema = top.schema.get("items") if isinstance(top.schema, Mapping) else None
        char = text[pos : pos + 1]
        types = allowed_types(schema)
        if char in ("{", "["):
            frame = _Frame(schema, frozenset() if char == "{" else None)
            return (pos + 1, schema, (*stack, frame), False, True) if len(stack) < 16 else None
        if char in ('"', "'"):
            holds_json = _HOLDS_JSON.match(text, pos) and types & {"object", "array"}
            return (pos, schema, stack, True, False) if "string" in types or holds_json else None
        scalar = _SCALAR.match(text, pos)
        return (scalar.end(), schema, stack, False, False) if scalar else None
