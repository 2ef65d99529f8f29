"""A JSON Schema's parts and references; and values and names in words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeGuard
from urllib.parse import unquote

from rails.core.similarity import most_alike
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace

JsonSchema = Mapping[str, Json]

#: The names of types, as JSON Schema calls them.
TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")

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


def is_whole(value: Json) -> TypeGuard[float]:
    """Return whether ``value`` is a whole number, as JSON Schema counts: ``2.0`` is one."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def quoted_json(value: Json, limit: int = 80) -> str:
    """Return ``value`` as JSON on one printable line."""
    return one_line(json.dumps(value, ensure_ascii=False), limit)


def resolve_reference(root: Json, ref: str) -> Json:
    """Return the target of the local reference ``ref`` (``#``, ``#/$defs/…``). Raises KeyError."""
    node = root
    for part in unquote(ref.lstrip("#")).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise KeyError(ref)
    return node


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
