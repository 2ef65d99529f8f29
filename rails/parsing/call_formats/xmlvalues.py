"""The parameters of an XML call: from raw text to values, by the rules in ``rails.parsing.call_formats.xml_calls``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import Fault, Parsed, strict
from rails.json_schema import quick_check
from rails.parsing.call_formats.dialects import Call
from rails.parsing.call_formats.xml_calls import ELEMENT, Follower, Value, unwrapped
from rails.parsing.coerce import Coercion, entities, json_text

_CDATA: Final = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.S)
_DIALECT: Final = {"invoke": "invoke"}


def read_call(follower: Follower, raw: str) -> Call | Fault:
    """Turn a complete XML call into a call. ``raw`` is the block's text; offsets of faults are into it."""
    if follower.junk:
        return Fault("frame", f"there is text outside the parameters of '{follower.tool}': {follower.junk[:60]!r}")
    parameters: dict[str, Json] = {}
    notes: list[Repair] = []
    for value in follower.values:
        if value.name in parameters:
            return Fault("duplicate_key", f"the parameter '{value.name}' occurs twice", value.start)
        text = raw[value.start : value.end]
        if _ends_again(value, text, follower, raw):
            return Fault("ambiguous", f"the value of '{value.name}' holds its own closing tag, so its end is uncertain")
        read = _read_value(text, follower.names.get(value.name), notes)
        if isinstance(read, Fault):
            return Fault(read.code, f"parameter '{value.name}': {read.message}", value.start + read.offset)
        parameters[value.name] = read.value
    explanation = ""
    if "explanation" not in follower.names and isinstance(parameters.get("explanation"), str):
        explanation = str(parameters.pop("explanation")).strip()
    return Call(follower.tool, parameters, explanation, _DIALECT.get(follower.element, "s2"), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Read:
    value: Json


def _read_value(text: str, schema: quick_check.Schema, notes: list[Repair]) -> _Read | Fault:
    cdata = _CDATA.fullmatch(text)
    if cdata and "]]>" not in cdata[1]:
        notes.append(Repair("cdata", -1, "<![CDATA[", "", 0.95))
        text = cdata[1]
    types = quick_check.types_of(schema)
    if not types or "string" in types:
        return _Read(unwrapped(text))
    if types & {"array", "object"}:
        return _structure(text, schema, types, notes)
    coercion = Coercion()
    coerced = coercion.value(text.strip(), schema, "", 0)
    notes.extend(coercion.notes)
    return _Read(coerced)


def _ends_again(value: Value, text: str, follower: Follower, raw: str) -> bool:
    """Return whether the block holds a second place where this value could end."""
    names = "|".join(re.escape(follower.tags(name)[1]) for name in follower.names) or follower.opens.pattern
    ending = re.compile(rf"{re.escape(follower.tags(value.name)[0])}\s*(?:{re.escape(follower.closer)}|{names})")
    inside = ending.search(text) is not None and not _is_json(text)
    later = follower.values[follower.values.index(value) + 1 :]
    if follower.element == "invoke":
        # All parameters share one closing tag, so only the text up to the next parameter can tell.
        return inside or len(ending.findall(raw, value.end, later[0].start if later else len(raw))) > 1
    return inside or len(ending.findall(raw, value.end)) > 1


def _is_json(text: str) -> bool:
    return isinstance(strict(text), Parsed)


def _structure(text: str, schema: quick_check.Schema, types: frozenset[str], notes: list[Repair]) -> _Read | Fault:
    body = text.strip()
    lead = len(text) - len(text.lstrip())
    if body.startswith("<"):
        return _children(body, schema, types, notes)
    parsed = json_text(text, schema)
    if isinstance(parsed, Fault):
        return Fault("syntax", f"it is not valid JSON: {parsed.message}", lead + parsed.offset)
    kind = quick_check.type_name(parsed.value)
    if kind not in types:
        wanted = " or ".join(sorted(types))
        return Fault(
            "schema", f"expected {wanted}, got {kind}" + ("; send a list, even for one" if "array" in types else "")
        )
    notes.extend(parsed.repairs)
    coercion = Coercion()
    value = coercion.value(parsed.value, schema, "", 0)
    notes.extend(coercion.notes)
    return _Read(value)


def _children(body: str, schema: quick_check.Schema, types: frozenset[str], notes: list[Repair]) -> _Read | Fault:
    """Read child elements: items of any one name for an array, properties for an object."""
    if "array" not in types:
        fields = _fields(body, schema)
        return fields if isinstance(fields, Fault) else _Read(fields)
    items = schema.get("items") if isinstance(schema, Mapping) else None
    first = ELEMENT.match(body)
    name = first[1] if first else ""
    if first is None or name in quick_check.properties(items):
        return Fault("schema", "expected a list of elements, one for each item")
    values: list[Json] = []
    pos = 0
    while pos < len(body):
        found = _element(body, pos, frozenset({name}), exclusive=False)
        if found is None:
            return Fault("syntax", f"expected <{name}>…</{name}> elements", pos)
        inner, pos = found
        read = _fields(inner, items) if quick_check.properties(items) else entities(unwrapped(inner))
        if isinstance(read, Fault):
            return read
        values.append(read)
    coercion = Coercion()
    coerced = coercion.value(list(values), schema, "", 0)
    notes.extend(coercion.notes)
    return _Read(coerced)


def _fields(body: str, schema: quick_check.Schema) -> dict[str, Json] | Fault:
    names = frozenset(quick_check.properties(schema))
    fields: dict[str, Json] = {}
    pos = len(body) - len(body.lstrip())
    while pos < len(body):
        element = ELEMENT.match(body, pos)
        found = _element(body, pos, names, exclusive=True) if element and element[1] in names else None
        if element is None or found is None:
            return Fault("syntax", "expected one element for each of: " + ", ".join(sorted(names)), pos)
        if element[1] in fields:
            return Fault("duplicate_key", f"<{element[1]}> occurs twice", pos)
        fields[element[1]] = entities(unwrapped(found[0]))
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
