"""Which JSON Schemas a tool may use for its parameters, and what is wrong with the others.

A schema in a definition file decides what runs, so it must mean what it says: a keyword that the
validator would ignore (``"requried"``) is refused with the nearest real one, and a schema that could
fetch something, never end or take minutes is refused before it sees a value.

Covered: unknown and misspelt keywords, values of the wrong type, remote, circular and dangling ``$ref``,
patterns that can run away, bounds on depth and on the size with every ``$ref`` written out, limits
that contradict each other. Not covered: schemas that no value can satisfy for a subtler reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeGuard
from urllib.parse import unquote

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.likeness import most_alike
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.data_formats.regex import RegexError, compile_pattern
from rails.json_schema.formats import CHECKED, INFORMING

JsonSchema = Mapping[str, Json]

#: The names of types, as JSON Schema calls them.
TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")

_TEXT: Final = frozenset({"title", "description", "$comment", "contentEncoding", "contentMediaType", "$schema", "$id"})
_ANYTHING: Final = frozenset({"default", "examples", "const", "deprecated", "readOnly", "writeOnly", "example"})
_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_ONE_SCHEMA: Final = frozenset(
    {"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedProperties"}
)
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OTHERS: Final = frozenset(
    {"type", "required", "enum", "pattern", "format", "uniqueItems", "dependentRequired", "$ref"}
)
#: Every keyword that a definition may use.
KEYWORDS: Final = _TEXT | _ANYTHING | _COUNTS | _NUMBERS | _ONE_SCHEMA | _LISTS | _NAMED | _OTHERS
#: Keywords of older or newer drafts, with what to write instead.
_INSTEAD: Final = {
    "additionalItems": 'Use "prefixItems" and "items" (JSON Schema 2020-12).',
    "dependencies": 'Use "dependentRequired" or "dependentSchemas" (JSON Schema 2020-12).',
    "patternProperties": 'Name the properties, or use "additionalProperties" with "propertyNames".',
    "unevaluatedItems": 'Use "items" or "maxItems".',
    "$anchor": 'Use a "$ref" that starts with "#/$defs/".',
    "$dynamicRef": 'Use a "$ref" that starts with "#/$defs/".',
    "$dynamicAnchor": 'Use a "$ref" that starts with "#/$defs/".',
    "$recursiveRef": 'Use a "$ref" that starts with "#/$defs/".',
    "optional": 'A property is optional when "required" does not list it.',
    "nullable": 'Write "type": ["string", "null"] instead.',
    "options": 'Use "enum".',
    "values": 'Use "enum".',
}
_DIALECTS: Final = ("2020-12/schema", "2019-09/schema", "draft-07/schema", "draft-06/schema", "draft-04/schema")


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One mistake in a schema: where (from the schema's root), what, and what to do."""

    place: JsonPlace
    message: str
    fix: str


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that ``name`` most probably means, or an empty string."""
    by_shape = {_shape(other): other for other in known}
    if _shape(name) in by_shape:
        return by_shape[_shape(name)]
    close = most_alike(_shape(name)[:64], by_shape)
    return by_shape[close] if close is not None else ""


def _shape(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a "Did you mean" sentence, or ``otherwise`` when nothing is near."""
    near = nearest_name(name, known)
    return f'Did you mean "{near}"?' if near else otherwise


def check_parameters(schema: Json) -> Iterator[SchemaProblem]:
    """Yield every mistake in the schema of a tool's parameters, whose root must be an object."""
    if not isinstance(schema, dict):
        yield SchemaProblem(
            (), f"a schema must be an object, not {kind_in_words(schema)}", 'Start with {"type": "object", …}.'
        )
        return
    if schema.get("type") != "object":
        yield SchemaProblem(("type",), 'the parameters must be an object: "type": "object"', 'Add "type": "object".')
    yield from check_schema(schema)


def check_schema(schema: Json) -> Iterator[SchemaProblem]:
    """Yield every mistake in ``schema``; nothing is fetched and nothing is validated with it."""
    problems = list(_Walk(schema).check(schema, (), 0))
    yield from problems
    if not problems:
        yield from _check_size(schema)


def kind_in_words(value: Json) -> str:
    """Return the JSON type of ``value`` in words ("an object")."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a number", list: "an array", dict: "an object"}
    return names[type(value)]


def is_number(value: Json) -> TypeGuard[float]:
    """Whether ``value`` is a number that JSON can write."""
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


def is_whole(value: Json) -> TypeGuard[float]:
    """Whether ``value`` is a number without a fraction, as JSON Schema counts: ``2.0`` is one."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def quoted_json(value: Json, limit: int = 80) -> str:
    """Return ``value`` as JSON on one printable line."""
    return one_line(json.dumps(value, ensure_ascii=False), limit)


