"""Texts become what a schema wants where nothing else can be meant, and everything else stays the very same value."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.strict_json import ParsedJson, number_from_text, parse_strict
from rails.json_schema.coerce import BrokenText, Coercion, Conversion
from tests.rows import walked


def read(text, _schema):
    if text[:1] not in "[{":
        return None
    found = parse_strict(text)
    return found if isinstance(found, ParsedJson) else BrokenText(found.message, "Send JSON.")


def coerced(value, schema, **switches):
    coercion = Coercion(schema, read, **switches)
    return coercion.value(value, schema), coercion


def properties(**named):
    return {"type": "object", "properties": named}


@walked(
    ("schema", "sent", "meant"),
    [
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, "-0", 0),
        ({"type": "integer"}, "9" * 40, int("9" * 40)),
        ({"type": "number"}, "12", 12),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": ["integer", "null"]}, "-3", -3),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": False}, "false", False),
        ({"properties": {"n": {"type": "integer"}}}, '{"n": "1"}', {"n": 1}),
        ({"items": {"type": "integer"}}, '["1"]', [1]),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, '["1"]', [1]),
        ({"allOf": [{"type": "integer"}]}, "7", 7),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {}], "items": {"type": "boolean"}},
            ["1", "1", "true"],
            [1, "1", True],
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": "1"}, {"x": 1}),
    ],
)
def test_a_text_is_converted_where_the_schema_rules_texts_out(schema, sent, meant):
    before = json.dumps(sent)
    value, coercion = coerced(sent, schema)
    assert json.dumps(value) == json.dumps(meant)
    assert json.dumps(sent) == before
    assert coercion.conversions
    assert not coercion.broken


def test_references_lead_into_the_root():
    schema = {**properties(n={"$ref": "#/$defs/count"}), "$defs": {"count": {"type": "integer"}}}
    assert coerced({"n": "7"}, schema)[0] == {"n": 7}


@walked(
    ("schema", "sent"),
    [
        ({"type": "string"}, "12"),
        ({"type": ["string", "integer"]}, "12"),
        ({}, "[1]"),
        (True, "[1]"),
        ({"enum": ["1", 1]}, "1"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "[1]"),
        ({"type": "integer"}, "1.0"),
        ({"type": "integer"}, "٣"),
        ({"type": "integer"}, " 1"),
        ({"type": "integer"}, 1.0),
        ({"type": "number"}, "1e999"),
        ({"type": "number"}, "9" * 41),
        ({"type": "number"}, "0x1"),
        ({"type": "boolean"}, "True"),
        ({"type": "array"}, '{"a": 1}'),
        ({"type": "array"}, "a, b"),
        ({"type": "null"}, "null"),
        (properties(a={"type": "integer"}), {"b": "1", "a": None}),
        ({"type": "array", "items": properties(a={"type": "integer"})}, [{"b": "1"}, {"b": "2"}]),
    ],
)
def test_what_has_not_to_be_converted_stays(schema, sent):
    value, coercion = coerced(sent, schema)
    assert json.dumps(value) == json.dumps(sent)
    assert (coercion.conversions, coercion.broken) == ([], [])


def test_conversions_are_named_with_their_places_and_repairs():
    schema = properties(
        edits={"type": "array", "items": properties(line={"type": "integer"})}, deep={"type": "boolean"}
    )
    value, coercion = coerced({"edits": '[{"line": "3"}]', "deep": "true"}, schema)
    assert value == {"edits": [{"line": 3}], "deep": True}
    assert coercion.conversions == [
        Conversion(("edits",), '[{"line": "3"}]', "array"),
        Conversion(("edits", 0, "line"), "3", "integer"),
        Conversion(("deep",), "true", "boolean"),
    ]


def test_a_text_that_begins_like_json_and_is_broken_is_told_and_stays():
    value, coercion = coerced({"a": "[1,"}, properties(a={"type": "array"}))
    assert value == {"a": "[1,"}
    ((place, broken),) = coercion.broken
    assert (place, broken.fix) == (("a",), "Send JSON.")


def test_the_switches_take_blanks_floats_and_nulls():
    assert coerced(" 12\n", {"type": "integer"}, forgiving=True)[0] == 12
    value, coercion = coerced(12.0, {"type": "integer"}, forgiving=True)
    assert (value, type(value), coercion.conversions) == (12, int, [Conversion((), 12.0, "integer")])
    assert type(coerced(12.0, {"type": "number"}, forgiving=True)[0]) is float
    schema = {
        **properties(
            a={"type": "string"}, b={"type": ["string", "null"]}, c={"type": "integer"}, d={"type": "integer"}
        ),
        "required": ["d"],
    }
    nulls = dict.fromkeys("abcde")
    assert coerced(nulls, schema, nulls_are_absent=True)[0] == {"b": None, "d": None, "e": None}
    assert coerced(nulls, schema)[0] == nulls
    many = {"type": "array", "items": schema}
    assert coerced([{"b": "1"}, {"a": None}], many, nulls_are_absent=True)[0] == [{"b": "1"}, {}]


def test_schemas_that_hold_themselves_and_values_without_end_are_looked_into_for_a_while():
    schema = properties(n={"type": "integer"}, next={"$ref": "#"})
    value = {"n": "1"}
    for _ in range(200):
        value = {"n": "1", "next": value}
    changed, coercion = coerced(value, schema)
    assert changed["next"]["next"]["n"] == 1
    assert 10 < len(coercion.conversions) < 201
    assert coerced("1", {"anyOf": [{"$ref": "#"}]})[0] == "1"


@given(st.text("0123456789.-+eE ", max_size=12))
def test_a_number_in_a_text_is_what_json_calls_one(text):
    found = number_from_text(text)
    read_as = parse_strict(text)
    if text.strip() != text or not isinstance(read_as, ParsedJson):
        assert found is None
    else:
        assert json.dumps(found) == json.dumps(read_as.value)
