"""Each fault of a value has its place, its sentence, what is allowed, and both in words for programs."""

from rails.core import limits
from rails.json_schema.allowed import TYPES, allowed_types
from rails.json_schema.explain import paired
from rails.json_schema.metaschema import check_schema
from rails.json_schema.quick_check import fits, surely_fits
from rails.json_schema.validator import answer_faults, closed, faults
from tests.rows import walked

NAMED = {"properties": {"a": {"type": "string", "description": "what"}, "b": {"enum": ["x", "y"]}, "c": True}}
ROWS = [
    (
        {**NAMED, "required": ["a"]},
        {},
        ("a",),
        "`a` is missing",
        "Add `a` (string: what).",
        "required",
        "string",
        "nothing",
    ),
    (
        {**NAMED, "required": ["b"]},
        {},
        ("b",),
        "`b` is missing",
        'Add `b` (one of ["x", "y"]).',
        "required",
        'one of ["x", "y"]',
        "nothing",
    ),
    ({**NAMED, "required": ["c"]}, {}, ("c",), "`c` is missing", "Add `c`.", "required", "a value", "nothing"),
    ({"required": ["z"]}, {}, ("z",), "`z` is missing", "Add `z`.", "required", "a value", "nothing"),
    (
        {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {},
        ("a",),
        "`a` is missing",
        "Add `a` (string or null).",
        "required",
        "string or null",
        "nothing",
    ),
    (
        {**NAMED, "additionalProperties": False},
        {"bb": 1},
        ("bb",),
        "`bb` is not a parameter of this tool",
        "Did you mean `b`? Allowed: `a`, `b`, `c`.",
        "additionalProperties",
        "nothing",
        "a value",
    ),
    (
        {**NAMED, "additionalProperties": False},
        {"zzzz": 1},
        ("zzzz",),
        "`zzzz` is not a parameter of this tool",
        "Allowed: `a`, `b`, `c`.",
        "additionalProperties",
        "nothing",
        "a value",
    ),
    (
        {"additionalProperties": False},
        {"a": 1},
        ("a",),
        "`a` is not a parameter of this tool",
        "None is allowed.",
        "additionalProperties",
        "nothing",
        "a value",
    ),
    (
        {"type": "array"},
        {"a": 1},
        (),
        '`parameters` is an object ({"a": 1}); it must be an array',
        "Put the object in a list: [ { … } ].",
        "",
        "array",
        "an object",
    ),
    ({"type": "array"}, "x", (), '`parameters` is a string ("x"); it must be an array', "", "", "array", "a string"),
    (
        {"type": ["integer", "null"]},
        "x",
        (),
        '`parameters` is a string ("x"); it must be an integer or null',
        "",
        "",
        "integer or null",
        "a string",
    ),
    ({"type": "object"}, [1], (), "`parameters` is an array ([1]); it must be an object", "", "", "object", "an array"),
    ({"type": "null"}, 1, (), "`parameters` is an integer (1); it must be null", "", "", "null", "an integer"),
    (
        {"enum": ["read", "write", 3]},
        "raed",
        (),
        '`parameters` is "raed", which is not allowed',
        'Did you mean "read"? Allowed: ["read", "write", 3].',
        "",
        'enum ["read", "write", 3]',
        "a string",
    ),
    (
        {"enum": ["read"]},
        5,
        (),
        "`parameters` is 5, which is not allowed",
        'Allowed: ["read"].',
        "",
        'enum ["read"]',
        "an integer",
    ),
    ({"const": 1}, 2, (), "`parameters` is 2; it must be 1", "Send 1.", "", "const 1", "an integer"),
    ({"minLength": 2}, "", (), "`parameters` is empty", "At least 2 characters.", "", "minLength 2", "a string"),
    (
        {"minLength": 2},
        "a",
        (),
        "`parameters` has 1 character; at least 2 characters allowed",
        "",
        "",
        "minLength 2",
        "a string",
    ),
    (
        {"maxLength": 1},
        "ab",
        (),
        "`parameters` has 2 characters; at most 1 character allowed",
        "Split the request into smaller ones.",
        "",
        "maxLength 1",
        "a string",
    ),
    ({"minItems": 2}, [1], (), "`parameters` has 1 item; at least 2 items allowed", "", "", "minItems 2", "an array"),
    (
        {"maxItems": 1},
        [1, 2],
        (),
        "`parameters` has 2 items; at most 1 item allowed",
        "Split the request into smaller ones.",
        "",
        "maxItems 1",
        "an array",
    ),
    (
        {"minProperties": 2},
        {"a": 1},
        (),
        "`parameters` has 1 member; at least 2 members allowed",
        "",
        "",
        "minProperties 2",
        "an object",
    ),
    (
        {"maxProperties": 1},
        {"a": 1, "b": 2},
        (),
        "`parameters` has 2 members; at most 1 member allowed",
        "Split the request into smaller ones.",
        "",
        "maxProperties 1",
        "an object",
    ),
    ({"minItems": 1}, [], (), "`parameters` is empty", "At least 1 item.", "", "minItems 1", "an array"),
    ({"minimum": 2}, 1, (), "`parameters` is 1; it must be at least 2", "", "", "minimum 2", "an integer"),
    ({"maximum": 2}, 3, (), "`parameters` is 3; it must be at most 2", "", "", "maximum 2", "an integer"),
    (
        {"exclusiveMinimum": 2},
        2,
        (),
        "`parameters` is 2; it must be more than 2",
        "",
        "",
        "exclusiveMinimum 2",
        "an integer",
    ),
    (
        {"exclusiveMaximum": 2},
        2,
        (),
        "`parameters` is 2; it must be less than 2",
        "",
        "",
        "exclusiveMaximum 2",
        "an integer",
    ),
    (
        {"pattern": "^a", "description": "begins with a"},
        "b",
        (),
        '`parameters` ("b") does not match ^a',
        "begins with a",
        "pattern",
        'pattern "^a"',
        "a string",
    ),
    ({"format": "date"}, "x", (), '`parameters` ("x") is not a valid date', "", "format", 'format "date"', "a string"),
    (
        {"uniqueItems": True},
        [1, 1.0],
        (),
        "`parameters` ([1, 1.0]) lists an item twice",
        "",
        "uniqueItems",
        "uniqueItems true",
        "an array",
    ),
    (
        {"multipleOf": 0.1},
        0.25,
        (),
        "`parameters` (0.25) is not a multiple of 0.1",
        "",
        "multipleOf",
        "multipleOf 0.1",
        "a number",
    ),
    (
        {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]},
        1,
        (),
        "`parameters` fits none of the 2 allowed forms; nearest: `parameters` is 1; it must be at least 3",
        "",
        "",
        'anyOf [{"type": "string"}, {"type": "integer", "minimum": 3}]',
        "an integer",
    ),
    (
        {"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}]},
        {"a": 1, "b": 1},
        ("a",),
        "`parameters` fits none of the 2 allowed forms; nearest: `a` is an integer (1); it must be a string",
        "",
        "",
        'anyOf [{"type": "string"}, {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}]',
        "an object",
    ),
    (
        {"anyOf": [False, {"type": "string"}]},
        1,
        (),
        "`parameters` fits none of the 2 allowed forms; nearest: `parameters` is not allowed here",
        "Leave it out.",
        "",
        'anyOf [false, {"type": "string"}]',
        "an integer",
    ),
]


@walked(("schema", "value", "place", "detail", "hint", "keyword", "expected", "received"), ROWS)
def test_a_fault_says_where_what_and_what_is_allowed(schema, value, place, detail, hint, keyword, expected, received):
    (fault,) = answer_faults(schema, value)
    assert (fault.place, fault.detail, fault.hint) == (place, detail, hint)
    assert (fault.keyword, fault.expected, fault.received) == (keyword, expected, received)


def test_a_description_is_cut_where_it_is_long():
    described = {"type": "string", "description": "d" * 300, "pattern": "^a"}
    (missing,) = answer_faults({"properties": {"a": described}, "required": ["a"]}, {})
    (wrong,) = answer_faults(described, "b")
    cut = f"{'d' * 200}… (+100 characters)"
    assert (missing.hint, wrong.hint) == (f"Add `a` (string: {cut}).", cut)


def test_a_pattern_is_asked_of_no_text_that_is_too_long(monkeypatch):
    monkeypatch.setattr(limits, "PATTERN_CHARS", 3)
    assert [len(answer_faults({"pattern": "^a+$"}, "a" * count)) for count in (2, 3, 4)] == [0, 0, 1]


def test_faults_stand_in_the_order_of_their_places():
    schema = {"items": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}
    value = [{"b": 1, "a": 1}, {"a": 1}]
    assert [fault.place for fault in answer_faults(schema, value)] == [(0, "a"), (0, "b"), (1, "a")]


@walked(
    ("value", "hint"),
    [
        ({"naam": 1}, "Did you mean `path`? Allowed: `path`."),
        ({"pth": 1}, "Did you mean `path`? Allowed: `path`."),
        ({"naam": 1, "x": 2}, "Allowed: `path`."),
    ],
)
def test_the_only_unknown_name_may_be_the_only_one_that_is_missing(value, hint):
    found = paired(faults({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}, value))
    assert [fault.hint for fault in found if fault.keyword == "additionalProperties"][:1] == [hint]


def test_only_names_of_the_same_object_are_paired():
    item = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    value = [{"naam": 1}, {}, {"path": "a", "x": 1}]
    found = paired(faults({"items": item}, value))
    assert [(fault.place, "Did you mean" in fault.hint) for fault in found] == [
        *(((0, "path"), False), ((0, "naam"), True), ((1, "path"), False), ((2, "x"), False))
    ]


@walked("about", ["", 5, None])
def test_a_description_that_says_nothing_is_left_out(about):
    described = {"type": "string", "description": about, "pattern": "^a"}
    (missing,) = answer_faults({"properties": {"a": described}, "required": ["a"]}, {})
    (wrong,) = answer_faults(described, "b")
    assert (missing.hint, wrong.hint) == ("Add `a` (string).", "")


@walked("where", ["$defs", "definitions"])
def test_a_part_of_a_schema_refers_into_the_whole_of_it(where):
    root = {where: {"n": {"type": "integer"}}, "properties": {"a": {"$ref": f"#/{where}/n"}}}
    assert [fault.place for fault in faults({"properties": root["properties"]}, {"a": "x"}, root=root)] == [("a",)]


def nested(keyword, inner, depth):
    for _ in range(depth):
        inner = {keyword: [inner]}
    return inner


ONE = {"properties": {"a": True}}


@walked(
    ("schema", "takes_more"),
    [
        (ONE, False),
        ({**ONE, "additionalProperties": True}, True),
        ({**ONE, "$ref": "#/$defs/x", "$defs": {"x": True}}, True),
        ({**ONE, "allOf": [{"properties": {"b": True}}]}, True),
        ({**ONE, "allOf": [ONE]}, False),
        ({**ONE, **nested("allOf", ONE, limits.SCHEMA_DEPTH - 2)}, False),
        ({**ONE, **nested("anyOf", {"properties": {"b": True}}, limits.SCHEMA_DEPTH - 2)}, True),
        ({}, True),
    ],
)
def test_an_object_takes_no_property_that_none_of_its_parts_names(schema, takes_more):
    assert (not faults(schema, {"more": 1})) == takes_more
    assert "$ref" in schema or (not answer_faults(closed({"items": schema}), [{"more": 1}])) == takes_more
    assert not answer_faults(schema, {"more": 1}), "an answer may hold more"


@walked(
    ("schema", "types"),
    [
        ({"enum": [1, 2.0, 2.5, "a", None, True]}, {"integer", "number", "string", "null", "boolean"}),
        ({"anyOf": [{"type": "string"}, {"items": True}]}, {"string", "array"}),
        ({"oneOf": [{"type": "string"}, {"required": ["a"]}]}, {"string", "object"}),
        ({"anyOf": [{"type": "string"}, {}]}, set(TYPES)),
        (True, set(TYPES)),
    ],
)
def test_the_types_that_a_schema_allows(schema, types):
    assert allowed_types(schema) == types


@walked(
    ("schema", "value", "good"),
    [
        (nested("anyOf", {"type": "string"}, 30), "a", True),
        (nested("anyOf", {"type": "string"}, 33), "a", False),
        ({"oneOf": [{"type": "string"}, {"const": 1}]}, 1.0, True),
        ({"oneOf": [{"type": "string"}, {"const": 1}]}, True, False),
        ({"allOf": [{"type": "object"}, {"required": ["a"]}]}, {"a": 1}, True),
        ({"allOf": [{"type": "object"}, {"required": ["a"]}]}, {}, False),
        ({"enum": [[1, {"a": False}]]}, [1.0, {"a": False}], True),
        ({"enum": [[1, {"a": False}]]}, [1, {"a": 0}], False),
        ({"minItems": 1, "maxItems": 2}, [1, 2], True),
        ({"minItems": 1, "maxItems": 2}, [], False),
        ({"minItems": 1, "maxItems": 2}, [1, 2, 3], False),
        ({"type": "number"}, 1, True),
        ({"type": ["string", "null"]}, None, True),
        ({"type": ["string", "null"]}, "a", True),
        ({"type": ["string", "null"]}, 1, False),
        ({"type": "null"}, "null", False),
        ({"type": "integer"}, 1.5, False),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}, False),
        (False, 1, False),
    ],
)
def test_whether_a_value_can_be_what_was_meant(schema, value, good):
    assert fits(schema, value) == good


