"""C3.19: what counts as valid JSON here, and what an error says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.strict_json import JsonFault, ParsedJson, balance, explain_json_fault, parse_strict, read_json

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

VALID += [
    " [] ",
    '[""]',
    '["a"]',
    "[1\n]",
    "[ 1]",
    "[1,null,1,2]",
    "[2] ",
    "[-0]",
    "[-123]",
    "[20e1]",
    "[123e45]",
    "[0e+1]",
    "[1e-2]",
    "[123.456e78]",
    "[1E+2]",
    "[0e1]",
    '["\\u0060\\u012a\\u12AB"]',
    '["\\uD801\\udc37"]',
    '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    '["\\u0000"]',
    '["\\u0022"]',
    '["\\uDBFF\\uDFFF"]',
    '["a/*b*/c/*d//e"]',
    '["new\\u00A0line"]',
    '["\u2028\u2029"]',
    '["€𝄞"]',
    '["\uffff"]',
    '["\\uFFFE"]',
    '["\\\\a"]',
    '{"a":"b","c":"d"}',
    '{"a":[]}',
    '{"\\u0000":42}',
    '{"a\\u0000b":[{"x":{}}]}',
    '{\n"a": "b"\n}',
    '""',
    " true",
    "-0.0",
    "[[[[[[[[]]]]]]]]",
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
]

INVALID += [
    "[1 true]",
    "[1:2]",
    '["": 1]',
    '[""],',
    "[,]",
    "[,1]",
    "[1,,]",
    '["x"',
    "[x",
    "[3[4]]",
    "[1,\n1\n,1",
    "[*]",
    '["a",\n4\n,1,',
    "[{}",
    "[fals]",
    "[nul]",
    "[tru]",
    "[++1234]",
    "[+Inf]",
    "[-01]",
    "[-1.0.]",
    "[-2.]",
    "[-NaN]",
    "[.-1]",
    "[.2e-3]",
    "[0.1.2]",
    "[0.3e+]",
    "[0.e1]",
    "[0E+]",
    "[1.0e-]",
    "[1 000.0]",
    "[1eE2]",
    "[2.e+3]",
    "[9.e+]",
    "[Inf]",
    "[0x1]",
    "[1+2]",
    "[- 1]",
    "[-]",
    "[-foo]",
    "[-012]",
    "[-.123]",
    "[1ea]",
    "[-1x]",
    "[1.2a-3]",
    "[1.8011670033376514H-308]",
    "[\uff11]",
    '["x", truth]',
    '{[: "x"}',
    '{"x", null}',
    '{"x"::"b"}',
    '{"a":"a" 123}',
    "{key: 'value'}",
    '{"a" b}',
    '{:"b"}',
    '{"a"',
    "{null:null}",
    '{"id":0,,,,,}',
    '{"a":"b",,"c":"d"}',
    '{a: "b"}',
    '{"a":"a',
    '{ "foo" : "bar", "a" }',
    '{"a":"b"}#',
    '{"a":"b"}/**/',
    '{"a":/*comment*/"b"}',
    '["\\uD800\\u"]',
    '["\\uD800\\u1x"]',
    "[\u00e9]",
    "[\\n]",
    "['single quote']",
    "abc",
    '["\\',
    '["\\00"]',
    '["\\\\\\"]',
    '["\\\t"]',
    '["\\\U0001f300"]',
    '["\\a"]',
    '["\\uqqqq"]',
    '"\x1f"',
    '""x',
    "<.>",
    "[<null>]",
    "[1]x",
    "2@",
    '{"}',
    '{"a": true} "x"',
    "\u2060",
    "[\f]",
    "[\x0b]",
    "\x00",
    "[1]\x00",
    "\xef\xbb\xbf{}",
    '["\\uD834\\uDD"]',
    '["\\ud83d\\ud83d"]',
    '["\\uDd1e\\uD834"]',
    "][",
    "]",
]


@pytest.mark.parametrize("text", VALID)
def test_valid_json_is_accepted_and_means_what_it_says(text):
    parsed = parse_strict(text)
    assert isinstance(parsed, ParsedJson)
    assert parsed.value == json.loads(text)
    assert parsed.repairs == ()


@pytest.mark.parametrize("text", INVALID, ids=lambda text: ascii(text)[:40])
def test_c3_19_nothing_else_is_accepted_as_strictly_valid(text):
    fault = parse_strict(text)
    assert isinstance(fault, JsonFault)
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
        quick, careful = parse_strict(said), read_json(said)
        assert repr(quick) == repr(careful)
