"""The S2 dialect: ``<tool name="fast_editor">`` or ``<fast_editor>`` around one element per parameter.

It is not XML: values are raw text, written by a model that escapes nothing. The rules:

    a value begins after ``<name>`` and ends at a ``</name>`` that is followed by the next parameter or the end
    of the tool; a closing tag elsewhere is content
    a value that begins with a line end loses it and the last one; otherwise it is kept as it is, untrimmed. A path or
    one of a few words on a line of its own loses the layout around it
    text-typed values are never decoded: ``&lt;`` in a file's content stays ``&lt;``
    array- and object-typed values are JSON (plain, fenced, entity-escaped; closing tags inside its strings are
    content) or child elements, whose texts have their entities decoded
    number- and boolean-typed values are read by the schema
    a value that is one CDATA section is what is inside it; <name/> is an empty value, and <tool name="…"/> a whole call
    a value whose own closing tag could end it in more than one place is refused
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rails.core import limits
from rails.core.dataclass import dataclass, replace
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS, Json, Repair
from rails.data_formats.entities import entities
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict, read_container
from rails.json_schema import quick_check
from rails.parsing.call_formats.dialects import Call
from rails.parsing.results import ToolSchemas
from rails.parsing.text_values import coerced, json_text

_ATTRIBUTE: Final = (
    r"(?:[ \t]+(?!name\b)[A-Za-z_][\w:.-]{0,40}[ \t]*=[ \t]*(?:\"[^\"<>\n]{0,200}\"|'[^'<>\n]{0,200}')){0,8}"
)
_OPENER: Final = lazy(
    rf"[ \t\ufeff]*(?:<action>[ \t]*)?<(?:tool{_ATTRIBUTE}[ \t]+name[ \t]*=[ \t]*"
    rf"(?:\"([^\"<>\n]{{1,100}})\"|'([^'<>\n]{{1,100}})'|([\w.-]{{1,100}})){_ATTRIBUTE}|([A-Za-z_][\w.-]{{0,99}}))"
    r"[ \t]*(/(?=>[ \t]*(?:</action>)?\s*\Z))?>"
)
ELEMENT: Final = lazy(r"<([A-Za-z_][\w.-]{0,99})>")
_SPACE: Final = lazy(r"\s*")
_EMPTY: Final = lazy(r"<([A-Za-z_][\w.-]{0,99})[ \t]*/>")


@dataclass(slots=True)
class XmlValue:
    """One parameter: its name, and where its raw text starts and ends in the block."""

    name: str
    start: int
    end: int = -1


def opener(line: str, tools: ToolSchemas) -> tuple[str, str, int] | None:
    """Return (tool name, element name, where the inside starts) if an XML call begins on this line."""
    found = _OPENER.match(line)
    if not found:
        return None
    named = found[1] or found[2] or found[3]
    if named:
        return named, "tool", found.end()
    return (found[4], found[4], found.end()) if found[4] in tools else None


class XmlFollower:
    """Follows an XML call, each character once, to where it ends.

    ``end`` is the offset behind the closing tag (-1: not yet). ``prose`` is set when it turns out that
    this was a mention of the tag in a sentence and no call.
    """

    def __init__(self, tool: str, element: str, schema: quick_check.SchemaValue) -> None:
        self.tool, self.element = tool, element
        self.names = quick_check.properties(schema)
        self.values: list[XmlValue] = []
        self.end = -1
        self.prose = False
        self.junk = ""
        self.stranger = ""  # the first element behind a value that is no parameter
        self.beside = -1  # offset of the first text behind a value
        self._fallback: tuple[XmlValue, int] | None = None
        self._fallbacks = 0
        self.closer = f"</{element}>"
        self._open: XmlValue | None = None
        self._text, self._start = "", 0
        self._content_to = -1  # where the strict JSON of a value ends; its strings may hold closing tags
        self._inner = 0
        self._waiting = -1  # offset behind a closing tag whose continuation is not seen yet

    def follow(self, text: str, start: int, pos: int) -> None:
        """Follow the call that begins at ``start`` of ``text``, from ``pos``, behind its opening tag."""
        self._text, self._start = text, start
        if text.startswith("/>", pos - 2):
            self.end = pos - start
        while pos < len(text) and self.end < 0 and not self.prose:
            stop = text.find("\n", pos) + 1 or len(text)
            self._feed(text[pos:stop], pos - start)
            pos = stop
        if self.end < 0 and not self.prose and self._fallback is not None:
            value, self.end = self._fallback
            self.values.append(value)

    def _feed(self, line: str, offset: int) -> None:
        """Follow one more piece of text, which starts at ``offset`` in the block and ends at a line end."""
        pos = 0
        while pos < len(line) and self.end < 0 and not self.prose:
            if self._waiting >= 0:
                pos = self._continue(line, pos, offset)
            elif self._open is None:
                pos = self._between(line, pos, offset)
            else:
                pos = self._in_value(self._open, line, pos, offset)

    def _between(self, line: str, pos: int, offset: int) -> int:
        rest = line[pos:]
        blank = len(rest) - len(rest.lstrip())
        pos += blank
        if pos >= len(line):
            return pos
        if line.startswith(self.closer, pos):
            self.end = offset + pos + len(self.closer)
            return len(line)
        element = ELEMENT.match(line, pos)
        if element:
            self._begin(element[1], offset + element.end())
            return element.end()
        empty = _EMPTY.match(line, pos)
        if empty and empty[1] in self._known():
            self.values.append(XmlValue(empty[1], offset + empty.end(), offset + empty.end()))
            return empty.end()
        if self.element != "tool":
            self.prose = True
            return len(line)
        found = line.find("<", pos + 1)
        stop = len(line) if found < 0 else found
        self.junk = self.junk or line[pos:stop].strip()
        return stop

    def _begin(self, name: str, start: int) -> None:
        self._open = XmlValue(name, start)
        types = quick_check.types_of(self.names.get(name))
        self._inner, self._content_to = 0, -1
        if types and "string" not in types and types & {"array", "object"}:
            begin = _SPACE.match(self._text, self._start + start).end()  # type: ignore[union-attr]
            value = read_container(self._text, begin, limits.JSON_DEPTH)
            self._content_to = value[1] - self._start if value is not None else -1

    def _in_value(self, value: XmlValue, line: str, pos: int, offset: int) -> int:
        closer, again = f"</{value.name}>", f"<{value.name}>"
        found = line.find(closer, max(pos, self._content_to - offset))
        stop = len(line) if found < 0 else found
        if self._content_to < 0:
            self._inner += line.count(again, pos, stop)
        if found < 0:
            return stop
        value.end = offset + stop
        self._waiting = offset + stop + len(closer)
        return stop + len(closer)

    def _continue(self, line: str, pos: int, offset: int) -> int:
        """A closing tag was seen: does what follows make it the end of the value?"""
        while pos < len(line) and line[pos].isspace():
            pos += 1
        if pos >= len(line):
            return pos
        value = self._open
        self._waiting = -1
        if value is None:
            return pos
        closes_tool = line.startswith(self.closer, pos)
        element = ELEMENT.match(line, pos)
        known = self._known()
        empty = _EMPTY.match(line, pos)
        begins_next = element is not None and (element[1] in known or element[1] == "explanation")
        begins_next = begins_next or (empty is not None and empty[1] in known)
        surely = self._content_to >= 0 and element is not None
        if not closes_tool and not surely and (not begins_next or (element and element[1] == value.name)):
            self._inner = max(self._inner - 1, 0)
            self.stranger = self.stranger or (element[1] if element and not begins_next else "")
            self.beside = offset + pos if self.beside < 0 and not element else self.beside
            return pos
        if self._inner and closes_tool:
            self._inner -= 1
            ended = replace(value), offset + pos + len(self.closer)
            self._fallback = ended if self._fallbacks == 0 else None
            self._fallbacks += 1
            return pos
        self.values.append(value)
        self._open = None
        return pos

    def _known(self) -> frozenset[str] | _Anything:
        return frozenset(self.names) if self.names else _ANYTHING


class _Anything:
    """A set that holds every name: the parameters of a tool that is not known."""

    def __contains__(self, name: object) -> bool:
        return True


_ANYTHING: Final = _Anything()


def without_line_ends(raw: str) -> str:
    """Apply the rule for line ends: a value that begins with one loses it and the last one."""
    for first in ("\r\n", "\n"):
        if raw.startswith(first):
            body = raw[len(first) :]
            # The last line end goes together with the closing tag's indentation.
            head, newline, tail = body.rpartition("\n")
            if newline and not tail.strip(" \t"):
                return head.removesuffix("\r")
            return body
    return raw


_CDATA: Final = lazy(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.S)


def read_call(follower: XmlFollower, raw: str) -> Call | JsonFault:
    """Turn a complete XML call into a call. ``raw`` is the block's text; offsets of faults are into it."""
    if follower.junk:
        message = f"there is text outside the parameters of '{follower.tool}': {follower.junk[:60]!r}"
        return JsonFault("frame", message, raw.index(follower.junk))
    parameters: dict[str, Json] = {}
    notes: list[Repair] = []
    for value in follower.values:
        if value.name in parameters:
            return JsonFault("duplicate_key", f"the parameter '{value.name}' occurs twice", value.start)
        text = raw[value.start : value.end]
        if _ends_again(value, text, follower, raw):
            message = f"the value of '{value.name}' holds its own closing tag, so its end is uncertain"
            return JsonFault("ambiguous", message, value.start)
        read = _read_value(text, value.name, follower.names.get(value.name), notes)
        if isinstance(read, JsonFault):
            return JsonFault(read.code, f"parameter '{value.name}': {read.message}", value.start + read.offset)
        parameters[value.name] = read.value
    explanation = ""
    if "explanation" not in follower.names and isinstance(parameters.get("explanation"), str):
        explanation = str(parameters.pop("explanation")).strip()
    return Call(follower.tool, parameters, explanation, "s2", tuple(notes))


