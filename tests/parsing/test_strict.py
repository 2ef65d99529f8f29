"""C3.19: what counts as valid JSON here, and what an error says."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.strict_json import JsonFault, ParsedJson, balance, explain_json_fault, parse_strict, read_json
from tests.rows import walked

CASES = json.loads((Path(__file__).parent.parent / "cases/strict_json.json").read_text("utf-8"))
LONG = ["9" * 5000, "[" * 100_000, '{"a":' * 100_000]


def test_valid_json_is_accepted_and_means_what_it_says():
    read = {text: parse_strict(text) for text in CASES["valid"]}
    assert read == {text: ParsedJson(json.loads(text)) for text in CASES["valid"]}


def test_c3_19_nothing_else_is_accepted_as_strictly_valid():
    read = {text: parse_strict(text) for text in CASES["invalid"] + LONG}
    assert not [text for text, fault in read.items() if not (isinstance(fault, JsonFault) and fault.code)]


@walked(
    ("text", "code", "offset"),
    [
        ('{"a": 1, "a": 2}', "duplicate_key", 9),
        ('{"a": NaN}', "not_a_number", 6),
        ('{"NaN": "NaN", "a": -Infinity}', "not_a_number", 20),
        ('{"a": 1e999}', "number", 6),
        ('{"a": "\\ud800"}', "surrogate", 7),
        ('{"a": "\ud800"}', "surrogate", 7),
        ("[" * 65 + "]" * 65, "depth", 64),
        ('{"a": oops}', "syntax", 6),
    ],
)
def test_a_fault_has_a_code_and_its_place(text, code, offset):
    fault = parse_strict(text)
    assert (fault.code, fault.offset) == (code, offset)


def test_a_duplicate_key_is_found_among_many_objects():
    good = ",".join('{"a":1,"b":"x: y"}' for _ in range(200))
    assert isinstance(parse_strict(f"[{good}]"), ParsedJson)
    assert parse_strict(f'[{good},{{"a":1,"a":2}}]').code == "duplicate_key"


def test_the_explanation_counts_lines_and_brackets_outside_strings():
    text = '{\n "a": "}}]]",\n "b": oops\n'
    said = explain_json_fault(text, parse_strict(text))
    assert "line 3, column 7" in said
    assert "1 closing } missing" in said
    assert "]" not in said.partition("(1 closing")[2]


@walked(
    ("text", "said"),
    [
        ("{}", ""),
        ("{{}", "1 closing } missing"),
        ("[]]", "1 closing ] too many"),
        ('{"a": "b}', "not closed"),
        ('"\\"{{{"', ""),
    ],
)
def test_balance_is_told_in_words(text, said):
    assert said in balance(text)
    assert bool(balance(text)) == bool(said)


KEYS = st.sampled_from(["a", "b", "c:", "d\\u003a", "e\\\\u003a", "é", "\\ud83d\\ude00", ""])
SCALARS = st.sampled_from(['""', '"x: y"', '"\\u003A"', '"\\ud800"', "1", "-7", "1.5", "true", "null", "[]", "1" * 41])
ITEMS = st.recursive(
    SCALARS,
    lambda inner: st.lists(st.tuples(KEYS, inner), max_size=3).map(
        lambda members: "{" + ",".join(f'"{key}": {value}' for key, value in members) + "}"
    ),
    max_leaves=4,
)


@given(st.lists(ITEMS, min_size=1, max_size=6), st.integers(0, 70))
def test_the_quick_decoder_lets_no_more_through_than_the_careful_one(items, depth):
    text = "[" * depth + ",".join(items) + "]" * depth
    assert repr(parse_strict(text)) == repr(read_json(text))


TOKENS = st.sampled_from([
    "{", "}", "[", "]", ",", ":", '"', '"a":', '"a"', "\\", "\\ud800", "\\ud83d\\ude00", "1", "-", "0", ".", "e", "+",
    " ", "\n", "9" * 41, "1e999", "1e-999", "-0", "01", "null", "true", "NaN", "-Infinity", "\ufeff", "\x00", "\ud800",
    "é",
])  # fmt: skip


@given(st.lists(TOKENS, max_size=12))
def test_the_quick_decoder_and_the_careful_one_agree_on_whatever_comes(pieces):
    text = "".join(pieces)
    for said in (text, f"[{text}]", f'{{"k": {text}}}', f'"{text}"'):
        quick = parse_strict(said)
        careful = read_json(said)
        assert repr(quick) == repr(careful)
