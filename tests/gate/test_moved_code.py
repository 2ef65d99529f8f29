"""Code that moves within a change keeps its old findings and comments, in new files, too; nothing else hides there."""

import pytest

RUFF = "[tool.ruff.lint]\nselect = ['F', 'B', 'C90']\n[tool.ruff.lint.mccabe]\nmax-complexity = 2\n"
ONE = "def one(a):\n    if a == 1:\n        return 1\n    if a == 2:\n        return undefined\n    return a\n"
TWO = "def two(a, b=[]):\n    return a, b  # noqa: B006\n\n\ndef three():\n    return missing  # noqa: F821\n"
GROWN = ONE.replace("    return a\n", "    if a == 3:\n        return 3\n    return a\n")
BOTH = f"{ONE}\n\n{TWO}"


def told(world, *files):
    world.put("pyproject.toml", RUFF)
    verdict = world.judge(*files)
    return sorted((one.path, one.rule) for one in verdict.findings if one.rule != "format")


def test_a_file_that_is_split_brings_nothing_new(world):
    assert told(world, ("a.py", BOTH, ONE), ("b.py", TWO)) == []
    assert told(world, ("a.py", BOTH, TWO), ("b.py", ONE)) == []
    assert told(world, ("a.py", BOTH, "x = 1\n"), ("b.py", ONE), ("c.py", TWO)) == []


def test_parts_of_a_file_that_is_gone_bring_nothing_new(world):
    more = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(5))
    whole = f"{more}{ONE}\n\n{more.replace('def f', 'def g')}{TWO}"
    first = f"{more}{ONE}"
    second = f"{more.replace('def f', 'def g')}{TWO}"
    assert told(world, ("a.py", whole, None), ("b.py", first), ("c.py", second)) == []


@pytest.mark.parametrize("name", ["b.py", "old.py"])
def test_what_is_not_moved_is_new_where_it_comes(world, name):
    here = (name, "x = 1\n", f"x = 1\n\n\n{ONE}") if name == "old.py" else (name, ONE)
    assert told(world, ("a.py", BOTH, f"{BOTH}\n\nx = 1\n"), here) == [(name, "C901"), (name, "F821")]


def test_one_old_finding_explains_one_new_one(world):
    assert told(world, ("a.py", BOTH, TWO), ("b.py", ONE), ("c.py", ONE)) == [("c.py", "C901"), ("c.py", "F821")]


def test_a_comment_that_moves_excuses_its_own_line_only(world):
    other = TWO.replace("missing", "other")
    assert told(world, ("a.py", BOTH, ONE), ("b.py", other)) == [("b.py", "new-suppression")]
    assert told(world, ("a.py", BOTH, ONE), ("b.py", TWO), ("c.py", TWO)).count(("c.py", "new-suppression")) == 2


def test_what_grows_on_its_way_is_worse_than_before(world):
    assert told(world, ("a.py", BOTH, TWO), ("b.py", GROWN)) == [("b.py", "C901")]
    renamed = GROWN.replace("def one", "def uno")
    assert told(world, ("a.py", BOTH, f"{renamed}\n\n{TWO}")) == [("a.py", "C901")]
    assert told(world, ("a.py", BOTH, f"{ONE.replace('def one', 'def uno')}\n\n{TWO}")) == []
