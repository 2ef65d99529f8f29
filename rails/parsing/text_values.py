"""Values sent as text: JSON within a text, plain, in a json fence, or with XML entities.

Repairs of tiers A and B; :mod:`rails.json_schema.coerce` decides what to convert.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import excerpt
from rails.core.tool_request import Json, Repair
from rails.data_formats.entities import entities
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict
from rails.json_schema import quick_check
from rails.json_schema.coerce import Coercion, Conversion

_FENCED: Final = lazy(r"(`{3,}+)[ \t]*+(?:json[ \t]*+)?\n(.*)\n[ \t]*\1", re.S | re.IGNORECASE)


def coerced(value: Json, schema: quick_check.SchemaValue) -> ParsedJson:
    """Return ``value`` with texts converted to ``schema``, and its conversions as repairs."""
    coercion = Coercion(schema, _read_text)
    result = coercion.value(value, schema)
    repairs = tuple(repair for one in coercion.conversions for repair in (_note(one), *one.repairs))
    return ParsedJson(result, repairs)


def _note(one: Conversion) -> Repair:
    confidence = 0.95 if one.kind in ("array", "object") else 1.0
    return Repair(f"text_to_{one.kind}", -1, str(one.source)[:80], one.kind, confidence)


def _read_text(text: str, schema: quick_check.SchemaValue) -> ParsedJson | None:
    if text.lstrip()[:1] not in ("[", "{", "`", "&"):
        return None
    read = json_text(text, schema)
    return read if isinstance(read, ParsedJson) else None


def json_text(text: str, schema: quick_check.SchemaValue) -> ParsedJson | JsonFault:
    """Read a JSON array or object: as it is, without its fence, or with entities decoded."""
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
    from rails.parsing.repairs import repair

    repaired = repair(body, known=lambda: quick_check.names(schema))
    if isinstance(repaired, ParsedJson):
        return repaired
    message = f"{first.message.removesuffix(' at')}, near: {excerpt(body, first.offset)}"
    return JsonFault(first.code, message, text.index(body) + first.offset)
