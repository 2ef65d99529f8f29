"""References lead to schemas only, and however often they are written, each is followed once."""

from rails.json_schema.metaschema import check_schema
from rails.json_schema.validator import MOST_FAULTS, answer_faults
from tests.rows import walked


def told(schema):
    return [problem.message for problem in check_schema(schema)]


@walked(
    "schema",
    [
        {"$ref": "#/anyOf", "anyOf": [{"type": "integer"}]},
        {"$ref": "#/title", "title": "x"},
        {"$ref": "#/properties", "properties": {"type": {"type": "integer"}}},
        {"$ref": "#/const", "const": {"type": "integer"}},
        {"$ref": "#/examples/0", "examples": [{}]},
        {"$ref": "#/required", "required": ["a"], "properties": {"a": True}},
    ],
)
def test_what_is_no_schema_cannot_be_referred_to(schema):
    assert told(schema) == [f"the reference {schema['$ref']!r} points to no schema of this file"]


@walked("ref", ["#/$defs/a~1b", "#/anyOf/0", "#/properties/x/items", "#/$defs/yes"])
def test_every_place_of_a_schema_can_be_referred_to(ref):
    inner = {"type": "integer"}
    rest = {"$defs": {"a/b": inner, "yes": True}, "anyOf": [dict(inner)], "properties": {"x": {"items": dict(inner)}}}
    assert told({"not": {"$ref": ref}, **rest}) == []


def test_references_that_fan_out_are_followed_once_each():
    followed = []

    class Part(dict):
        def items(self):
            followed.append(self)
            return super().items()

    levels = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 20} for n in range(9)}
    schema = {"$defs": {**levels, "a9": Part(type="integer")}, "$ref": "#/$defs/a0"}
    assert told(schema) == ["the schema has more than 2000 parts with its references written out"]
    assert len(followed) < 3_000, "the size is counted with each written out, as far as it is allowed"


def test_of_very_many_faults_no_more_are_worked_out_than_are_told():
    asked = []

    class Items(list):
        def __iter__(self):
            for item in super().__iter__():
                asked.append(item)
                yield item

    assert len(answer_faults({"items": {"type": "integer"}}, Items(["x"] * 100_000))) == MOST_FAULTS
    assert len(asked) <= MOST_FAULTS + 1