@walked(
    ("schema", "value", "sure"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x"}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"b": "x"}, False),
        ({"type": "object", "properties": {}, "additionalProperties": True}, {}, False),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "ab", True),
        ({"type": "string", "maxLength": 1}, "ab", False),
        ({"type": "integer", "minimum": 2, "maximum": 2}, 2, True),
        ({"type": "integer", "maximum": 1}, 2, False),
        ({"type": "boolean"}, True, True),
        ({}, True, False),
        ({"type": "string", "pattern": "a"}, "a", False),
    ],
)
def test_what_surely_fits_needs_no_full_check(schema, value, sure):
    assert surely_fits(schema, value) == sure


@walked(
    ("schema", "words"),
    [
        ({"multipleOf": 0}, "must be more than 0"),
        ({"multipleOf": 0.5}, ""),
        ({"minimum": 0}, ""),
        ({"minLength": -1}, "must be at least 0"),
        ({"minLength": 0}, ""),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "back to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}]}}}, "back to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}}, ""),
    ],
)
def test_a_schema_that_could_not_be_checked_is_refused(schema, words):
    told = " ".join(problem.message for problem in check_schema(schema))
    assert words in told
    assert bool(told) == bool(words)


@walked(
    ("key", "words"),
    [
        ("additionalItems", '"prefixItems" and "items"'),
        ("dependencies", '"dependentRequired" or "dependentSchemas"'),
        ("patternProperties", '"additionalProperties" with "propertyNames"'),
        ("$anchor", '"#/$defs/"'),
        ("optional", '"required" does not list it'),
        ("nullable", '["string", "null"]'),
        ("options", 'Use "enum"'),
        ("values", 'Use "enum"'),
        ("min_length", 'Did you mean "minLength"?'),
        ("zzz", "Remove it."),
    ],
)
def test_a_keyword_that_would_check_nothing_is_refused_with_what_to_write_instead(key, words):
    (problem,) = check_schema({"properties": {"a": {key: True}}})
    assert problem.place == ("properties", "a", key)
    assert words in problem.fix
