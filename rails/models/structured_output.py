"""Tool schemas for a provider's strict mode (constrained sampling).

Unsupported narrowing keywords move to the description; a schema with other ones, or with free-form maps, goes without
``strict``. Answers are validated here either way. Source: both providers' published limits; Anthropic: 20 tools, 24
optional parameters, and an unpublished grammar size, so refusals must be expected.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct

from rails.core.conversation import ToolSpec
from rails.core.tool_request import Json

#: Keywords that say what kind of value it is.
_SHAPE: Final = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const"})
_NARROWING: Final = frozenset(
    {
        *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "default"),
    }
)
_KNOWN: Final = (
    _SHAPE
    | _NARROWING
    | {"title", "description", "oneOf", "anyOf", "examples", "deprecated", "$schema", "$id", "$comment"}
)
_PLAIN: Final = {str, int, float, bool, type(None)}
_SCALARS: Final = ("string", "integer", "number", "boolean", "null")
_DEPTH: Final = 9  # both providers: ten levels at most


class StrictRules(Struct, frozen=True):
    """A provider's strict mode.

    ``optional``: properties may be omitted; if not, they are sent and may be null. ``keeps``: supported narrowing
    keywords. ``tools``, ``optionals``: bounds per request.
    """

    optional: bool
    keeps: frozenset[str]
    tools: int
    optionals: int


ANTHROPIC: Final = StrictRules(True, frozenset(), 20, 24)
OPENAI: Final = StrictRules(False, _NARROWING & {"pattern", "minimum", "maximum", "minItems", "maxItems"}, 128, 5_000)


class _Unfit(Exception):
    """A schema unfit for strict mode."""


def strict_tools(tools: Sequence[ToolSpec], rules: StrictRules) -> dict[str, Json]:
    """Return the strict schemas by name, within a request's bounds.

    Fewest optional parameters first.
    """
    fitting: list[tuple[int, str, Json]] = []
    for tool in tools:
        optional: list[str] = []
        with suppress(_Unfit, TypeError, AttributeError):  # these of a schema that is none
            strict = _node({"type": "object", "properties": {}, **json.loads(tool.schema)}, rules, optional, 0)
            fitting.append((len(optional), tool.name, strict))
    chosen: dict[str, Json] = {}
    left = rules.optionals
    for count, name, schema in sorted(fitting, key=itemgetter(0, 1))[: rules.tools]:
        left -= count
        if left >= 0:
            chosen[name] = schema
    return chosen


def _node(schema: Any, rules: StrictRules, optional: list[str], depth: int) -> dict[str, Json]:  # noqa: ANN401
    if depth > _DEPTH or set(schema) - _KNOWN:
        raise _Unfit
    kind = schema.get("type")
    result: dict[str, Json] = {"type": kind, **{key: schema[key] for key in sorted(rules.keeps & set(schema))}}
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    branches = schema.get("oneOf", schema.get("anyOf"))
    if branches is not None and not _SHAPE & set(schema):
        result = {"anyOf": [_node(part, rules, optional, depth + 1) for part in branches]}
    elif values and kind not in ("object", "array") and {*map(type, values)} <= _PLAIN:
        result = {"enum": values}
    elif values is not None or branches is not None:
        raise _Unfit  # of objects, or combined with its siblings
    elif kind == "object":
        result |= _object(schema, rules, optional, depth)
    elif kind == "array":
        result["items"] = _node(schema.get("items"), rules, optional, depth + 1)
    elif kind not in _SCALARS:
        raise _Unfit
    unsaid = [key for key in schema if key in _NARROWING and key not in result]
    words = ", ".join(f"{key}: {json.dumps(schema[key], ensure_ascii=False)}" for key in unsaid)
    text = " ".join(filter(None, (schema.get("description"), words and f"({words})")))
    return {**result, "description": text} if text else result


def _object(schema: Any, rules: StrictRules, optional: list[str], depth: int) -> dict[str, Json]:  # noqa: ANN401
    properties, required = schema.get("properties"), schema.get("required", [])
    # A map of any names, or an object of which nothing is said, may hold anything.
    if schema.get("additionalProperties", False) is not False or set(required) - set(properties):
        raise _Unfit
    parts: dict[str, Json] = {}
    for name, inner in properties.items():
        part = _node(inner, rules, optional, depth + 1)
        if name not in required:
            optional.append(name)
            if not rules.optional:
                kind = part.get("type")
                null: dict[str, Json] = {"anyOf": [part, {"type": "null"}]}
                part = {**part, "type": [kind, "null"]} if isinstance(kind, str) else null
        parts[name] = part
    return {
        "properties": parts,
        "required": [name for name in properties if not rules.optional or name in required],
        "additionalProperties": False,
    }
