"""Turn text into what the schema asks for, where the schema rules text out and the whole text parses.

    array, object   the text is JSON (plain, in a json fence, or with XML entities), tier A and B repairs allowed
    integer, number JSON's own number grammar
    boolean         true, false
    anything else   left as it is: a string-typed parameter is never parsed

A single value is not wrapped into a list. What does not parse stays text, so that the tool's own contract
reports it; but text that begins like JSON and is broken is a fault with the JSON error and its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson, explain_json_fault, parse_strict
from rails.json_schema import quick_check
from rails.parsing.repairs import repair

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,38})(\.[0-9]{1,39})?([eE][+-]?[0-9]{1,3})?")
_FENCED: Final = re.compile(r"(`{3,})[ \t]*(?:json)?[ \t]*\n(.*)\n[ \t]*\1", re.S | re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED: Final = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_DEPTH: Final = 16


def entities(text: str) -> str:
    """Decode XML's five named entities and numeric ones, each once (so ``&amp;lt;`` becomes ``&lt;``)."""
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _entity(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    point = int(match[2]) if match[2] else int(match[3], 16)
    return chr(point) if 0 < point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else match[0]


def _stays(schema: Json) -> bool:
    """Return whether whatever stands where ``schema`` holds stays as it is: a look that decides nearly always."""
    return schema is None or (type(schema) is dict and schema.get("type") == "string")


class Coercion:
    """One pass over a call's parameters: the coerced values, the notes of what was done, the first fault."""

    __slots__ = ("_keyed", "_seen", "fault", "fault_path", "notes")

    def __init__(self) -> None:
        self.notes: list[Repair] = []
        self.fault: JsonFault | None = None
        self.fault_path = ""
        self._seen: dict[int, bool] = {}
        self._keyed: dict[int, dict[str, Json]] = {}

    def parameters(self, value: Mapping[str, Json], schema: quick_check.SchemaValue) -> Mapping[str, Json]:
        """Return the parameters with text turned into what ``schema`` asks for; unchanged ones are not copied."""
        return self._object(value if type(value) is dict else dict(value), schema, "", 0)

    def value(self, value: Json, schema: quick_check.SchemaValue, path: str, depth: int) -> Json:
        """Return ``value``, coerced. ``path`` names it ("edits[0].line")."""
        if depth > _DEPTH or schema is None:
            return value
        if isinstance(value, str):
            types = quick_check.types_of(schema)
            return value if not types or "string" in types else self._text(value, schema, types, path, depth)
        if isinstance(value, dict):
            return self._object(value, schema, path, depth)
        if isinstance(value, list) and isinstance(schema, Mapping):
            items = schema.get("items")
            if items is not None and self._matters(items):
                return self._items(value, items, path, depth)
        return value

    def _items(self, value: list[Json], items: Json, path: str, depth: int) -> Json:
        if set(map(type, value)) == {dict}:
            named, used = quick_check.properties(items), set[str]().union(*cast("list[dict[str, Json]]", value))
            if all(map(_stays, map(named.get, used))):
                return value  # nothing in any of many small objects
        keys = self._mattering(items).keys()
        return [
            item if type(item) is dict and keys.isdisjoint(item) else self.value(item, items, f"{path}[{n}]", depth + 1)
            for n, item in enumerate(value)
        ]

    def _object(
        self, value: dict[str, Json], schema: quick_check.SchemaValue, path: str, depth: int
    ) -> dict[str, Json]:
        changed: dict[str, Json] = {}
        named = quick_check.properties(schema)
        for key, before in value.items():
            part = named.get(key)
            if _stays(part):
                continue
            after = self.value(before, part, f"{path}.{key}" if path else key, depth + 1)
            if after is not before:
                changed = changed or dict(value)
                changed[key] = after
        return changed or value

    def _mattering(self, schema: quick_check.SchemaValue) -> dict[str, Json]:
        """Return the properties of ``schema`` that text can be turned into; looked up once for each."""
        known = self._keyed.get(id(schema))
        if known is None:
            known = {key: part for key, part in quick_check.properties(schema).items() if self._matters(part)}
            self._keyed[id(schema)] = known
        return known

    def _matters(self, schema: Json) -> bool:
        """Return whether text can be turned into something anywhere under ``schema``; computed once for each."""
        declared = schema.get("type") if type(schema) is dict else None
        if type(declared) is str:
            return declared != "string"
        known = self._seen.get(id(schema))
        if known is None:
            self._seen[id(schema)] = True  # a schema within itself
            types = quick_check.types_of(schema)
            known = bool(types) and "string" not in types
            self._seen[id(schema)] = known
        return known

    def _text(self, text: str, schema: quick_check.SchemaValue, types: frozenset[str], path: str, depth: int) -> Json:
        if types & {"array", "object"} and text.lstrip()[:1] in ("[", "{", "`", "&"):
            parsed = json_text(text, schema)
            if isinstance(parsed, JsonFault):
                self.fault, self.fault_path = self.fault or parsed, self.fault_path or path
                return text
            kind = quick_check.type_name(parsed.value)
            if kind in types:
                self._note(f"text_to_{kind}", text, 0.95)
                self.notes.extend(parsed.repairs)
                return self.value(parsed.value, schema, path, depth + 1)
            return text
        return self._scalar(text, types)

    def _scalar(self, text: str, types: frozenset[str]) -> Json:
        if "boolean" in types and text in ("true", "false"):
            self._note("text_to_boolean", text, 1.0)
            return text == "true"
        number = _NUMBER.fullmatch(text)
        if number and types & {"integer", "number"}:
            whole = not number[1] and not number[2]
            if whole or "number" in types:
                self._note("text_to_integer" if whole else "text_to_number", text, 1.0)
                return int(text) if whole else float(text)
        return text

    def _note(self, name: str, text: str, confidence: float) -> None:
        self.notes.append(Repair(name, -1, text[:80], name.rpartition("_")[2], confidence))


def json_text(text: str, schema: quick_check.SchemaValue) -> ParsedJson | JsonFault:
    """Read a text that should be a JSON array or object: as it is, without its fence, or with entities decoded."""
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    body = fenced[2].strip() if fenced else body
    first = parse_strict(body)
    if isinstance(first, ParsedJson):
        return first
    if "&quot;" in body or "&#34;" in body or "&#x22;" in body:
        decoded = parse_strict(entities(body))
        if isinstance(decoded, ParsedJson):
            return decoded
    repaired = repair(body, known=lambda: quick_check.names(schema))
    if isinstance(repaired, ParsedJson):
        return repaired
    return JsonFault(first.code, explain_json_fault(body, first), first.offset)
