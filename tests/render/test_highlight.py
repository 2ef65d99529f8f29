"""In a diff the words that changed stand out, and nothing is lost, added or moved by that."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.render.blocks import Diff, DiffLine
from rails.render.highlight import spans
from rails.render.lines import draw


def diff(*lines, path="a.py"):
    return Diff(path, "modify", tuple(DiffLine(style, text, 1, 1) for style, text in lines), 1, 1)


def changed(one):
    return ["".join(part.text if part.changed else "." for part in line).strip(".") for line in spans(one)]


def test_the_changed_words_of_a_pair_are_marked():
    one = diff(("context", "def f():"), ("remove", "    return total + 1"), ("add", "    return total + 20"))
    assert changed(one) == ["", "1", "20"]


def test_lines_that_have_hardly_a_word_in_common_are_not_compared():
    assert changed(diff(("remove", "import os"), ("add", "x = {'a': 1}"))) == ["", ""]


def test_unequal_numbers_of_lines_are_not_compared():
    assert changed(diff(("remove", "a = 1"), ("add", "a = 2"), ("add", "b = 1"))) == ["", "", ""]


STYLES = st.sampled_from(["context", "add", "remove", "tool_add", "finding", "hunk", "note"])
TEXTS = st.text("ab1 \t'\"#(){}éß漢", max_size=60)


@given(st.lists(st.tuples(STYLES, TEXTS), max_size=12), st.sampled_from(["a.py", "a.js", "a.json", "a", ""]))
def test_the_parts_of_every_line_joined_are_the_line(lines, path):
    one = diff(*lines, path=path)
    assert ["".join(part.text for part in line) for line in spans(one)] == [line.text for line in one.lines]


@given(st.lists(st.tuples(STYLES, TEXTS), max_size=8), st.integers(30, 80))
def test_colours_change_no_character_of_a_drawn_diff(lines, width):
    one = diff(*lines)
    coloured = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in draw(one, colour=True, width=width)]
    assert coloured == [line.rstrip() for line in draw(one, width=width)]


@pytest.mark.parametrize(("path", "kind"), [("a.py", "k"), ("a.ts", "k"), ("a.unknown", "")])
def test_words_of_a_language_are_told_apart(path, kind):
    (parts,) = spans(diff(("add", "return 1"), path=path))
    assert parts[0].kind == kind
