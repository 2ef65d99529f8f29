"""What other programs read, we read: the rules beside the strict ones, one by one and together."""

import json
import sys

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.strict_json import STRICT, JsonFault, JsonRules, ParsedJson, parse_strict, read_json
from tests.rows import walked

LOOSE = JsonRules(repeated=True, surrogates=True, any_number=True, depth=sys.maxsize)


@walked(
    ("text", "rules", "value"),
    [
        ('{"a": 1, "a": 2}', JsonRules(repeated=True), {"a": 2}),
        ('["\\ud83d"]', JsonRules(surrogates=True), ["\ud83d"]),
        ('["\ud83d"]', JsonRules(surrogates=True), ["\ud83d"]),
        ("1e999", JsonRules(any_number=True), float("inf")),
        ("1e-999", JsonRules(any_number=True), 0.0),
        ("9" * 41, JsonRules(any_number=True), int("9" * 41)),
        ("9" * 5_000, JsonRules(any_number=True), float("inf")),
        ("[" * 65 + "]" * 65, JsonRules(depth=65), json.loads("[" * 65 + "]" * 65)),
    ],
)
def test_each_rule_lets_its_own_through_and_nothing_else(text, rules, value):
    found = read_json(text, rules)
    assert isinstance(found, ParsedJson)
    assert found.value == value
    assert found.repeats_keys == (rules.repeated)
    assert isinstance(read_json(text, STRICT), JsonFault)
    others = JsonRules(*(allowed != mine for allowed, mine in zip(LOOSE[:3], rules[:3], strict=True)))
    assert rules.depth != STRICT.depth or isinstance(read_json(text, others), JsonFault)


@walked("text", ["NaN", "[Infinity]", "{'a': 1}", "[1,]", "", "\ufeff1", "[1] 2", '"\n"', "01"])
def test_what_is_not_json_is_refused_by_any_rules(text):
    assert isinstance(read_json(text, LOOSE), JsonFault)


def test_nesting_is_bounded_by_the_rules_and_never_overflows():
    assert read_json("[" * 121 + "]" * 121, JsonRules(depth=120)).code == "depth"
    assert read_json("[" * 100_000 + "]" * 100_000, LOOSE).code == "depth"


def test_the_place_of_a_repeated_key_is_its_second_one_in_its_own_object():
    text = '{"a": {"k": 1, "x": 2}, "b": [{"k": 1}, {"k": "\\"k\\":", "k": 3}], "k": 4, "c": {"k": 5}}'
    fault = parse_strict(text)
    assert (fault.code, text[fault.offset :].startswith('"k": 3')) == ("duplicate_key", True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_every_reader_reads_the_same(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_strict(text) == read_json(text) == read_json(text, LOOSE) == ParsedJson(value)
