"""Strict JSON with lines, and a message of its own for each usual slip."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.json_document import JsonError, parse_document
from tests.rows import walked

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from([None, 2]))
def test_it_reads_what_json_writes(value, indent):
    assert parse_document(json.dumps(value, indent=indent)).value == value


def test_each_value_has_its_line():
    document = parse_document('{\n "a": [1,\n  {"b": 2}\n ]\n}')
    assert [document.line(place) for place in [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("a", 1, "missing")]] == [
        1,
        2,
        2,
        3,
        3,
        3,
    ]


@walked(
    ("text", "line", "said"),
    [
        ('{\n // note\n "a": 1}', 2, "no comments"),
        ('{"a": 1,\n}', 1, "Remove the comma"),
        ("{'a': 1}", 1, "double quotes"),
        ('{"a": 1\n "b": 2}', 2, "Found '\"'"),
        ('{"a": 1, "a": 2}', 1, "Keep one"),
        ('{"a": NaN}', 1, "Found 'N'"),
        ('{"a": 1e999}', 1, "64-bit"),
        ('{"a": "x\ny"}', 1, "\\n"),
        ('{"a": 1} x', 1, "one JSON object"),
        ('{"a": [', 1, "too early"),
        ("\ufeff{}", 1, "without BOM"),
        ('{"a": 01}', 1, "Found '1'"),
        ('{"a": ' + "9" * 50 + "}", 1, "At most 40"),
        ("[" * 100 + "]" * 100, 1, "flatter"),
        ("", 1, "too early"),
    ],
)
def test_each_slip_is_told_with_its_line_and_what_to_do(text, line, said):
    with pytest.raises(JsonError) as caught:
        parse_document(text)
    assert caught.value.line == line
    assert said in caught.value.fix


@walked(
    ("text", "message", "column"),
    [
        ('{"a" 1}', "Expecting ':' delimiter", 6),
        ("[1,\t]", "there is a comma before ']'", 3),
        ("[1 2]", "Expecting ',' delimiter", 4),
        ('{"b": {"a": 1}, "a": {"a": 2, "\\u0061": 3}}', 'the key "a" occurs twice in one object', 31),
        ('{"a": "\\x"}', "Invalid \\escape", 8),
        ('{"a": 1e-999}', "the number cannot be held exactly enough", 7),
    ],
)
def test_a_slip_is_told_at_its_place(text, message, column):
    with pytest.raises(JsonError) as caught:
        parse_document(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, 1, column)


def test_half_of_a_surrogate_pair_is_let_through():
    """A server that cuts texts may cut a character in two; what takes it further says what is wrong with it."""
    assert parse_document('["\\ud83d"]').value == ["\ud83d"]
