"""Only what a change touched is formatted, however far its places are from each other."""

import random

from rails.gate.languages.python.syntax import same_program
from rails.gate.support.partial_format import touched_only
from tests.rows import walked

BEFORE = [f"value_{n} = [ {n},{n} ]" if n % 3 else "" for n in range(90)]


def formatted(lines):
    return [line.replace("[ ", "[").replace(" ]", "]").replace(",", ", ") for line in lines]


def text(lines):
    return "\n".join([*lines, ""])


def test_lines_of_a_change_are_formatted_and_no_others():
    chance = random.Random(5)
    for _ in range(50):
        lines = list(BEFORE)
        touched = set(chance.sample([n for n in range(90) if n % 3], chance.randrange(1, 5)))
        for place in touched:
            lines[place] = f"other_{place} = [ 1,2 ]"
        made = touched_only(text(BEFORE), text(lines), text(formatted(lines)), same=lambda *_: True)
        expected = [formatted([line])[0] if place in touched else line for place, line in enumerate(lines)]
        assert made == text(expected)


def test_lines_that_all_occur_twice_are_compared_as_a_whole():
    before = ["x = [ 1,2 ]", "y = [ 1,2 ]"] * 20
    lines = [*before, "z = [ 3,4 ]"]
    made = touched_only(text(before), text(lines), text(formatted(lines)), same=lambda *_: True)
    assert made == text([*before, "z = [3, 4]"])


@walked(
    ("one", "other", "same"),
    [
        ("x = u'2'\n", 'x = "2"\n', True),
        ("x = 1 #\xa0why\t\n", "x = 1  # why\n", True),
        ("# coding: utf-8\nx=1\n", "# coding: utf-8\nx = 1\n", True),
        ("def f():\n  ''' >>> g('a',1) '''\n", 'def f():\n    """>>> g("a", 1)"""\n', True),
        ("x=1 # a\n", "x = 1\n", False),
        ("x=1\n", "x = 1\nimport os\n", False),
        ("\r\t\r'''$\\\n'''", "x", False),
    ],
)
def test_a_formatter_changes_layout_and_no_program(one, other, same):
    assert same_program(one.encode(), other.encode()) is same
