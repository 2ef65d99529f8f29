"""The specification, line by line: every line has its tests, every test is there, and what lacks is said."""

import functools
import re
import tomllib

from .pages import ROOT

LINES = tomllib.loads((ROOT / "tests/specification.toml").read_text("utf-8"))
#: How many lines lack something. The number may only fall.
LACKING = 0


@functools.cache
def functions_of(file):
    text = (ROOT / "tests" / file).read_text("utf-8")
    return set(re.findall(r"^ *(?:async )?def (\w+)", text, re.MULTILINE))


def test_no_line_is_left_out():
    assert len(LINES) == 191
    groups = [int(name[1:].split(".")[0]) for name in LINES]
    assert groups == sorted(groups)


def test_a_line_has_tests_that_are_there_or_says_what_lacks():
    named = [(name, *test.partition("::")[::2]) for name, line in LINES.items() for test in line["tests"]]
    assert [one for one in named if one[2] not in functions_of(one[1])] == [], "is not there"
    assert [name for name, line in LINES.items() if not (line["tests"] or line.get("lacks"))] == [], "has no test"


def test_what_lacks_becomes_less():
    assert sum("lacks" in line for line in LINES.values()) == LACKING
