"""Tools are sent in the provider's strict mode where their schema fits, and as they are where it does not."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from rails.core.app_dirs import builtin_folder
from rails.core.conversation import Message, TextPart, ToolSpec
from rails.core.errors import ModelError
from rails.core.tool_request import RawRequest, ToolRequest
from rails.json_schema.validator import closed
from rails.models.anthropic import AnthropicModel
from rails.models.model import ModelOptions
from rails.models.openai import OpenAIModel
from rails.models.providers import open_model
from rails.models.structured_output import ANTHROPIC, OPENAI, strict_tools
from rails.testing import Reply, StubServer, says
from rails.tools.loader import load_definitions
from rails.tools.validate import validate
from tests.rows import walked

SHIPPED = load_definitions([builtin_folder("mcp_definitions")]).definitions
ORIGINAL = load_definitions([Path(__file__).parent.parent / "tools" / "original_definitions"]).definitions
DEFINED = {**SHIPPED, **ORIGINAL}
#: Their parameters hold values of any type, or maps of any names.
UNFIT = {"edit_workflow", "file_editor", "n8n_node_info", "PostgreSQLMCP", "n8n_automation"}
WORDS = {"title", "description"}


def strict_schema(schema, rules):
    return strict_tools([ToolSpec("t", "", json.dumps(schema))], rules).get("t")


def nodes(schema):
    yield schema
    for key in ("properties", "$defs"):
        for part in schema.get(key, {}).values():
            yield from nodes(part)
    for part in schema.get("anyOf", []):
        yield from nodes(part)
    if "items" in schema:
        yield from nodes(schema["items"])


def without_words(schema):
    if isinstance(schema, dict):
        named = {
            key: {name: without_words(one) for name, one in schema[key].items()}
            for key in ("properties", "$defs")
            if key in schema
        }
        return {**{key: without_words(value) for key, value in schema.items() if key not in WORDS}, **named}
    return [without_words(one) for one in schema] if isinstance(schema, list) else schema


@walked("name", DEFINED)
@walked("rules", [ANTHROPIC, OPENAI])
def test_only_what_the_provider_takes_is_in_a_strict_schema(name, rules):
    schema = strict_schema(DEFINED[name].request_schema, rules)
    if schema is None:
        assert name in UNFIT
        return
    assert schema["type"] == "object"
    taken = {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "anyOf",
        "$ref",
        "$defs",
        "format",
    }
    taken |= WORDS | rules.keeps | ({"minItems"} if rules is ANTHROPIC else set())
    for node in nodes(schema):
        assert set(node) <= taken
        assert ("anyOf" in node) + ("type" in node) + ("$ref" in node) + ("enum" in node) >= 1
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            if rules is OPENAI:
                assert set(node["required"]) == set(node["properties"])
    Draft202012Validator.check_schema(schema)


@walked("name", [name for name, one in DEFINED.items() if one.examples])
def test_the_examples_of_a_tool_can_be_said_in_strict_mode(name):
    for rules in (ANTHROPIC, OPENAI):
        schema = strict_schema(DEFINED[name].request_schema, rules)
        for example in DEFINED[name].examples if schema else ():
            Draft202012Validator(schema).validate(
                with_nulls(schema, dict(example)) if rules is OPENAI else dict(example)
            )


def with_nulls(schema, value):
    """Send null for what is left out, as a strict mode without optional properties does."""
    if isinstance(value, dict) and "properties" in schema:
        return {name: with_nulls(part, value.get(name)) for name, part in schema["properties"].items()}
    if isinstance(value, list) and "items" in schema:
        return [with_nulls(schema["items"], one) for one in value]
    return value


SCALARS = st.sampled_from(
    [
        ({"type": "string", "minLength": 1, "maxLength": 4}, st.text("ab", min_size=1, max_size=4)),
        ({"type": "integer", "minimum": 0, "maximum": 9}, st.integers(0, 9)),
        ({"type": "boolean", "description": "a flag", "default": False}, st.booleans()),
        ({"enum": ["a", "b", 3]}, st.sampled_from(["a", "b", 3])),
        ({"type": ["string", "null"], "enum": ["x", None]}, st.sampled_from(["x", None])),
        ({"const": "only"}, st.just("only")),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, st.integers(0, 3) | st.text("c", max_size=2)),
        ({"type": "string", "format": "uuid"}, st.uuids().map(str)),
        ({"type": "string", "pattern": "^a+$"}, st.text("a", min_size=1, max_size=3)),
    ]
)


@st.composite
def described(draw, depth=2):
    """A schema and a strategy for values that satisfy it."""
    kind = draw(st.sampled_from(["scalar", "object", "array"] if depth else ["scalar"]))
    if kind == "scalar":
        return draw(SCALARS)
    if kind == "array":
        item, values = draw(described(depth=depth - 1))
        return {"type": "array", "items": item, "minItems": 1, "maxItems": 3}, st.lists(values, min_size=1, max_size=3)
    return draw(objects(depth=depth - 1))


@st.composite
def objects(draw, depth=2):
    parts = {name: draw(described(depth=depth)) for name in draw(st.sets(st.sampled_from("pqr")))}
    required = sorted(draw(st.sets(st.sampled_from(sorted(parts)))) if parts else [])
    schema = {"type": "object", "properties": {name: part for name, (part, _) in parts.items()}, "required": required}
    values = {name: one for name, (_, one) in parts.items()}
    needed = {name: values[name] for name in required}
    return schema, st.fixed_dictionaries(needed, optional={name: values[name] for name in set(values) - set(required)})


@given(st.data())
def test_a_valid_call_is_never_ruled_out_and_comes_back_valid(data):
    schema, values = data.draw(objects())
    value = data.draw(values)
    assert Draft202012Validator(closed(schema)).is_valid(value)
    for rules in (ANTHROPIC, OPENAI):
        strict = strict_schema(schema, rules)
        assert strict is not None
        sent = with_nulls(strict, value) if rules is OPENAI else value
        assert Draft202012Validator(strict).is_valid(sent)
        definition = replace(SHIPPED["read_file"], request_schema=schema, aliases={})
        request = validate(RawRequest("r1", "read_file", sent, dialect="native"), registry_of(definition), "coder")
        assert isinstance(request, ToolRequest), request
        if rules is ANTHROPIC:
            assert request.parameters == {**defaults(schema), **value}
        # A property that may be null itself is null when it is left out: both say the same to such a tool.
        assert without_none(request.parameters) == without_none({**defaults(schema), **value})


def without_none(value):
    if isinstance(value, dict):
        return {name: without_none(one) for name, one in value.items() if one is not None}
    return [without_none(one) for one in value] if isinstance(value, list) else value


def registry_of(definition):
    from rails.tools.registry import Registry

    return Registry({"read_file": definition})


def defaults(schema):
    return {name: part["default"] for name, part in schema["properties"].items() if "default" in part}


@walked(
    "part",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "array"},
        {"allOf": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "if": {}, "then": {}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
        {"enum": [{"a": 1}]},
        {"not": {"type": "string"}},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}},
    ],
)
def test_a_shape_that_strict_mode_cannot_say_is_left_as_it_is(part):
    schema = {"type": "object", "properties": {"value": part}, "required": []}
    assert strict_schema(schema, ANTHROPIC) is None
    assert strict_schema(schema, OPENAI) is None


def test_a_bound_that_is_not_taken_is_told_in_the_description():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "description": "How many.", "maximum": 9}}}
    assert strict_schema(schema, ANTHROPIC)["properties"]["n"] == {
        "type": "integer",
        "description": "How many. (maximum: 9)",
    }
    assert strict_schema(schema, OPENAI)["properties"]["n"] == {
        "type": ["integer", "null"],
        "maximum": 9,
        "description": "How many.",
    }


def spec(name, optional):
    properties = {f"p{number}": {"type": "string"} for number in range(optional)}
    return ToolSpec(name, "A tool.", json.dumps({"type": "object", "properties": properties}))


def test_the_limits_of_one_request_are_kept():
    assert list(strict_tools([spec("fat", 18), spec("thin", 8)], ANTHROPIC)) == ["thin"]
    assert set(strict_tools([spec("fat", 16), spec("thin", 8)], ANTHROPIC)) == {"thin", "fat"}
    assert len(strict_tools([spec(f"t{number}", 0) for number in range(30)], ANTHROPIC)) == 20


ASK = {"system": "", "messages": [Message("user", (TextPart("?"),))]}
MAP = ToolSpec("tags", "Tags.", '{"type": "object", "properties": {"t": {"type": "object"}}}')
BIG = (
    "tools: The compiled grammar is too large, which would cause performance issues. Reduce the number of strict tools."
)


def opened(provider, url, wanted):
    if provider == "anthropic":
        return AnthropicModel("m", "k", url, strict=wanted)
    return OpenAIModel("m", "k", url + "/v1", strict=wanted)


def sent(provider, request):
    return [tool.get("function", tool) for tool in request.body["tools"]]


@walked("provider", ["anthropic", "openai"])
def test_over_the_wire_a_fitting_tool_is_strict_and_another_is_sent_whole(provider):
    with StubServer([says("Hi.")]) as stub:
        list(opened(provider, stub.url, True).stream(**ASK, tools=[spec("plain", 1), MAP]))
        plain, tags = sent(provider, stub.requests[0])
    key = "input_schema" if provider == "anthropic" else "parameters"
    assert plain["strict"] is True
    assert plain[key]["additionalProperties"] is False
    assert "strict" not in tags
    assert tags[key] == json.loads(MAP.schema)


@walked("provider", ["anthropic", "openai"])
def test_a_request_that_is_refused_for_its_strict_tools_is_sent_again_without_and_so_are_all_others(provider):
    with StubServer([Reply(status=400, message=BIG), says("Hi."), says("Again.")]) as stub:
        model = opened(provider, stub.url, True)
        assert list(model.stream(**ASK, tools=[spec("plain", 1)]))[-1].message.text == "Hi."
        assert list(model.stream(**ASK, tools=[spec("plain", 1)]))[-1].message.text == "Again."
        strict = ["strict" in sent(provider, request)[0] for request in stub.requests]
    assert strict == [True, False, False]


@walked("provider", ["anthropic", "openai"])
def test_another_refusal_is_told_at_once(provider):
    with StubServer([Reply(status=400, message="no such model"), says("Hi.")]) as stub:
        with pytest.raises(ModelError, match="no such model"):
            list(opened(provider, stub.url, True).stream(**ASK, tools=[spec("plain", 1)]))
        assert len(stub.requests) == 1


@walked("provider", ["anthropic", "openai"])
def test_a_server_of_ones_own_is_sent_the_schema_as_it_is(provider):
    with StubServer([says("Hi.")]) as stub:
        list(opened(provider, stub.url, None).stream(**ASK, tools=[spec("plain", 1)]))
        assert "strict" not in sent(provider, stub.requests[0])[0]


def test_the_environment_says_whether_and_else_the_providers_own_servers_are_asked_strictly():
    for value, base_url, strict in (
        ("1", "http://h/v1", True),
        ("0", None, False),
        ("", None, True),
        ("", "http://h", False),
    ):
        options = ModelOptions(environment={"AI_RAILS_STRICT": value, "OPENAI_API_KEY": "k"})
        assert open_model("openai:m", base_url=base_url, options=options).is_sent("strict") is strict


NULLS = {"file_path": "a.py", "offset": None}


def test_a_null_for_an_optional_parameter_of_a_native_call_is_left_out():
    request = validate(
        RawRequest("r1", "read_file", NULLS, dialect="native"), registry_of(SHIPPED["read_file"]), "coder"
    )
    assert dict(request.parameters) == {"file_path": "a.py"}


@walked(
    ("parameters", "dialect"),
    [(NULLS, "s4"), ({"file_path": None}, "native"), ({"file_path": "a", "x": None}, "native")],
)
def test_any_other_null_is_refused(parameters, dialect):
    request = RawRequest("r1", "read_file", parameters, dialect=dialect)
    assert not isinstance(validate(request, registry_of(SHIPPED["read_file"]), "coder"), ToolRequest)