@dataclass(frozen=True, slots=True)
class _Read:
    value: Json


def _is_one_line(name: str, schema: quick_check.SchemaValue) -> bool:
    """Return whether a text is a path or one of a few words, so that layout around it is none of its own."""
    kind = schema if isinstance(schema, Mapping) else {}
    return name in PATH_KEYS or "enum" in kind or "const" in kind or kind.get("format") in ("path", "file-path", "uri")


def _read_value(text: str, name: str, schema: quick_check.SchemaValue, notes: list[Repair]) -> _Read | JsonFault:
    cdata = _CDATA.fullmatch(text)
    if cdata and "]]>" not in cdata[1]:
        notes.append(Repair("cdata", -1, "<![CDATA[", "", 0.95))
        text = cdata[1]
    types = quick_check.types_of(schema)
    if not types or "string" in types:
        lines = text.strip().splitlines()
        if len(lines) == 1 and "\n" in text and _is_one_line(name, schema):
            return _Read(lines[0])
        return _Read(without_line_ends(text))
    if types & {"array", "object"}:
        return _structure(text, schema, types, notes)
    done = coerced(text.strip(), schema)
    notes.extend(done.repairs)
    return _Read(done.value)


def _ends_again(value: XmlValue, text: str, follower: XmlFollower, raw: str) -> bool:
    """Return whether the block holds a second place where this value could end."""
    names = "|".join(f"<{re.escape(name)}>" for name in follower.names) or ELEMENT.pattern
    ending = re.compile(rf"</{re.escape(value.name)}>\s*(?:{re.escape(follower.closer)}|{names})")
    inside = ending.search(text) is not None and not _is_json(text)
    return inside or len(ending.findall(raw, value.end)) > 1