def resolve_reference(root: Json, ref: str) -> Json:
    """Return what the local reference ``ref`` (``#``, ``#/$defs/…``) points to. Raises KeyError."""
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
    """Yield each schema directly inside ``schema`` with its place in it."""
    for key, value in schema.items():
        if key in _ONE_SCHEMA and not isinstance(value, list):
            yield (key,), value
        elif key in _LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                yield (key, index), item
        elif key in _NAMED and isinstance(value, dict):
            for name, item in value.items():
                yield (key, name), item


class _Walk:
    def __init__(self, root: Json) -> None:
        self.root = root
        self.ending: set[str] = set()  # references that are known not to come back: each is followed once
        self.schemas: set[int] = set()

    def check(self, schema: Json, place: JsonPlace, depth: int) -> Iterator[SchemaProblem]:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            yield SchemaProblem(
                place,
                f"a schema must be an object, not {kind_in_words(schema)}",
                'Write for example {"type": "string"}.',
            )
            return
        if depth > limits.SCHEMA_DEPTH:
            yield SchemaProblem(place, f"the schema has more than {limits.SCHEMA_DEPTH} levels", "Make it flatter.")
            return
        for key, value in schema.items():
            for problem in self.keyword(key, value):
                yield SchemaProblem((*place, *problem.place), problem.message, problem.fix)
        yield from _contradictions(schema, place)
        for inner, child in subschemas(schema):
            yield from self.check(child, place + inner, depth + 1)

    def keyword(self, key: str, value: Json) -> Iterator[SchemaProblem]:
        if key not in KEYWORDS:
            fix = _INSTEAD.get(key) or did_you_mean(key, KEYWORDS, 'Remove it, or put text under "$comment".')
            yield SchemaProblem((key,), f"the schema keyword {key!r} is not known, so it would check nothing", fix)
            return
        message = _wrong_value(key, value)
        if message:
            yield SchemaProblem((key,), f"{key!r} {message}", f"Found {quoted_json(value)}.")
        elif key == "$ref" and isinstance(value, str):
            yield from self.reference(value)
        elif key == "pattern" and isinstance(value, str):
            yield from _check_pattern(value)
        elif key == "format" and isinstance(value, str) and value not in CHECKED and value not in INFORMING:
            fix = did_you_mean(value, CHECKED, f"Known: {', '.join(sorted(CHECKED))}.")
            yield SchemaProblem((key,), f"the format {value!r} is not known, so it would check nothing", fix)

    def reference(self, ref: str) -> Iterator[SchemaProblem]:
        if not ref.startswith("#/"):
            fix = 'Put the schema under "$defs" and write "#/$defs/NAME"; nothing is ever fetched.'
            yield SchemaProblem(("$ref",), f"the reference {one_line(ref)!r} does not stay inside this schema", fix)
            return
        try:
            target = resolve_reference(self.root, ref)
        except KeyError:
            yield SchemaProblem(("$ref",), f"the reference {one_line(ref)!r} points to nothing", "Correct its path.")
            return
        if not isinstance(target, bool) and id(target) not in (self.schemas or self.collected()):
            fix = 'Put the schema under "$defs" and write "#/$defs/NAME".'
            yield SchemaProblem(("$ref",), f"the reference {one_line(ref)!r} points to what is no schema", fix)
        elif ref not in self.ending and self.comes_back(target, [ref]):
            fix = "Write the levels out: a value checked without end cannot be checked."
            yield SchemaProblem(("$ref",), f"the reference {one_line(ref)!r} leads back to itself", fix)
        else:
            self.ending.add(ref)

    def collected(self) -> set[int]:
        """Return what every schema is known by, those within others, too."""
        waiting = [self.root]
        while waiting:
            schema = waiting.pop()
            self.schemas.add(id(schema))
            if isinstance(schema, dict):
                waiting.extend(child for _, child in subschemas(schema))
        return self.schemas

    def comes_back(self, schema: Json, trail: list[str]) -> bool:
        """Say whether following references from ``schema`` reaches one that is already on the trail."""
        if not isinstance(schema, dict) or len(trail) > limits.SCHEMA_DEPTH:
            return isinstance(schema, dict)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in self.ending:
            try:
                if ref in trail or self.comes_back(resolve_reference(self.root, ref), [*trail, ref]):
                    return True
            except KeyError:
                return False
            self.ending.add(ref)
        return any(self.comes_back(child, trail) for place, child in subschemas(schema) if place[0] not in _NAMED_ONLY)


_NAMED_ONLY: Final = frozenset({"$defs", "definitions"})


