"""A JSON Schema's parts and references; and values and names in words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

from rails.core.similarity import most_alike
from rails.core.text import one_line
from rails.core.tool_request import Json, json_type
from rails.data_formats.positions import JsonPlace

JsonSchema = Mapping[str, Json]

#: The names of types, as JSON Schema calls them.
TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")

#: How deep branches are looked into, and how many parts of one schema.
_LEVELS: Final = 16
_PARTS: Final = 64
_ONE_SCHEMA: Final = frozenset(
    {"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedProperties"}
)
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that ``name`` most probably means, or ""."""
    by_shape = {_shape(other): other for other in known}
    if _shape(name) in by_shape:
        return by_shape[_shape(name)]
    close = most_alike(_shape(name)[:64], by_shape)
    return by_shape[close] if close is not None else ""


def _shape(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a "Did you mean" sentence, or ``otherwise`` if nothing is near."""
    near = nearest_name(name, known)
    return f'Did you mean "{near}"?' if near else otherwise


def kind_in_words(value: Json) -> str:
    """Return a value's JSON type in words ("an object")."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a number", list: "an array", dict: "an object"}
    return names[type(value)]


def is_number(value: Json) -> TypeGuard[float]:
    """Return whether ``value`` is a number that JSON can write."""
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


def quoted_json(value: Json, limit: int = 80) -> str:
    """Return ``value`` as JSON on one printable line."""
    return one_line(json.dumps(value, ensure_ascii=False), limit)


def resolve_reference(root: Json | JsonSchema, ref: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the target of the local reference ``ref`` (``#``, ``#/$defs/…``). Raises KeyError."""
    node: Any = root
    for part in unquote(ref.lstrip("#")).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise KeyError(ref)
    return node


def conjuncts(schema: JsonSchema, root: Json | JsonSchema) -> Iterator[JsonSchema]:
    """Yield the parts that must all hold: the schema, and what its ``allOf`` and ``$ref`` lead to in ``root``."""
    waiting: list[Json | JsonSchema] = [schema]
    for _ in range(_PARTS):
        part = waiting.pop() if waiting else None
        if not isinstance(part, Mapping):
            continue
        yield part
        both, ref = part.get("allOf"), part.get("$ref")
        waiting += both if isinstance(both, list) else []
        with suppress(KeyError):
            waiting += [resolve_reference(root, ref)] if isinstance(ref, str) else []


def allowed_types(schema: Json | JsonSchema, root: Json | JsonSchema = None, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema accepts; all if unknown. References are into ``root``."""
    allowed = frozenset(TYPES)
    if not isinstance(schema, Mapping) or depth > _LEVELS:
        return allowed
    for part in conjuncts(schema, root):
        allowed &= declared_types(part)
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            if isinstance(branches, list):
                allowed &= frozenset().union(*(allowed_types(branch, root, depth + 1) for branch in branches))
    return allowed


def declared_types(part: JsonSchema) -> frozenset[str]:
    """Return the JSON types that a schema's own keywords accept, without its branches."""
    types, choices = part.get("type"), part.get("enum", [part["const"]] if "const" in part else None)
    if isinstance(types, str | list):
        return _wide([types] if isinstance(types, str) else types)
    if isinstance(choices, list):
        return _wide([type_name(choice) for choice in choices])
    if "properties" in part or "required" in part:
        return frozenset({"object"})
    return frozenset({"array"}) if "items" in part or "prefixItems" in part else frozenset(TYPES)


def _wide(types: Sequence[Json]) -> frozenset[str]:
    return frozenset(str(name) for name in types) | ({"integer"} if "number" in types else frozenset())


def comparable(value: Json) -> str:
    """Return a value as a text that equal values share, as JSON Schema counts: ``1`` and ``1.0`` are equal."""
    return json.dumps(_by_value(value), sort_keys=True)


def _by_value(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_by_value(inner) for inner in value]
    return {key: _by_value(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def type_name(value: Json) -> str:
    """Return a value's type as JSON Schema counts: a whole number is an integer."""
    return "integer" if isinstance(value, float) and value.is_integer() else json_type(value)


def subschemas(schema: JsonSchema) -> Iterator[tuple[JsonPlace, Json]]:
    """Yield each schema directly inside ``schema`` with its place."""
    for key, value in schema.items():
        if key in _ONE_SCHEMA and not isinstance(value, list):
            yield (key,), value
        elif key in _LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                yield (key, index), item
        elif key in _NAMED and isinstance(value, dict):
            for name, item in value.items():
                yield (key, name), item
