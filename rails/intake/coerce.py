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
from typing import Final

from rails.core.requests import Json, Repair
from rails.intake import shape
from rails.intake.jsontext import Fault, Parsed, explain, strict
from rails.intake.repairs import repair

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


class Coercion:
    """One pass over a call's parameters: the coerced values, the notes of what was done, the first fault."""

    def __init__(self) -> None:
        self.notes: list[Repair] = []
        self.fault: Fault | None = None
        self.fault_path = ""

    def parameters(self, value: Mapping[str, Json], schema: shape.Schema) -> dict[str, Json]:
        """Return the parameters with text turned into what ``schema`` asks for."""
        named = shape.properties(schema)
        return {key: self.value(item, named.get(key), key, 0) for key, item in value.items()}

    def value(self, value: Json, schema: shape.Schema, path: str, depth: int) -> Json:
        """Return ``value``, coerced. ``path`` names it ("edits[0].line")."""
        if depth > _DEPTH or schema is None:
            return value
        if isinstance(value, dict):
            named = shape.properties(schema)
            return {key: self.value(item, named.get(key), f"{path}.{key}", depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            items = schema.get("items") if isinstance(schema, Mapping) else None
            return [self.value(item, items, f"{path}[{n}]", depth + 1) for n, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        types = shape.types_of(schema)
        return value if not types or "string" in types else self._text(value, schema, types, path, depth)

    def _text(self, text: str, schema: shape.Schema, types: frozenset[str], path: str, depth: int) -> Json:
        if types & {"array", "object"} and text.lstrip()[:1] in ("[", "{", "`", "&"):
            parsed = json_text(text, schema)
            if isinstance(parsed, Fault):
                self.fault, self.fault_path = self.fault or parsed, self.fault_path or path
                return text
            kind = shape.type_name(parsed.value)
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


def json_text(text: str, schema: shape.Schema) -> Parsed | Fault:
    """Read a text that should be a JSON array or object: as it is, without its fence, or with entities decoded."""
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    body = fenced[2].strip() if fenced else body
    first = strict(body)
    if isinstance(first, Parsed):
        return first
    if "&quot;" in body or "&#34;" in body or "&#x22;" in body:
        decoded = strict(entities(body))
        if isinstance(decoded, Parsed):
            return decoded
    mended = repair(body, known=shape.names(schema))
    if isinstance(mended, Parsed):
        return mended
    return Fault(first.code, explain(body, first), first.offset)