def _wrong_value(key: str, value: Json) -> str:
    """Say why ``value`` cannot be the value of the known keyword ``key``; empty when it can."""
    if key in _TEXT:
        return _wrong_text(key, value)
    if key in _COUNTS:
        return "" if is_whole(value) and value >= 0 else "needs a whole number, 0 or more"
    if key in _NUMBERS:
        good = is_number(value) and not (key == "multipleOf" and value <= 0)
        return "" if good else f"needs a number{' above 0' if key == 'multipleOf' else ''}"
    if key in _LISTS:
        return "" if isinstance(value, list) and value else "needs a list of at least one schema"
    if key in _NAMED:
        return "" if isinstance(value, dict) else "needs an object of names and schemas"
    if key in _ONE_SCHEMA and isinstance(value, list):
        return "needs one schema" + ('; a list of schemas is called "prefixItems"' if key == "items" else "")
    check = _OTHER_VALUES.get(key)
    return check(value) if check else ""


def _wrong_text(key: str, value: Json) -> str:
    if not isinstance(value, str):
        return "needs a string"
    if key == "$schema" and not value.rstrip("#").endswith(_DIALECTS):
        return "names an unknown JSON Schema dialect; leave it out, 2020-12 is used"
    if key == "$id":
        return "is not supported: references stay inside the schema. Remove it"
    return ""


def _wrong_type(value: Json) -> str:
    names = value if isinstance(value, list) else [value]
    wrong = [name for name in names if name not in TYPES]
    if not names or wrong:
        near = nearest_name(str(wrong[0]), TYPES) if wrong else ""
        return f"needs one of {', '.join(TYPES)}" + (f' (did you mean "{near}"?)' if near else "")
    return ""


def _wrong_names(value: Json) -> str:
    if isinstance(value, bool):
        return 'needs a list of property names, beside "properties", not true or false inside a property'
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return "needs a list of property names"
    return "" if len(set(map(str, value))) == len(value) else "lists a name twice"


def _wrong_enum(value: Json) -> str:
    return "" if isinstance(value, list) and value else "needs a list of at least one allowed value"


def _wrong_dependent(value: Json) -> str:
    good = isinstance(value, dict) and not any(_wrong_names(names) for names in value.values())
    return "" if good else "needs an object whose values are lists of property names"


_OTHER_VALUES: Final[Mapping[str, Callable[[Json], str]]] = {
    "type": _wrong_type,
    "required": _wrong_names,
    "enum": _wrong_enum,
    "dependentRequired": _wrong_dependent,
    "uniqueItems": lambda value: "" if isinstance(value, bool) else "needs true or false",
    "examples": lambda value: "" if isinstance(value, list) else "needs a list",
    "pattern": lambda value: "" if isinstance(value, str) else "needs a string",
    "format": lambda value: "" if isinstance(value, str) else "needs a string",
    "$ref": lambda value: "" if isinstance(value, str) else "needs a string",
}

_PAIRS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))


def _contradictions(schema: JsonSchema, place: JsonPlace) -> Iterator[SchemaProblem]:
    for low, high in _PAIRS:
        least, most = schema.get(low), schema.get(high)
        if is_number(least) and is_number(most) and least > most:
            yield SchemaProblem((*place, high), f"{high!r} is below {low!r}, so nothing fits", "Swap or correct them.")
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return
    open_ended = schema.get("additionalProperties", False) is not False or "allOf" in schema or "$ref" in schema
    for name in required:
        if isinstance(name, str) and name not in properties and not open_ended:
            fix = did_you_mean(name, properties, f'Add "{name}" to "properties" or take it out of "required".')
            yield SchemaProblem(
                (*place, "required"), f'"required" names {name!r}, which "properties" does not have', fix
            )


def _check_pattern(pattern: str) -> Iterator[SchemaProblem]:
    try:
        compile_pattern(pattern)
    except RegexError as error:
        fix = "Allowed: characters, [ ], groups, |, * + ? {m,n}, ^ and $; they always take linear time."
        yield SchemaProblem(("pattern",), f"the pattern cannot be used: {error}", fix)


def _check_size(root: Json) -> Iterator[SchemaProblem]:
    """Count the sub-schemas with every reference written out; a small file can hide a huge schema."""
    count = 0
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        count += 1
        if count > limits.SCHEMA_NODES:
            message = f"the schema has more than {limits.SCHEMA_NODES} parts with its references written out"
            yield SchemaProblem((), message, "Make it smaller, or split the tool in two.")
            return
        if isinstance(schema, dict):
            waiting.extend(child for place, child in subschemas(schema) if place[0] not in _NAMED_ONLY)
            ref = schema.get("$ref")
            if isinstance(ref, str):
                waiting.append(resolve_reference(root, ref))
