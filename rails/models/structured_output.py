"""Tool schemas for a provider's strict mode: constrained sampling that keeps a call's shape right.

Strict mode takes a part of JSON Schema. A keyword that only narrows values and that the provider does not
take is moved into the description, where the model still reads it; a schema whose *shape* cannot be said
(a map of any names, parts that are combined, a value of any type) is sent as it is, without ``strict``.
What comes back is validated here against the whole definition either way: strict mode saves attempts, it is
not trusted.

Sources: the schema part of Anthropic's SDK (``transform_schema``) and the published limits of both
providers. Anthropic compiles all strict tools of a request into one grammar: at most 20 tools, 24 optional
parameters and 16 unions, and a size that is not published, so a refusal for that reason has to be expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rails.core import limits
from rails.core.conversation import Delta, ToolSpec
from rails.core.dataclass import dataclass
from rails.core.errors import ModelError
from rails.core.tool_request import Json

_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_ANNOTATIONS: Final = ("title", "description")
#: What may stand beside the keyword that says what kind of node this is; the rest goes into the description.
_SHAPE: Final = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "$defs"})
#: Keywords whose meaning lies in the shape and cannot be said otherwise.
_IMPOSSIBLE: Final = frozenset(
    {
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "prefixItems",
        "unevaluatedProperties",
        "unevaluatedItems",
        "definitions",
    }
)


@dataclass(frozen=True, slots=True)
class StrictRules:
    """What one provider's strict mode takes.

    ``optional``: whether a property may be left out; if not, it has to be sent and may be null.
    ``keeps``: further keywords that stay. ``tools``, ``optionals``, ``unions``: most of each in one request.
    """

    optional: bool
    keeps: frozenset[str]
    formats: frozenset[str]
    tools: int
    optionals: int
    unions: int


ANTHROPIC: Final = StrictRules(True, frozenset(), _FORMATS, 20, 24, 16)
OPENAI: Final = StrictRules(
    False,
    frozenset(
        {
            "pattern",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
        }
    ),
    _FORMATS - {"uri"},
    128,
    5_000,
    5_000,
)
_DEPTH: Final = 9  # both providers: ten levels at most
_CHARS: Final = 100_000  # of one schema; OpenAI takes 120,000 of names and values


class _Unfit(Exception):
    """The schema has a shape that strict mode cannot say."""


@dataclass(slots=True)
class Strictness:
    """Whether to ask for strict mode: ``None`` (the provider's own servers only), always, or never.

    ``AI_RAILS_STRICT`` (1 or 0) sets it. Once a server has refused a request for its strict tools, it is not
    asked again.
    """

    wanted: bool | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Strictness:
        """Read ``AI_RAILS_STRICT``."""
        return cls({"1": True, "0": False}.get(environment.get("AI_RAILS_STRICT", "")))

    def asked(self, answer: Callable[[bool], Iterator[Delta]], *, own_server: bool) -> Iterator[Delta]:
        """Yield what ``answer`` yields: asked strictly first where that is wanted, and, after a refusal, without.

        Raises ModelError as ``answer`` does.
        """
        if self.wanted if self.wanted is not None else own_server:
            try:
                yield from answer(True)
                return
            except ModelError as error:
                if not _is_refusal(error):
                    raise
                self.wanted = False
        yield from answer(False)


@dataclass(slots=True)
class _Count:
    optionals: int = 0
    unions: int = 0


def strict_tools(tools: Sequence[ToolSpec], rules: StrictRules) -> dict[str, dict[str, Json]]:
    """Return the strict schema of every tool that fits, by name, within what one request may hold.

    Where the request's limits are too small for all, the tools with the fewest optional parameters come first.
    """
    fitting = [(found, tool.name) for tool in tools if (found := _strict(tool, rules)) is not None]
    chosen: dict[str, dict[str, Json]] = {}
    optionals = unions = 0
    for (schema, count), name in sorted(fitting, key=lambda item: (item[0][1].optionals, item[1])):
        if len(chosen) < rules.tools and optionals + count.optionals <= rules.optionals:
            if unions + count.unions > rules.unions:
                continue
            chosen[name] = schema
            optionals, unions = optionals + count.optionals, unions + count.unions
    return chosen


def _is_refusal(error: ModelError) -> bool:
    """Whether the server refused a request because of its strict tools, so that it is worth sending without."""
    words = str(error).casefold()
    return "(http 400)" in words and any(word in words for word in ("strict", "grammar", "schema"))


def _strict(tool: ToolSpec, rules: StrictRules) -> tuple[dict[str, Json], _Count] | None:
    schema = json.loads(tool.schema)
    return _converted(schema, rules) if isinstance(schema, dict) else None


def _converted(schema: Mapping[str, Json], rules: StrictRules) -> tuple[dict[str, Json], _Count] | None:
    count = _Count()
    if schema.get("type", "object") != "object" or {"anyOf", "oneOf", "$ref"} & set(schema):
        return None  # the root has to be one object
    try:
        result = _node({"type": "object", **schema}, rules, count, 0)
        if isinstance(defs := schema.get("$defs"), dict):
            result["$defs"] = {name: _node(part, rules, count, 1) for name, part in defs.items()}
    except _Unfit:
        return None
    return None if len(json.dumps(result)) > _CHARS else (result, count)


def _node(schema: Json, rules: StrictRules, count: _Count, depth: int) -> dict[str, Json]:
    if not isinstance(schema, dict) or depth > min(_DEPTH, limits.SCHEMA_DEPTH) or _IMPOSSIBLE & set(schema):
        raise _Unfit
    if isinstance(ref := schema.get("$ref"), str):
        if not ref.startswith("#/$defs/") or set(schema) - {"$ref", *_ANNOTATIONS}:
            raise _Unfit
        return {"$ref": ref}
    branches = schema.get("anyOf", schema.get("oneOf"))
    types = schema.get("type")
    if isinstance(branches, list):
        if (_SHAPE - {"$defs"}) & set(schema) or ("anyOf" in schema and "oneOf" in schema):
            raise _Unfit  # parts that are combined with their siblings
        count.unions += 1
        return _with_words(schema, {"anyOf": [_node(part, rules, count, depth + 1) for part in branches]}, {"anyOf"})
    if isinstance(types, list):
        bare = [{**_bare(schema), "type": one} for one in types if _has_values(schema, one)]
        inner = [_node(one, rules, count, depth + 1) for one in bare]
        count.unions += 1
        return _with_words(schema, {"anyOf": list(inner)}, set(schema) - set(_ANNOTATIONS))
    return _plain(schema, rules, count, depth)


def _bare(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in schema.items() if key not in (*_ANNOTATIONS, "type")}


def _plain(schema: Mapping[str, Json], rules: StrictRules, count: _Count, depth: int) -> dict[str, Json]:
    result: dict[str, Json] = {}
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
            raise _Unfit
        fitting = [value for value in values if _is_of(value, schema.get("type"))]
        if not fitting:
            raise _Unfit
        return _with_words(schema, {"enum": fitting}, {"enum", "const", "type"})
    match kind := schema.get("type"):
        case "object":
            result = _object(schema, rules, count, depth)
        case "array":
            result = {"type": "array", "items": _node(schema.get("items"), rules, count, depth + 1)}
            if rules.optional and schema.get("minItems") in (0, 1):
                result["minItems"] = schema["minItems"]
        case "string" if schema.get("format") in rules.formats:
            result = {"type": "string", "format": schema["format"]}
        case "string" | "integer" | "number" | "boolean" | "null":
            result = {"type": kind}
        case _:
            raise _Unfit
    result |= {key: schema[key] for key in rules.keeps & set(schema)}
    return _with_words(schema, result, set(result) | _SHAPE)


def _object(schema: Mapping[str, Json], rules: StrictRules, count: _Count, depth: int) -> dict[str, Json]:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if schema.get("additionalProperties", False) is not False:
        raise _Unfit  # a map of any names
    if not isinstance(properties, dict) or not isinstance(required, list) or set(map(str, required)) - set(properties):
        raise _Unfit
    if not properties and "properties" not in schema and depth:
        raise _Unfit  # an object of which nothing is said may hold anything
    made: dict[str, Json] = {}
    for name, inner in properties.items():
        part = _node(inner, rules, count, depth + 1)
        if name not in required:
            count.optionals += 1
            part = part if rules.optional else _nullable(part)
        made[name] = part
    needed = [name for name in properties if not rules.optional or name in required]
    return {"type": "object", "properties": made, "required": list(needed), "additionalProperties": False}


def _nullable(schema: dict[str, Json]) -> dict[str, Json]:
    """Return ``schema`` with null allowed: how an optional parameter is left out where all have to be sent."""
    words: dict[str, Json] = {key: schema[key] for key in _ANNOTATIONS if key in schema}
    inner = {key: value for key, value in schema.items() if key not in words}
    if isinstance(kind := inner.get("type"), str) and kind != "null":
        return {**words, **inner, "type": [kind, "null"]}
    if isinstance(values := inner.get("enum"), list):
        return {**words, **inner, "enum": values if None in values else [*values, None]}
    return {**words, "anyOf": [inner, {"type": "null"}]}


def _is_of(value: Json, kind: Json) -> bool:
    """Whether an enum's value is of the type beside it; both must hold, so the others can never be sent."""
    names = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
    own = names.get(type(value), "")
    return kind is None or own == kind or (own == "integer" and kind == "number")


def _has_values(schema: Mapping[str, Json], kind: Json) -> bool:
    values = schema.get("enum")
    return not isinstance(values, list) or any(_is_of(value, kind) for value in values)


def _with_words(schema: Mapping[str, Json], result: dict[str, Json], said: set[str]) -> dict[str, Json]:
    """Add title and description, the latter with every keyword that ``result`` does not say."""
    silent = said | {*_ANNOTATIONS, "anyOf", "oneOf", "examples", "example"}
    rest = {key: value for key, value in schema.items() if key not in silent and not key.startswith("$")}
    words = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in rest.items())
    text = " ".join(part for part in (str(schema.get("description", "")), f"({words})" if words else "") if part)
    titled: dict[str, Json] = {"title": schema["title"]} if isinstance(schema.get("title"), str) else {}
    return {**result, **titled, **({"description": text} if text else {})}
