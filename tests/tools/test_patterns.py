"""Regular expressions take linear time and mean what JSON Schema says."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rails.json_schema.patterns import RegexError, compile_pattern, matcher


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a?){200}a{200}$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_patterns_that_explode_elsewhere_take_linear_time(pattern, cpu_seconds):
    compiled = compile_pattern(pattern)

    def seconds(size):
        return cpu_seconds(lambda: compiled.search("a" * size + "!"))

    seconds(1_000)
    assert seconds(20_000) < 20 * seconds(5_000) + 0.05


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^a$", "a\n", False),
        ("^\\d$", "٣", False),
        ("^\\w$", "é", False),
        ("^.$", "\n", False),
        ("^[^a]$", "\n", True),
        ("^\\u0041$", "A", True),
    ],
)
def test_the_traps_of_re_are_not_there(pattern, text, expected):
    assert compile_pattern(pattern).search(text) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?<n>a)",
        "\\1",
        "a*?",
        "a**",
        "a{2",
        "a{3,1}",
        "a{99999}",
        "(",
        ")",
        "[a",
        "[z-a]",
        "\\p{L}",
        "*a",
        "a\\",
        "(a{900}){900}",
        "^*",
    ],
)
def test_what_is_not_covered_is_refused(pattern):
    with pytest.raises(RegexError):
        compile_pattern(pattern)


ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "[a-b]", "\\d", "\\w", "^", "$"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("abc1", max_size=6))
def test_simple_patterns_agree_with_re(pattern, text):
    assert compile_pattern(pattern).search(text) == bool(re.search(pattern, text))


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("abc1", max_size=6))
def test_the_quick_look_before_matching_changes_nothing(pattern, text):
    assert bool(matcher(pattern)(text)) == compile_pattern(pattern).search(text)


def test_text_without_special_characters_is_searched_as_it_is():
    assert matcher("def f")("x = 1; def f") is True
    assert matcher("f\\(")("def f(x)") is True
