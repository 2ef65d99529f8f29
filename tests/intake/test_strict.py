"""C3.19: what counts as valid JSON here, and what an error says."""

import json

import pytest

from rails.intake.jsontext import Fault, Parsed, balance, explain, strict

VALID = [
    "{}", "[]", "0", "-0", "1", "-1.5e3", "1E5", '""', '"\\u00e9\\n\\/"', "true", "false", "null", "[[[]]]",
    ' {"a" : [1 , 2 ] } ', "\t\n\r[]\n", '"\\ud83d\\ude00"', "1" * 40, "0.1", "[" * 64 + "]" * 64,
    "-0.000000000000000000000000000000000000000000000000000000000000000000000000000001", '"\x7f"', '{"": 0}',
]  # fmt: skip

INVALID = [
    "", " ", "{", "}", "[", "]", "[1,]", '{"a":1,}', "[,1]", "[1,,2]", "[1 2]", '{"a" 1}', '{"a":}', "{a:1}",
    "{'a':1}", '{"a":1 "b":2}', "nan", "NaN", "Infinity", "-Infinity", "01", "-01", "+1", ".5", "5.", "1e", "1e+",
    "0x1F", "1_000", '"a', '"\\x41"', '"\\u12"', '"\\"', '"a\nb"', '"a\tb"', '"\x00"', "tru", "TRUE", "True", "None",
    "undefined", "[1]]", "{}{}", "[] x", "\ufeff[]", "\u00a0[]", "// c\n[]", "[] /* c */", "'a'", "“a”", "`a`",
    '{"a":1}}', '{"a":1}, ', '{1:2}', '{"a":1,"a":2}', '[{"x":{"k":1,"k":1}}]', "1e999", "-1e999", "1" * 41,
    "9" * 5000, '"\\ud800"', '{"\\udfff": 1}', '"\ud800"', "[" * 65 + "]" * 65, "[" * 100_000, '{"a":' * 100_000,
    "1e-999999", "1." + "1" * 60,
]  # fmt: skip


@pytest.mark.parametrize("text", VALID)
def test_valid_json_is_accepted_and_means_what_it_says(text):
    parsed = strict(text)
    assert isinstance(parsed, Parsed)
    assert parsed.value == json.loads(text)
    assert parsed.repairs == ()


@pytest.mark.parametrize("text", INVALID, ids=lambda text: ascii(text)[:40])
def test_c3_19_nothing_else_is_accepted_as_strictly_valid(text):
    fault = strict(text)
    assert isinstance(fault, Fault)
    assert fault.code
    assert fault.message


@pytest.mark.parametrize(
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
    fault = strict(text)
    assert (fault.code, fault.offset) == (code, offset)


def test_a_duplicate_key_is_found_among_many_objects():
    good = ",".join('{"a":1,"b":"x: y"}' for _ in range(200))
    assert isinstance(strict(f"[{good}]"), Parsed)
    assert strict(f'[{good},{{"a":1,"a":2}}]').code == "duplicate_key"


def test_the_explanation_counts_lines_and_brackets_outside_strings():
    text = '{\n "a": "}}]]",\n "b": oops\n'
    said = explain(text, strict(text))
    assert "line 3, column 7" in said
    assert "1 closing } missing" in said
    assert "]" not in said.partition("(1 closing")[2]


@pytest.mark.parametrize(
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
