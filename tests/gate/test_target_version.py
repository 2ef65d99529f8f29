"""Syntax newer than our own Python counts as ruff counts it: by the configuration nearest to the file."""

import sys

import pytest

NEXT = f"py3{sys.version_info.minor + 3}"
RUFF = "[lint]\nselect = ['F']\n"
#: Valid from 3.14 on.
NEWER = "x = t'{1}'\nprint(x)\n"
pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads what is newest")


@pytest.mark.parametrize(
    "files",
    [
        {"pkg/ruff.toml": f"target-version = '{NEXT}'\n{RUFF}"},
        {"pkg/pyproject.toml": f"[tool.ruff]\ntarget-version = '{NEXT}'\n"},
        {"pkg/pyproject.toml": f"[project]\nrequires-python = '>=3.{NEXT[3:]}'\n[tool.ruff]\nline-length = 90\n"},
        {"pkg/ruff.toml": RUFF, "pkg/pyproject.toml": f"[project]\nrequires-python = '>=3.{NEXT[3:]}'\n"},
        {"pyproject.toml": "[tool.ruff]\nextend = 'c/base.toml'\n", "c/base.toml": f"target-version = '{NEXT}'\n"},
        {"pkg/ruff.toml": "extend = '../base.toml'\n", "base.toml": f"target-version = '{NEXT}'\n"},
        {"ruff.toml": f"target-version = 'py39'\n[per-file-target-version]\n'*/new.py' = '{NEXT}'\n"},
    ],
    ids=["nested", "nested-pyproject", "nested-requires", "requires-beside", "extended", "nested-extended", "per-file"],
)
def test_a_file_is_read_for_the_python_that_its_configuration_names(world, files):
    for path, text in {"pyproject.toml": "[tool.ruff.format]\n", **files}.items():
        world.put(path, text)
    verdict = world.judge(("pkg/new.py", NEWER))
    assert (verdict.status, verdict.findings) == ("pass", ()), verdict


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": f"[tool.ruff]\ntarget-version = '{NEXT}'\n", "pkg/ruff.toml": "target-version = 'py39'\n"},
        {
            "base.toml": f"target-version = '{NEXT}'\n",
            "pkg/ruff.toml": "extend='../base.toml'\ntarget-version='py39'\n",
        },
        {"ruff.toml": f"target-version = 'py39'\n[per-file-target-version]\n'old.py' = '{NEXT}'\n"},
    ],
    ids=["nearer-is-older", "own-goes-before-extended", "another-file"],
)
def test_an_older_python_of_the_nearer_configuration_counts(world, files):
    for path, text in files.items():
        world.put(path, text)
    assert [found.rule for found in world.judge(("pkg/new.py", NEWER)).findings] == ["syntax-error"]


def test_a_target_that_the_change_itself_brings_excuses_nothing(world):
    verdict = world.judge(("pkg/ruff.toml", f"target-version = '{NEXT}'\n"), ("pkg/new.py", NEWER))
    assert "syntax-error" in [found.rule for found in verdict.findings]


def test_syntax_that_is_too_new_for_the_project_is_a_finding_and_the_rest_is_repaired(world):
    """The error was there before the repairs, so it is none of theirs."""
    world.put(
        "pyproject.toml",
        "[tool.ruff]\ntarget-version = 'py310'\n[tool.ruff.format]\n[tool.ruff.lint]\nselect = ['F']\n",
    )
    verdict = world.judge(("a.py", "import os\ntry:\n  print( 1 )\nexcept* OSError:\n    pass\n"))
    assert [found.rule for found in verdict.blocking] == ["syntax-error"]
    assert verdict.proposal.changes[0].after == b"try:\n    print(1)\nexcept* OSError:\n    pass\n"
    assert not verdict.not_checked
