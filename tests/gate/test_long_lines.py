"""Long comments and strings are broken into lines, and the program stays the same."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.gate.languages.python.long_lines import shorten

WORDS = "a sentence that goes on and on until the line has many more columns than a line may have here"
RUFF = "[tool.ruff.lint]\nselect = ['E', 'W', 'F', 'I', 'UP']\n"


def cut(text, limit=60):
    long = [(number, limit) for number, line in enumerate(text.split("\n"), 1) if len(line) > limit]
    return shorten(text, long)


@pytest.mark.parametrize(
    "text",
    [
        f"# {WORDS}\nx = 1\n",
        f"def f():\n    # - {WORDS}\n    return 1\n",
        f"x = 1  # {WORDS}\n",
        f"x = '{WORDS}'\n",
        f'print(\n    "{WORDS}",\n    1,\n)\n',
        f'print(\n    "{WORDS}".format(\n        1\n    )\n)\n',
        f'd = {{\n    "key": "{WORDS}",\n}}\n',
        f'x = f"{{y + 1}} {WORDS} {{z!r:>{{w}}}} {WORDS} {{{{}}}}"\n',
        f"x = rb'{WORDS}'\n",
        f"x = f'{WORDS}'\n",
        f'x = (\n    "short "\n    "{WORDS}"\n)\n',
        f"x = call(\n    1,\n)  # {WORDS}\n",
    ],
)
def test_every_line_fits_and_the_program_is_the_same(text):
    made = cut(text)
    assert max(map(len, made.split("\n"))) <= 60, made
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        f'"""{WORDS}"""\n',
        f'def f():\n    "{WORDS}"\n',
        f"x = 1  # noqa: E501 {WORDS}\n",
        f"#!/usr/bin/python {WORDS}\n",
        f"# see https://example.org/ {WORDS}\n",
        f"# value = compute({WORDS})\n",
        f"#    a table   with columns   {WORDS}\n",
        "x = '" + "a" * 90 + "'\n",
        "x = f'{" + " + ".join(["value"] * 20) + "}'\n",
        f"x = '''{WORDS}'''\n",
        f'x = "{WORDS}" ""\n',
        f'x = "" "{WORDS}"\n',
    ],
)
def test_what_would_change_its_meaning_or_its_layout_stays(text):
    assert cut(text) == text


@given(
    st.lists(st.text(st.sampled_from("ab {}%\\'\"#\tné"), max_size=12), max_size=12),
    st.sampled_from(["", "f", "r", "b", "rf"]),
    st.sampled_from(["x = {}", "call(\n    {},\n    1,\n)", "x = [{}, 2]", "return_({}) # {}"]),
)
def test_a_program_of_any_literal_is_never_another_one(parts, prefix, frame):
    text = frame.replace("{}", f'{prefix}"{" ".join(parts)}"') + "\n"
    try:
        before = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return
    assert ast.dump(ast.parse(cut(text, 30))) == before


def test_the_gate_breaks_long_lines_of_a_new_file_and_says_so(world):
    world.put("pyproject.toml", RUFF)
    verdict = world.judge(("a.py", f"# {WORDS} {WORDS}\nx = '{WORDS} {WORDS}'\n"))
    assert verdict.status == "pass", verdict.findings
    assert ("E501", 2) in [(fixed.rule, fixed.count) for fixed in verdict.fixed]
    again = world.judge(("b.py", verdict.proposal.changes[0].after))
    assert again.fixed == ()


def test_the_gate_leaves_long_lines_that_were_there(world):
    world.put("pyproject.toml", RUFF)
    old = f"# {WORDS} {WORDS}\n"
    verdict = world.judge(("a.py", f"{old}x = 1\n", f"{old}x = 2\n"))
    assert verdict.proposal.changes[0].after.decode() == f"{old}x = 2\n"


def test_line_ends_of_windows_stay(world):
    world.put("pyproject.toml", RUFF + "[tool.ruff.format]\nline-ending = 'auto'\n")
    verdict = world.judge(("a.py", f"x = 1\r\n# {WORDS} {WORDS}\r\n".encode()))
    after = verdict.proposal.changes[0].after
    assert after.count(b"\n") == after.count(b"\r\n") > 2
