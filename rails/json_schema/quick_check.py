"""Enough of JSON Schema to tell whether a repaired value can be what was meant.

Checked: type, required, closed keys, enum, const, items and the combining keywords; others count as satisfied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from rails.core.tool_request import Json
from rails.json_schema.allowed import comparable, declared_types, subschemas, type_name

#: A schema, or a part of one; anything that is not a mapping allows everything.
SchemaValue: TypeAlias = "Mapping[str, Json] | Json"

_DEPTH: Final = 32


def properties(schema: SchemaValue) -> Mapping[str, Json]:
    """Return an object schema's named properties."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    return named if isinstance(named, dict) else {}


def required(schema: SchemaValue) -> tuple[str, ...]:
    """Return an object schema's required property names."""
    names = schema.get("required") if isinstance(schema, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def names(schema: SchemaValue, depth: int = 0) -> frozenset[str]:
    """Return every property name at any level."""
    if depth > _DEPTH or not isinstance(schema, Mapping):
        return frozenset()
    found = frozenset(properties(schema))
    for _, part in subschemas(schema):
        found |= names(part, depth + 1)
    return found


def fits(schema: SchemaValue, value: Json, depth: int = 0) -> bool:
    """Return whether ``value`` satisfies these keywords; too deep a nesting does not."""
    if depth > _DEPTH:
        return False
    if not isinstance(schema, Mapping):
        return schema is not False
    return (
        _fits_type(schema, value)
        and _fits_choices(schema, value)
        and (not isinstance(value, dict) or _fits_object(schema, value, depth))
        and (not isinstance(value, list) or _fits_array(schema, value, depth))
        and _fits_combined(schema, value, depth)
    )


def surely_fits(schema: Any, value: Json, depth: int = 0) -> bool:  # noqa: ANN401 - any JSON
    """Return whether ``value`` certainly fits the closed ``schema``; ``False`` says nothing. Loads no library."""
    if not isinstance(schema, dict) or depth > _DEPTH or not schema.keys() <= _CERTAIN or not _fits_type(schema, value):
        return False
    if isinstance(value, dict):
        known = properties(schema)
        inside = all(name in known and surely_fits(known[name], one, depth + 1) for name, one in value.items())
        return inside and not schema.get("additionalProperties", False) and set(required(schema)) <= value.keys()
    if isinstance(value, bool):
        return "type" in schema
    if isinstance(value, str):
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf))
    return isinstance(value, int) and bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


_CERTAIN: Final = frozenset(
    {"type", "description", "title", "default", "examples", "minLength", "maxLength", "minimum", "maximum"}
    | {"properties", "required", "additionalProperties"}
)


def _fits_type(schema: Mapping[str, Json], value: Json) -> bool:
    return "type" not in schema or type_name(value) in declared_types(schema)


def _fits_choices(schema: Mapping[str, Json], value: Json) -> bool:
    choices = schema.get("enum")
    if isinstance(choices, list) and comparable(value) not in map(comparable, choices):
        return False
    return "const" not in schema or comparable(value) == comparable(schema["const"])


def _fits_object(schema: Mapping[str, Json], value: dict[str, Json], depth: int) -> bool:
    named = properties(schema)
    if not all(map(value.__contains__, required(schema))):
        return False
    others = schema.get("additionalProperties", True)
    if others is False and not value.keys() <= named.keys():
        return False
    return all(fits(named.get(key, others), item, depth + 1) for key, item in value.items())


def _fits_array(schema: Mapping[str, Json], value: list[Json], depth: int) -> bool:
    items = schema.get("items", True)
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(least, int) and len(value) < least:
        return False
    if isinstance(most, int) and len(value) > most:
        return False
    if not isinstance(items, Mapping | bool):
        return True
    first = schema.get("prefixItems")
    value = value[len(first) :] if isinstance(first, list) else value
    return all(fits(items, item, depth + 1) for item in value)


def _fits_combined(schema: Mapping[str, Json], value: Json, depth: int) -> bool:
    for keyword, enough in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        parts = schema.get(keyword)
        if isinstance(parts, list) and not enough(fits(part, value, depth + 1) for part in parts):
            return False
    return True
