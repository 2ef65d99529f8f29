"""Regular expressions take linear time and mean what JSON Schema, and what Python, says."""

import random
import re
import time
from itertools import zip_longest

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rails.core import limits
from rails.data_formats.regex import RegexError, compile_pattern, replacements
from tests.rows import walked


@walked("pattern", ["^(a+)+$", "^(a|a)*$", "^(a?){200}a{200}$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_explode_elsewhere_take_linear_time(pattern, cpu_seconds):
    compiled = compile_pattern(pattern)

    def seconds(size):
        return cpu_seconds(lambda: compiled.search("a" * size + "!"))

    seconds(1_000)
    assert seconds(20_000) < 20 * seconds(5_000) + 0.05


@walked(
    ("pattern", "text", "expected"),
    [
        ("^a$", "a\n", False),
        ("^\\d$", "٣", False),
        ("^.$", "\n", False),
        ("^[^a]$", "\n", True),
        ("^\\x{41}\\\\u$", "A\\u", True),
        ("^\\w$", "é", False),
        ("^\\pL$", "é", True),
        ("^\\x41\\t$", "A\t", True),
        ("^.$", "\ud800", True),
    ],
)
def test_what_patterns_of_a_schema_mean(pattern, text, expected):
    assert compile_pattern(pattern).search(text) is expected


@walked(
    "pattern",
    [
        *[
            "(?=a)",
            "(?<!a)b",
            "(?>a)",
            "(a)\\1",
            "a++",
            "(a)(?(1)b)",
            "\\q",
            "a{3,1}",
            "a{1001}",
            "(",
            "[a",
            "[z-a]",
            "*a",
        ],
        *["a\\", "\\u0041", "a\\Z", "(a{900}){900}", "a" * 10_001],
    ],
)
def test_what_re2_does_not_have_is_refused_with_what_it_is(pattern):
    with pytest.raises(RegexError, match=r"characters|too large|RE2 has no look-around"):
        compile_pattern(pattern)
    with pytest.raises(RegexError):
        replacements(pattern, "a", "", ignore_case=False, most=9)


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


@given(PATTERNS, st.text("abc1", max_size=6))
def test_simple_patterns_agree_with_re(pattern, text):
    assert compile_pattern(pattern).search(text) == bool(re.search(pattern, text))


def test_the_lines_of_a_text_end_as_on_any_system():
    assert list(compile_pattern("^a$").lines("a\r\nb\na\n")) == [0, 2]
    assert list(compile_pattern("^$").lines("")) == [0]


def test_a_pattern_that_can_be_had_a_thousand_times_is_compiled_and_searched_in_time():
    """The worst that can be asked: every character may begin a match, and nothing of the automaton can be kept."""
    chance = random.Random(1)
    text = "".join(chance.choice("ab") for _ in range(100_000))
    start = time.process_time()
    assert not compile_pattern("(a|b)*a(a|b){999}c").search(text)
    assert not compile_pattern("a.{1,1000}c").search(text)
    assert time.process_time() - start < 20


def found(pattern, text, ignore_case=False, most=1_000):
    return replacements(pattern, text, "$1|$2", ignore_case=ignore_case, most=most)


def by_re(pattern, text, ignore_case=False):
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    return [(*match.span(), filled(match)) for match in re.finditer(pattern, text, flags) if match[0]]


def filled(match):
    return "|".join(match[n] or "" if n <= match.re.groups else f"${n}" for n in (1, 2))


@walked(
    ("pattern", "text"),
    [
        (r"(\w+) (\w+)", "Hello hello, name_1 x"),
        (r"[\s\S]+?;", "a\nb;c;"),
        (r"(?i:A)b|(?P<name>c)+", "ab Ab aB cc"),
        (r"\Ax|\by\b", "x y xy x"),
        (r"(a)|(b)", "ba"),
        (r"\r?\n", "a\r\nb\n"),
        ("\u2028+.", "a\u2028b\u2028\n"),
        (r".+", "a\rb\nc"),
        (r"ß|é", "ß É ẞ"),
        (r"\.\*\(\)\[\]\{\}\^\$\|\?\+\/\#\ ", ".*()[]{}^$|?+/# "),
        (r"(?s)a.b", "a\nb"),
    ],
)
@walked("ignore_case", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_replacement_finds_what_re_finds(pattern, text, ignore_case):
    assert found(pattern, text, ignore_case) == by_re(pattern, text, ignore_case)


@given(PATTERNS, st.text("abc1\n ", max_size=10))
def test_whole_matches_agree_with_re(pattern, text):
    ours = found(pattern, text)
    theirs = by_re(pattern, text)
    assume(not any(match[0] == "" for match in re.finditer(pattern, text, re.MULTILINE)))
    for one, other in zip_longest(ours, theirs):
        assert one[:2] == other[:2]


def test_half_of_a_surrogate_pair_is_a_character_like_others():
    assert found(".(x)", "a\ud800x\U0001f600x") == [(1, 3, "x|$2"), (3, 5, "x|$2")]


def test_matches_are_bounded_in_number_and_time(monkeypatch):
    monkeypatch.setattr(limits, "REGEX_SECONDS", 0.2)
    assert len(found("a", "a" * 50, most=10)) == 10
    assert found("^(a+)+$b", "a" * 40) == []
    with pytest.raises(RegexError, match="not done after"):
        found("(?s)x.*y|x", "x" * 300_000, most=10**9)
    with pytest.raises(RegexError, match="too large for a text"):
        found("(a|b)*a(a|b){999}c", "ab" * 1_000_000)


def test_replacements_fill_in_groups_and_nothing_else():
    def filled(pattern, text, template):
        ((_, _, new),) = replacements(pattern, text, template, ignore_case=False, most=9)
        return new

    assert filled("(one)|(two)", "one", "$2 $1 $$ $& $9 $0 \\1 $") == " one $ one $9 $0 \\1 $"
    assert filled("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)", "abcdefghijk", "$11$1") == "ka"
