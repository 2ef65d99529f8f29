"""Enough of JSON Schema to tell whether a repaired value can be what was meant.

Checked: type, required, closed keys, enum, const, items and the combining keywords; others count as satisfied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from rails.core.tool_request import PATH_KEYS, Json, json_type

#: A schema, or a part of one; anything that is not a mapping allows everything.
SchemaValue: TypeAlias = "Mapping[str, Json] | Json"

_DEPTH: Final = 32
#: Keywords beside "type" that allow or forbid nothing here: most schemas of a text are like this.
_SAYS_NOTHING_MORE: Final = frozenset(
    {"type", "description", "title", "default", "examples", "format", "minLength", "maxLength", "pattern"}
)


def type_name(value: Json) -> str:
    """Return a value's type as JSON Schema counts: a whole number is an integer."""
    return "integer" if isinstance(value, float) and value.is_integer() else json_type(value)


def types_of(schema: SchemaValue) -> frozenset[str]:
    """Return the allowed types, from ``type``, ``enum``, ``anyOf``/``oneOf`` or other keywords; empty if unknown."""
    if not isinstance(schema, Mapping):
        return frozenset()
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(item for item in declared if isinstance(item, str))
    choices = schema.get("enum")
    if isinstance(choices, list):
        return frozenset(map(type_name, choices))
    for keyword in ("anyOf", "oneOf"):
        parts = schema.get(keyword)
        if isinstance(parts, list) and parts:
            kinds = [types_of(part) for part in parts]
            return frozenset().union(*kinds) if all(kinds) else frozenset()
    if "properties" in schema or "required" in schema:
        return frozenset({"object"})
    return frozenset({"array"}) if "items" in schema else frozenset()


def properties(schema: SchemaValue) -> Mapping[str, Json]:
    """Return an object schema's named properties."""
    named = schema.get("properties") if type(schema) is dict or isinstance(schema, Mapping) else None
    return named if isinstance(named, dict) else {}


def takes_path(schema: SchemaValue) -> bool:
    """Return whether a property names a file."""
    return not properties(schema).keys().isdisjoint(PATH_KEYS)


def required(schema: SchemaValue) -> tuple[str, ...]:
    """Return an object schema's required property names."""
    names = schema.get("required") if isinstance(schema, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def names(schema: SchemaValue, depth: int = 0) -> frozenset[str]:
    """Return every property name at any level."""
    if depth > _DEPTH:
        return frozenset()
    if isinstance(schema, list):
        return frozenset().union(*(names(part, depth + 1) for part in schema))
    if not isinstance(schema, Mapping):
        return frozenset()
    found = set(properties(schema))
    for keyword in ("properties", "items", "anyOf", "oneOf", "allOf", "additionalProperties", "$defs", "definitions"):
        part = schema.get(keyword)
        inner = (
            list(part.values())
            if keyword in ("properties", "$defs", "definitions") and isinstance(part, dict)
            else part
        )
        found |= names(inner, depth + 1)
    return frozenset(found)


def fits(schema: SchemaValue, value: Json, depth: int = 0) -> bool:
    """Return whether ``value`` satisfies these keywords; too deep a nesting does not."""
    if depth > _DEPTH:
        return False
    if type(schema) is not dict and not isinstance(schema, Mapping):
        return schema is not False
    if type(value) is str and _is_text(schema):
        return True
    return (
        _fits_type(schema, value)
        and _fits_choices(schema, value)
        and (not isinstance(value, dict) or _fits_object(schema, value, depth))
        and (not isinstance(value, list) or _fits_array(schema, value, depth))
        and _fits_combined(schema, value, depth)
    )


def surely_fits(schema: SchemaValue, value: Json, depth: int = 0) -> bool:
    """Return whether ``value`` certainly fits the closed ``schema``; ``False`` says nothing. Loads no library."""
    if not isinstance(schema, dict) or depth > _DEPTH or not schema.keys() <= _CERTAIN or not _fits_type(schema, value):
        return False
    if isinstance(value, str):
        low, high = schema.get("minLength", 0), schema.get("maxLength", len(value))
        return isinstance(low, int) and isinstance(high, int) and low <= len(value) <= high
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        return isinstance(low, int) and isinstance(high, int) and low <= value <= high
    if isinstance(value, dict):
        known, needed = schema.get("properties"), schema.get("required", [])
        if not isinstance(known, dict) or not isinstance(needed, list) or schema.get("additionalProperties", False):
            return False
        inside = all(name in known and surely_fits(known[name], one, depth + 1) for name, one in value.items())
        return inside and all(name in value for name in needed)
    return isinstance(value, bool) and "type" in schema


_CERTAIN: Final = frozenset(
    {"type", "description", "title", "default", "examples", "minLength", "maxLength", "minimum", "maximum"}
    | {"properties", "required", "additionalProperties"}
)


def _is_text(schema: Mapping[str, Json]) -> bool:
    return schema.get("type") == "string" and (len(schema) == 1 or schema.keys() <= _SAYS_NOTHING_MORE)


def _fits_type(schema: Mapping[str, Json], value: Json) -> bool:
    declared = schema.get("type")
    if not isinstance(declared, str | list):
        return True
    kind, allowed = type_name(value), (declared,) if isinstance(declared, str) else declared
    return kind in allowed or (kind == "integer" and "number" in allowed)


def _fits_choices(schema: Mapping[str, Json], value: Json) -> bool:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        return False
    return "const" not in schema or _same(value, schema["const"])


def _same(left: Json, right: Json) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _fits_object(schema: Mapping[str, Json], value: dict[str, Json], depth: int) -> bool:
    named = properties(schema)
    if not all(map(value.__contains__, required(schema))):
        return False
    others = schema.get("additionalProperties", True)
    if "patternProperties" in schema:
        others = True
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
