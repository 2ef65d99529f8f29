"""Every violation of a JSON Schema (2020-12), with exact keywords of our own.

Numbers count by value (``1`` and ``1.0`` are equal), ``multipleOf`` uses the decimal digits as written, patterns take
linear time, and nothing is fetched.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rails.core import limits
from rails.core.tool_request import Json
from rails.data_formats.regex import compile_pattern
from rails.json_schema.allowed import comparable, subschemas
from rails.json_schema.explain import SchemaFault, explain_schema_error
from rails.json_schema.formats import CHECKED

if TYPE_CHECKING:
    from fractions import Fraction

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

#: Faults that are worked out for one value; who reports them may say fewer.
MOST_FAULTS: Final = limits.FINDINGS_TOLD * 8

SchemaValidator: TypeAlias = "Validator"
_Errors = Iterator["ValidationError"]


def validator_for(schema: Mapping[str, Json], *, close: bool = False) -> SchemaValidator:
    """Return a validator of ``schema``; ``close``: objects take no unnamed property."""
    from referencing import Registry as NoReferences

    whole = closed(dict(schema)) if close else dict(schema)
    return _validator_class()(whole, registry=NoReferences())


def schema_faults(validator: SchemaValidator, value: Json) -> Iterator[SchemaFault]:
    """Yield every fault, ordered by place, in our words."""
    errors = itertools.islice(validator.iter_errors(value), MOST_FAULTS)
    for error in sorted(errors, key=lambda error: [str(part) for part in error.absolute_path]):
        yield explain_schema_error(error)


def faults(
    schema: Mapping[str, Json], value: Json, *, root: Mapping[str, Json] | None = None
) -> tuple[SchemaFault, ...]:
    """Return every violation of ``schema``; references are into ``root``."""
    shared = {key: root[key] for key in ("$defs", "definitions") if root and key in root}
    return tuple(schema_faults(validator_for({**shared, **schema}, close=True), value))


def answer_faults(schema: Mapping[str, Json], value: Json) -> tuple[SchemaFault, ...]:
    """Return a tool's answer's violations. Further properties are fine."""
    return tuple(schema_faults(validator_for(schema), value))


def closed(schema: Json) -> Json:
    """Return ``schema`` with objects closed to unnamed properties.

    Not where other parts (``allOf``, ``then``, ``$ref``, …) name properties: they would refuse each other's.
    """
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    properties = schema.get("properties")
    if "items" in schema:
        result["items"] = closed(schema["items"])
    if isinstance(properties, dict):
        result["properties"] = {name: closed(inner) for name, inner in properties.items()}
        if _names_elsewhere(schema, 0) <= set(properties):
            result.setdefault("additionalProperties", False)
    return result


#: Keywords whose schemas apply to the very value that the schema around them is about.
IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "not"})
#: A name that no property has: what a ``$ref`` may add is not known here.
_UNKNOWN: Final = "\0"


def _names_elsewhere(schema: Mapping[str, Json], depth: int) -> set[str]:
    names: set[str] = {_UNKNOWN} if "$ref" in schema or depth > limits.SCHEMA_DEPTH else set()
    for place, part in subschemas(schema):
        if place[0] in IN_PLACE and isinstance(part, dict) and depth <= limits.SCHEMA_DEPTH:
            inner = part.get("properties")
            names |= set(inner) if isinstance(inner, dict) else set()
            names |= _names_elsewhere(part, depth + 1)
    return names


@functools.cache
def _validator_class() -> Callable[..., Validator]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords: dict[str, Any] = {
        "required": _required,
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "format": _format,
        "uniqueItems": _unique_items,
        "multipleOf": _multiple_of,
    }
    return extend(Draft202012Validator, validators=keywords)  # type: ignore[no-any-return,no-untyped-call]


def _error(message: str) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _required(validator: Validator, required: list[str], instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    if validator.is_type(instance, "object") and isinstance(instance, dict):
        yield from (_error(name) for name in required if name not in instance)


def _additional_properties(validator: Validator, rule: Json, instance: Json, schema: Mapping[str, Json]) -> _Errors:
    if not isinstance(instance, dict):
        return
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name, value in instance.items():
        if name in known:
            continue
        if rule is False:
            yield _error(name)
        elif isinstance(rule, dict):
            yield from validator.descend(value, rule, path=name)  # type: ignore[attr-defined]


def _pattern(_validator: Validator, pattern: str, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    if not isinstance(instance, str):
        return
    if len(instance) > limits.PATTERN_CHARS or not compile_pattern(pattern).search(instance):
        yield _error(f"does not match {pattern}")


def _format(_validator: Validator, name: str, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    check = CHECKED.get(name)
    if isinstance(instance, str) and check and not check(instance):
        yield _error(f"is not a valid {name}")


def _unique_items(_validator: Validator, unique: bool, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    """Compare comparable texts in a set: the library takes 18 s for 3,000 objects."""
    if unique and isinstance(instance, list) and len(set(map(comparable, instance))) < len(instance):
        yield _error("lists an item twice")


def _multiple_of(_validator: Validator, step: float, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if (isinstance(instance, float) and not math.isfinite(instance)) or _exact(instance) % _exact(step):
        yield _error(f"is not a multiple of {step}")


def _exact(number: float) -> Fraction:
    """Return the number of the digits: 0.1 is a tenth, not the nearest binary number."""
    from fractions import Fraction

    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
