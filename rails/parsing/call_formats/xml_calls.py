"""The S2 dialect: ``<tool name="fast_editor">`` or ``<fast_editor>`` around one element per parameter.

It is not XML: values are raw text, written by a model that escapes nothing.

    a value ends at a ``</name>`` before the next parameter or the tool's end; any other is content. If more than one
    place could be its end, it is refused
    a value that begins with a line end loses it and the last one. A path or one of a few words is trimmed
    text-typed values are never decoded: ``&lt;`` stays ``&lt;``
    array- and object-typed values are JSON (plain, fenced, entity-escaped; closing tags in its strings are content) or
    child elements with entities
    number- and boolean-typed values are read by the schema
    one CDATA section is its inside; <name/> is an empty value, <tool name="…"/> a whole call
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from msgspec import Struct, field

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS, Json, Repair
from rails.data_formats.entities import entities
from rails.data_formats.strict_json import JsonFault, ParsedJson, read_container
from rails.json_schema import quick_check
from rails.json_schema.allowed import allowed_types, type_name
from rails.parsing.call_formats.json_calls import Call
from rails.parsing.text_values import json_text
from rails.parsing.values import ToolSchemas

_ATTRIBUTE: Final = (
    r"(?:[ \t]+(?!name\b)[A-Za-z_][\w:.-]{0,40}[ \t]*=[ \t]*(?:\"[^\"<>\n]{0,200}\"|'[^'<>\n]{0,200}')){0,8}"
)
_OPENER: Final = lazy(
    rf"[ \t\ufeff]*(?:<action>[ \t]*)?<(?:tool{_ATTRIBUTE}[ \t]+name[ \t]*=[ \t]*"
    rf"(?P<mark>[\"']?)(?P<tool>[^\"'<>\s/](?:[^\"'<>\n]{{0,98}}[^\"'<>\s/])?)(?P=mark){_ATTRIBUTE}"
    r"|(?P<element>[A-Za-z_][\w.-]{0,99}))[ \t]*(/(?=>[ \t]*+(?:</action>)?\s*+\Z))?>"
)
_NAME: Final = r"[A-Za-z_][\w.-]{0,99}"
_ELEMENT: Final = lazy(rf"<({_NAME})(?:>|([ \t]*/>))")
_SPACE: Final = lazy(r"\s*")
#: Text up to the next tag or the end of its line.
_JUNK: Final = lazy(r"[^\n][^<\n]*\n?")


class XmlValue(NamedTuple):
    """One parameter: its name, its raw text's span in the block, and up to where that is surely its text."""

    name: str
    start: int
    end: int
    sure: int


class XmlCall(Struct):
    """An XML call as far as it goes; offsets from its start.

    ``end`` is behind its closing tag, -1 without one. ``prose``: only a mention. ``junk``: text between values;
    ``beside``: what follows the first closing tag of a value that does not end.
    """

    tool: str
    element: str
    names: Mapping[str, Json]
    values: list[XmlValue] = field(default_factory=list)
    end: int = -1
    prose: bool = False
    junk: str = ""
    beside: int = -1

    @property
    def closer(self) -> str:
        """Return the call's closing tag."""
        return f"</{self.element}>"

    def ending(self, name: str) -> re.Pattern[str]:
        """Return what ends a parameter's text: its closing tag before another parameter or the call's end."""
        known = "|".join(map(re.escape, (*self.names, "explanation"))) if self.names else _NAME
        return re.compile(rf"</{re.escape(name)}>(?=\s*(?:{re.escape(self.closer)}|<(?:{known})(?:>|[ \t]*/>)))")


def opener(line: str, tools: ToolSchemas) -> tuple[str, str, int] | None:
    """Return (tool name, element name, start of the inside) of the XML call on this line."""
    found = _OPENER.match(line)
    if not found:
        return None
    tool, element = found["tool"], found["element"]
    if tool:
        return tool, "tool", found.end()
    return (element, element, found.end()) if element in tools else None


def call_at(text: str, start: int, opened: tuple[str, str, int], tools: ToolSchemas) -> XmlCall:
    """Return the call at ``start``; ``opened``: ``opener`` of its first line."""
    tool, element, used = opened
    call, pos = XmlCall(tool, element, quick_check.properties(tools.get(tool, {}))), start + used
    if text.startswith("/>", pos - 2):
        call.end = used
    while call.end < 0 and not call.prose and (pos := _behind_space(text, pos)) < len(text):
        if text.startswith(call.closer, pos):
            call.end = pos + len(call.closer) - start
            break
        part = _ELEMENT.match(text, pos)
        if part is not None and (not part[2] or part[1] in call.names or not call.names):
            pos = _value(call, part, start)
            continue
        call.prose = call.element != "tool" and not call.values
        stop = _JUNK.match(text, pos).end()  # type: ignore[union-attr]
        call.junk = call.junk or text[pos:stop].strip()
        pos = stop
    return call


def _behind_space(text: str, pos: int) -> int:
    return _SPACE.match(text, pos).end()  # type: ignore[union-attr]


def _value(call: XmlCall, part: re.Match[str], start: int) -> int:
    """Add the value that ``part`` opens, or is. Return where the next one begins."""
    text, name, begin = part.string, part[1], part.end()
    sure = max(begin, -1 if part[2] else _json_end(call.names.get(name), text, begin))
    closer = f"</{name}>"
    ending = call.ending(name) if sure == begin else re.compile(re.escape(closer))
    found = part if part[2] else ending.search(text, sure)
    if found is None:
        shut = text.find(closer, begin)
        beside = _behind_space(text, shut + len(closer)) if shut >= 0 else len(text)
        if _ELEMENT.match(text, beside) or call.closer in text[beside:]:
            call.beside = beside - start
        return len(text)
    end = begin if part[2] else found.start()
    call.values.append(XmlValue(name, begin - start, end - start, sure - start))
    return found.end()


