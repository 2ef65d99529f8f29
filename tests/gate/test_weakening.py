"""An agent cannot make the checks weaker unseen: such a change is a finding of its own."""

import pytest


def found(verdict):
    return [(finding.rule, finding.severity) for finding in verdict.findings if finding.rule.startswith("gate-config")]


WEAKENED = [("gate-config-weakened", "error")]
CHANGED = [("gate-config-changed", "warning")]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", "[tool.ruff.lint]\nignore = []\n", '[tool.ruff.lint]\nignore = ["F401"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', '[tool.ruff.lint]\nselect = ["E"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', "[tool.ruff.lint]\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 88\n", "[tool.ruff]\nline-length = 200\n"),
        ("pyproject.toml", "[tool.ruff]\n", '[tool.ruff]\nextend-exclude = ["src"]\n'),
        ("pyproject.toml", "[tool.ruff.lint]\n", '[tool.ruff.lint.per-file-ignores]\n"a.py" = ["F"]\n'),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "[tool.mypy]\nstrict = false\n"),
        ("pyproject.toml", "[tool.mypy]\n", "[tool.mypy]\nignore_errors = true\n"),
        ("ruff.toml", 'lint.select = ["E", "F"]\n', 'lint.select = ["E"]\n'),
        ("setup.cfg", "[flake8]\nmax-line-length = 88\n", "[flake8]\nmax-line-length = 120\n"),
        ("setup.cfg", "[flake8]\nextend-ignore = E203\n", "[flake8]\nextend-ignore = E203, F401\n"),
        (".flake8", "[flake8]\n", "[flake8]\nexclude = src\n"),
        (".prettierignore", "dist\n", "dist\nsrc\n"),
        (".eslintignore", "", "src\n"),
    ],
)
def test_a_weaker_configuration_is_a_finding(world, path, before, after):
    verdict = world.judge((path, before, after))
    assert found(verdict) == WEAKENED, verdict
    assert verdict.status == "fail"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[tool.ruff]\nexclude = ["src"]\n'),
        ("src/ruff.toml", 'extend-exclude = ["*.py"]\n'),
        (".flake8", "[flake8]\nextend-exclude = src\n"),
    ],
)
def test_new_configuration_that_excludes_files_is_a_weaker_one(world, path, text):
    assert found(world.judge((path, text))) == WEAKENED


def test_without_a_baseline_nothing_of_this_is_known_to_be_new(world):
    world.put("pyproject.toml", '[tool.ruff]\nexclude = ["src"]\n')
    world.put("a.py", "import os  # noqa: F401\n")
    assert world.check("pyproject.toml", "a.py").findings == ()


def test_beside_a_revision_suppressions_and_configuration_are_findings(world):
    world.git("init", "-q")
    world.put("a.py", "import os\n")
    world.put("b.py", "import os  # noqa: F401\n")
    world.git("add", ".")
    world.git("commit", "-qm", "one")
    world.put("a.py", "import os  # noqa: F401\n")
    world.put("new.py", "import os  # noqa: F401\n")
    world.put("ruff.toml", "line-length = 100\n")
    verdict = world.check("a.py", "b.py", "new.py", "ruff.toml", base="HEAD")
    assert {(f.path, f.rule) for f in verdict.findings} == {
        ("a.py", "new-suppression"),
        ("new.py", "new-suppression"),
        ("ruff.toml", "gate-config-changed"),
    }


def test_configuration_taken_away_is_a_finding(world):
    assert found(world.judge(("ruff.toml", 'lint.select = ["F"]\n', None))) == WEAKENED


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E"]\n', '[tool.ruff.lint]\nselect = ["E", "F"]\n'),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", "[tool.ruff]\nline-length = 88\n"),
        ("pyproject.toml", None, "[tool.ruff]\nline-length = 100\n"),
        ("eslint.config.js", "export default [];\n", "export default [1];\n"),
    ],
)
def test_any_other_change_of_the_configuration_is_told_and_does_not_block(world, path, before, after):
    verdict = world.judge((path, after)) if before is None else world.judge((path, before, after))
    assert found(verdict) == CHANGED, verdict
    assert not verdict.blocking


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", "[project]\nversion = '1'\n", "[project]\nversion = '2'\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 88\n", "# why\n[tool.ruff]\nline-length = 88\n"),
        ("src/config.toml", "ignore = []\n", "ignore = ['a']\n"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n"),
    ],
)
def test_other_files_and_other_tables_are_nobodys_business(world, path, before, after):
    verdict = world.judge((path, before, after))
    assert verdict.findings == ()
    assert verdict.status == "pass"