def _is_json(text: str) -> bool:
    return isinstance(parse_strict(text), ParsedJson)


def _structure(
    text: str, schema: quick_check.SchemaValue, types: frozenset[str], notes: list[Repair]
) -> _Read | JsonFault:
    body = text.strip()
    if body.startswith("<"):
        return _children(body, schema, types, notes)
    parsed = json_text(text, schema)
    if isinstance(parsed, JsonFault):
        return JsonFault("syntax", f"it is not valid JSON: {parsed.message}", parsed.offset)
    kind = quick_check.type_name(parsed.value)
    if kind not in types:
        listed = "; send a list, even for one" if "array" in types else ""
        return JsonFault("schema", f"expected {' or '.join(sorted(types))}, got {kind}{listed}")
    notes.extend(parsed.repairs)
    done = coerced(parsed.value, schema)
    notes.extend(done.repairs)
    return _Read(done.value)


def _children(
    body: str, schema: quick_check.SchemaValue, types: frozenset[str], notes: list[Repair]
) -> _Read | JsonFault:
    """Read child elements: items of any one name for an array, properties for an object."""
    if "array" not in types:
        fields = _fields(body, schema)
        return fields if isinstance(fields, JsonFault) else _Read(fields)
    items = schema.get("items") if isinstance(schema, Mapping) else None
    first = ELEMENT.match(body)
    name = first[1] if first else ""
    if first is None or name in quick_check.properties(items):
        return JsonFault("schema", "expected a list of elements, one for each item")
    values: list[Json] = []
    pos = 0
    while pos < len(body):
        found = _element(body, pos, frozenset({name}), exclusive=False)
        if found is None:
            return JsonFault("syntax", f"expected <{name}>…</{name}> elements", pos)
        inner, pos = found
        read = _fields(inner, items) if quick_check.properties(items) else entities(without_line_ends(inner))
        if isinstance(read, JsonFault):
            return read
        values.append(read)
    done = coerced(values, schema)
    notes.extend(done.repairs)
    return _Read(done.value)


def _fields(body: str, schema: quick_check.SchemaValue) -> dict[str, Json] | JsonFault:
    names = frozenset(quick_check.properties(schema))
    fields: dict[str, Json] = {}
    pos = len(body) - len(body.lstrip())
    while pos < len(body):
        element = ELEMENT.match(body, pos)
        found = _element(body, pos, names, exclusive=True) if element and element[1] in names else None
        if element is None or found is None:
            return JsonFault("syntax", "expected one element for each of: " + ", ".join(sorted(names)), pos)
        if element[1] in fields:
            return JsonFault("duplicate_key", f"<{element[1]}> occurs twice", pos)
        fields[element[1]] = entities(without_line_ends(found[0]))
        pos = found[1]
    return fields


def _element(body: str, pos: int, names: frozenset[str], *, exclusive: bool) -> tuple[str, int] | None:
    """Read one element at ``pos``: its text, and where the next one starts.

    It ends at a closing tag followed by another element of ``names`` or the end of the text; with
    ``exclusive``, exactly one closing tag may be such an end.
    """
    element = ELEMENT.match(body, pos)
    if element is None or element[1] not in names:
        return None
    others = "|".join(re.escape(name) for name in sorted(names))
    ends = list(re.compile(rf"</{re.escape(element[1])}>\s*(?=<(?:{others})>|\Z)").finditer(body, element.end()))
    if not ends or (exclusive and len(ends) > 1):
        return None
    return body[element.end() : ends[0].start()], ends[0].end()