def _json_end(schema: quick_check.SchemaValue, text: str, begin: int) -> int:
    types = allowed_types(schema)
    if "string" in types or not types & {"array", "object"}:
        return -1
    value = read_container(text, _behind_space(text, begin), limits.JSON_DEPTH)
    return -1 if value is None else value[1]


_FRAMED: Final = lazy(r"\r?\n(.*?)(?:\r?\n[ \t]*)?", re.S)


def _without_line_ends(raw: str) -> str:
    """Return a value without its first line end and then the last one, with the closing tag's indentation."""
    framed = _FRAMED.fullmatch(raw)
    return framed[1] if framed else raw


class _Unread(Exception):
    """A value cannot be read, for a JsonFault."""


_CDATA: Final = lazy(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.S)


def read_call(call: XmlCall, raw: str) -> Call | JsonFault:
    """Return a complete XML call as a call. Faults' offsets are into ``raw``, the block's text."""
    if call.junk:
        message = f"there is text outside the parameters of '{call.tool}': {call.junk[:60]!r}"
        return JsonFault("frame", message, raw.index(call.junk))
    parameters: dict[str, Json] = {}
    notes: list[Repair] = []
    for name, start, end, sure in call.values:
        if name in parameters:
            return JsonFault("duplicate_key", f"the parameter '{name}' occurs twice", start)
        if len(call.ending(name).findall(raw, sure)) > 1:
            words = f"the value of '{name}' holds its own closing tag, so its end is uncertain"
            return JsonFault("ambiguous", words, start)
        try:
            read = _read_value(raw[start:end], name, call.names.get(name))
        except _Unread as error:
            fault: JsonFault = error.args[0]
            return JsonFault(fault.code, f"parameter '{name}': {fault.message}", start + fault.offset)
        parameters[name] = read.value
        notes += read.repairs
    explanation = ""
    if "explanation" not in call.names and isinstance(parameters.get("explanation"), str):
        explanation = str(parameters.pop("explanation")).strip()
    return Call(call.tool, parameters, explanation, "s2", tuple(notes))


def _is_one_line(name: str, schema: quick_check.SchemaValue) -> bool:
    kind = schema if isinstance(schema, Mapping) else {}
    return name in PATH_KEYS or "enum" in kind or "const" in kind or kind.get("format") in ("path", "file-path", "uri")


def _read_value(text: str, name: str, schema: quick_check.SchemaValue) -> ParsedJson:
    cdata, notes = _CDATA.fullmatch(text), tuple[Repair, ...]()
    if cdata and "]]>" not in cdata[1]:
        text, notes = cdata[1], (Repair("cdata", -1, "<![CDATA[", "", 0.95),)
    types = allowed_types(schema)
    body = text.strip()
    if "string" in types:
        is_line = "\n" in text and len(body.splitlines()) == 1 and _is_one_line(name, schema)
        return ParsedJson(body if is_line else _without_line_ends(text), notes)
    if not types & {"array", "object"}:
        return ParsedJson(body, notes)
    if body.startswith("<"):
        return ParsedJson(_items(body, schema) if "array" in types else _fields(body, schema), notes)
    parsed = json_text(text, schema)
    if isinstance(parsed, JsonFault):
        raise _Unread(JsonFault("syntax", f"it is not valid JSON: {parsed.message}", parsed.offset))
    kind = type_name(parsed.value)
    if kind not in types:
        listed = "; send a list, even for one" if "array" in types else ""
        raise _Unread(JsonFault("schema", f"expected {' or '.join(sorted(types))}, got {kind}{listed}"))
    return ParsedJson(parsed.value, (*notes, *parsed.repairs))


def _items(body: str, schema: quick_check.SchemaValue) -> list[Json]:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    properties = quick_check.properties(items)
    first = _ELEMENT.match(body)
    if first is None or first[1] in properties:
        raise _Unread(JsonFault("schema", "expected a list of elements, one for each item"))
    found = _elements(body, {first[1]})
    return [_fields(inner, items) if properties else _decoded(inner) for _, inner in found]


def _fields(body: str, schema: quick_check.SchemaValue) -> dict[str, Json]:
    found = _elements(body.strip(), quick_check.properties(schema).keys())
    fields: dict[str, Json] = {name: _decoded(inner) for name, inner in found}
    if len(fields) < len(found):
        raise _Unread(JsonFault("duplicate_key", "an element occurs twice"))
    return fields


def _decoded(inner: str) -> str:
    return entities(_without_line_ends(inner))


def _elements(body: str, names: Set[str]) -> list[tuple[str, str]]:
    """Return name and text of each element; it ends at its closing tag before another one or the end."""
    others = "|".join(map(re.escape, sorted(names))) or "(?!)"
    element = re.compile(rf"<({others})>(.*?)</\1>\s*(?=<(?:{others})>|\Z)", re.S)
    found: list[tuple[str, str]] = []
    pos = 0
    while pos < len(body):
        one = element.match(body, pos)
        if one is None:
            words = ", ".join(sorted(names))
            raise _Unread(JsonFault("syntax", f"expected one element for each of: {words}", pos))
        found.append((one[1], one[2]))
        pos = one.end()
    return found
