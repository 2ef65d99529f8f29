"""The JSON Schemas allowed for a tool's parameters, and the mistakes of others.

A definition file's schema decides what runs, so it must mean what it says, fetch nothing, and end soon.

Covered: unknown keywords (a validator ignores them), wrong types, remote, circular and dangling ``$ref``, runaway
patterns, depth and size with every ``$ref`` written out, contradicting limits. Not covered: subtler contradictions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rails.core import limits
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.data_formats.regex import RegexError, compile_pattern
from rails.json_schema.allowed import (
    JsonSchema,
    did_you_mean,
    is_number,
    kind_in_words,
    resolve_reference,
    subschemas,
)
from rails.json_schema.explain import SchemaFault, place_in_words

#: Keywords of older or newer drafts and of habit, with what to write instead.
_INSTEAD: Final = {
    "additionalItems": 'Use "prefixItems" and "items" (JSON Schema 2020-12).',
    "dependencies": 'Use "dependentRequired" or "dependentSchemas" (JSON Schema 2020-12).',
    "patternProperties": 'Name the properties, or use "additionalProperties" with "propertyNames".',
    "$anchor": 'Use a "$ref" that starts with "#/$defs/".',
    "optional": 'A property is optional when "required" does not list it.',
    "nullable": 'Write "type": ["string", "null"] instead.',
    "options": 'Use "enum".',
    "values": 'Use "enum".',
}


class SchemaProblem(Struct, frozen=True):
    """A mistake: where (from the root), what, and what to do."""

    place: JsonPlace
    message: str
    fix: str


def check_parameters(schema: Json) -> Iterator[SchemaProblem]:
    """Yield every mistake in a schema, whose root must be an object."""
    if not isinstance(schema, dict):
        yield SchemaProblem(
            (), f"a schema must be an object, not {kind_in_words(schema)}", 'Start with {"type": "object", …}.'
        )
        return
    if schema.get("type") != "object":
        yield SchemaProblem(("type",), 'the parameters must be an object: "type": "object"', 'Add "type": "object".')
    yield from check_schema(schema)


def check_schema(schema: Json) -> Iterator[SchemaProblem]:
    """Yield every mistake in ``schema``; nothing is fetched."""
    from rails.json_schema.validator import schema_faults, validator_for

    problems = [as_problem(fault) for fault in schema_faults(validator_for(metaschema()), schema)]
    yield from problems or check_meaning(schema)


@cache
def metaschema() -> dict[str, Any]:
    """Return the closed JSON Schema of the allowed schemas."""
    text = Path(__file__).with_name("allowed.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def as_problem(fault: SchemaFault) -> SchemaProblem:
    """Return a fault as a problem; unknown names are fields, not parameters."""
    name = str(fault.place[-1]) if fault.place else ""
    message = fault.detail if fault.keyword else fault.detail.removeprefix(f"`{place_in_words(fault.place)}` ")
    fix = fault.hint or "Correct it."
    if fault.keyword == "additionalProperties":
        message = f"the field {one_line(name)!r} is not known, so it would do nothing"
        near, question, _ = fix.partition("?")
        fix = _INSTEAD.get(name) or (f"{near}?".replace("`", '"') if question else "Remove it.")
    elif fault.keyword == "required":
        message = f"the field {name!r} is missing"
    return SchemaProblem(fault.place, message, fix)


def check_meaning(root: Json) -> Iterator[SchemaProblem]:
    """Yield the contradictions of a well-formed schema."""
    schemas = list(_all_schemas(root, (), 0))
    known = {id(schema) for _, schema in schemas}
    problems = [problem for place, schema in schemas for problem in _check_one(root, schema, place, known)]
    yield from problems or _check_written_out(root)


_TOO_DEEP: Final = f"the schema has more than {limits.SCHEMA_DEPTH} levels"


def _all_schemas(schema: Json, place: JsonPlace, depth: int) -> Iterator[tuple[JsonPlace, Json]]:
    yield place, None if depth > limits.SCHEMA_DEPTH else schema
    if isinstance(schema, dict) and depth <= limits.SCHEMA_DEPTH:
        for inner, child in subschemas(schema):
            yield from _all_schemas(child, place + inner, depth + 1)


def _check_one(root: Json, schema: Json, place: JsonPlace, known: set[int]) -> Iterator[SchemaProblem]:
    if schema is None:
        yield SchemaProblem(place, _TOO_DEEP, "Make it flatter.")
    if not isinstance(schema, dict):
        return
    for low, high in _PAIRS:
        least, most = schema.get(low), schema.get(high)
        if is_number(least) and is_number(most) and least > most:
            yield SchemaProblem((*place, high), f"{high!r} is below {low!r}, so nothing fits", "Swap or correct them.")
    yield from _check_required(schema, place)
    pattern, ref = schema.get("pattern", ""), schema.get("$ref", "")
    try:
        compile_pattern(str(pattern))
    except RegexError as error:
        fix = "Allowed: characters, [ ], groups, |, * + ? {m,n}, ^ and $; they always take linear time."
        yield SchemaProblem((*place, "pattern"), f"the pattern cannot be used: {error}", fix)
    if not isinstance(ref, str) or not ref:
        return
    try:
        target = resolve_reference(root, ref)
    except KeyError:
        target = None
    if not isinstance(target, bool) and id(target) not in known:
        fix = 'Put the schema under "$defs" and write "#/$defs/NAME"; nothing is ever fetched.'
        yield SchemaProblem((*place, "$ref"), f"the reference {one_line(ref)!r} points to no schema of this file", fix)


_PAIRS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))


def _check_required(schema: JsonSchema, place: JsonPlace) -> Iterator[SchemaProblem]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return
    open_ended = schema.get("additionalProperties", False) is not False or "allOf" in schema or "$ref" in schema
    for name in required:
        if name not in properties and not open_ended:
            fix = did_you_mean(str(name), properties, f'Add "{name}" to "properties" or take it out of "required".')
            message = f'"required" names {name!r}, which "properties" does not have'
            yield SchemaProblem((*place, "required"), message, fix)


def _check_written_out(root: Json) -> Iterator[SchemaProblem]:
    """Follow every reference: a small file can hide a huge or endless schema."""
    waiting: list[tuple[Json, JsonPlace, tuple[str, ...]]] = [(root, (), ())]
    circular: set[JsonPlace] = set()
    count = 0
    while waiting:
        schema, place, trail = waiting.pop()
        count += 1
        if count > limits.SCHEMA_NODES:
            message = f"the schema has more than {limits.SCHEMA_NODES} parts with its references written out"
            yield SchemaProblem((), message, "Make it smaller, or split the tool in two.")
            return
        if not isinstance(schema, dict):
            continue
        inside = [part for part in subschemas(schema) if part[0][0] not in ("$defs", "definitions")]
        waiting += [(child, place if trail else place + inner, trail) for inner, child in inside]
        ref = schema.get("$ref")
        at = place if trail else (*place, "$ref")
        if isinstance(ref, str) and ref not in trail:
            waiting.append((resolve_reference(root, ref), at, (*trail, ref)))
        elif isinstance(ref, str) and at not in circular:
            circular.add(at)
            fix = "Write the levels out: a value checked without end cannot be checked."
            yield SchemaProblem(at, f"the reference {one_line(ref)!r} leads back to itself", fix)
