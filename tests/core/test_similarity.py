"""Likeness is what the textbook says, and a slip of the pen finds its name."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core.similarity import likeness, most_alike
from tests.rows import walked


@given(st.text("abc\U0001f600", max_size=12), st.text("abc\U0001f600", max_size=12))
def test_likeness_is_from_0_to_1_the_same_both_ways_and_never_less_than_by_blocks(one, other):
    found = likeness(one, other)
    assert 0 <= found <= 1
    assert found == likeness(other, one)
    assert (found == 1) == (one == other)
    assert found >= difflib.SequenceMatcher(None, one, other, autojunk=False).ratio() - 1e-9


def test_a_share_is_counted_in_characters_of_both():
    assert likeness("abcd", "bd") == pytest.approx(4 / 6)
    assert likeness("ab", "cd") == 0
    assert likeness("", "") == 1


@walked(
    ("name", "nearest"),
    [("colour", "color"), ("tiemout", "timeout"), ("timeouts", "timeout"), ("zzz", None), ("", None)],
)
def test_the_nearest_name_is_what_was_meant_or_none(name, nearest):
    assert most_alike(name, ["color", "timeout", "mode"]) == nearest


def test_exactly_the_least_likeness_is_enough_and_scattered_letters_are_not():
    assert most_alike("abcxx", ["abcyy"], least=0.6) == "abcyy"
    assert most_alike("somethingelse", ["setfields"]) is None
    assert most_alike("x", []) is None
