"""Nobody changes unseen how a project is checked: each such change is a finding, and a person has to agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core.verdict import Finding
from rails.gate import check_settings
from rails.gate.gate import Gate


def severities(verdict):
    return [finding.severity for finding in verdict.findings if finding.rule == "gate-config-changed"]


RUFF = '[tool.ruff.lint]\nselect = ["E", "F"]\nignore = ["E501"]\n[tool.ruff]\nexclude = ["a", "b"]\nline-length = 90\n'
HOOKS = "repos:\n- repo: https://x/ruff\n  rev: v1\n  hooks:\n  - id: ruff\n    args: [--fix]\n"
ERROR = [
    ("pyproject.toml", RUFF, RUFF.replace('"E", "F"', '"E"')),
    ("pyproject.toml", RUFF, RUFF.replace("E501", 'E501", "F401')),
    ("pyproject.toml", RUFF, RUFF.replace("90", "120")),
    ("pyproject.toml", RUFF, RUFF.replace('"b"', '"b", "src"')),
    ("pyproject.toml", RUFF, f'{RUFF}[tool.ruff.lint.per-file-ignores]\n"a.py" = ["F"]\n'),
    ("pyproject.toml", RUFF, '[project]\nname = "x"\n'),
    ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "[tool.mypy]\nstrict = false\n"),
    ("pyproject.toml", "[tool.pytest.ini_options]\n", '[tool.pytest.ini_options]\naddopts = "-k x"\n'),
    ("pyproject.toml", RUFF, "[tool.ruff\n"),
    ("ruff.toml", 'lint.select = ["E", "F"]\n', None),
    ("ruff.toml", 'extend = "nowhere.toml"\n', 'extend = "nobody.toml"\n'),
    ("sub/ruff.toml", None, 'exclude = ["src"]\n'),
    ("setup.cfg", "[flake8]\nmax-line-length = 88\n", "[flake8]\nmax-line-length = 120\n"),
    (".flake8", "[flake8]\n", "[flake8]\nexclude = src\n"),
    (".prettierignore", None, "src\n"),
    (".eslintignore", "a\n", "a\nsrc\n"),
    ("web/.eslintrc.json", '{"rules": {"semi": 2}}', '{"rules": {"semi": 0}}'),
    ("tsconfig.json", '{"compilerOptions": {"strict": true}}', "{}"),
    ("biome.json", '{"linter": {"enabled": true}}', '{"linter": {"enabled": false}}'),
    (".pre-commit-config.yaml", HOOKS, HOOKS.replace("--fix", "--exit-zero")),
    ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}'),
    ("package.json", '{"devDependencies": {"eslint": "9"}}', '{"devDependencies": {}}'),
    (".rails.toml", "[[gate.command]]\nname = 'mypy'\n", ""),
    (".rails.toml", None, "[[gate.mode]]\nmode = 'advisory'\nrule = 'F'\n"),
    (".github/workflows/ci.yml", "- run: pytest\n", "- run: pytest || true\n"),
    ("Makefile", "lint:\n\truff check .\n", "lint:\n\ttrue\n"),
    ("data.json", '{"$schema": "./own.schema.json"}', "{}"),
]
#: Ruff itself says that no file is asked less, or it is the first of its kind.
WARNING = [
    ("pyproject.toml", RUFF, RUFF.replace('["E", "F"]', '["ALL"]')),
    ("pyproject.toml", RUFF, RUFF.replace('"E", "F"', '"E", "F", "B"')),
    ("pyproject.toml", RUFF, RUFF.replace('"a", "b"', '"a"')),
    ("pyproject.toml", RUFF, RUFF.replace('["E501"]', "[]")),
    ("pyproject.toml", RUFF, RUFF.replace("90", "80")),
    ("pyproject.toml", RUFF, RUFF.replace("select", "extend-select")),
    ("ruff.toml", None, 'lint.select = ["E", "F"]\n'),
    ("pyproject.toml", None, "[tool.mypy]\nstrict = true\n"),
]
NOTHING = [
    ("pyproject.toml", '[project]\nversion = "1"\n[tool.ruff]\n', '[project]\nversion = "2"\n[tool.ruff]\n'),
    ("pyproject.toml", "[tool.poetry]\nversion = '1'\n", "[tool.poetry]\nversion = '2'\n"),
    ("pyproject.toml", "[tool.black]\nline-length = 80\n", "[tool.black]\nline-length = 90\n"),
    ("package.json", '{"scripts": {"start": "x"}}', '{"scripts": {"start": "y"}, "version": "2"}'),
    ("package.json", None, '{"scripts": {"test": "jest"}}'),
    (".pre-commit-config.yaml", HOOKS, HOOKS.replace("v1", "v2")),
    (".github/workflows/ci.yml", "- run: pytest\n", "- run: pytest\n- run: deploy\n"),
    (".github/workflows/ci.yml", None, "- run: pytest\n"),
    ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n"),
    ("ruff.py", "x = 1\n", "x = 2\n"),
    ("data.json", '{"$schema": "https://x/y"}', "{}"),
]


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        *((*case, ["error"]) for case in ERROR),
        *((*case, ["warning"]) for case in WARNING),
        *((*case, []) for case in NOTHING),
    ],
)
def test_a_change_of_what_configures_the_checks_is_a_finding(tmp_path, path, before, after, expected):
    """An error until a person agrees; a warning where ruff says that nothing is asked less; else nobody's business."""
    encoded = [None if side is None else side.encode() for side in (before, after)]
    assert [one.severity for one in check_settings.findings(tmp_path, [(path, *encoded)])] == expected


def test_settings_that_move_to_another_file_ask_for_as_much(tmp_path):
    """Ruff is asked about both states as a whole."""
    moved = [("ruff.toml", b'lint.select = ["E", "F"]\n', None), ("pyproject.toml", b"", RUFF.encode())]
    assert [one.severity for one in check_settings.findings(tmp_path, moved)] == ["error", "error"]
    same = [moved[0], ("pyproject.toml", b"", b'[tool.ruff.lint]\nselect = ["E", "F"]\n')]
    assert [one.severity for one in check_settings.findings(tmp_path, same)] == ["warning", "warning"]


def test_it_blocks_is_shown_first_and_a_person_may_agree(world):
    """In a verdict it stands before what is wrong with the code; with the agreement it is told only."""
    path, old, new = ERROR[0]
    world.put(path, old)
    contents = {"a.py": "print(x)\n", path: new}
    verdict = world.gate.check_contents(contents)
    assert [finding.rule for finding in verdict.findings][:2] == ["gate-config-changed", "F821"]
    assert [finding.rule for finding in verdict.style] == ["gate-config-changed"]
    with Gate(world.project, settings_agreed=True) as gate:
        agreed = gate.check_contents({path: new})
    assert (agreed.status, severities(agreed)) == ("pass", ["warning"])


def test_without_a_baseline_nothing_of_this_is_known_to_be_new(world):
    """A check of files as they are says nothing of it."""
    world.put("ruff.toml", 'exclude = ["x"]\n')
    world.put("a.py", "x = 1\n")
    assert severities(world.check()) == []


def test_what_it_says_names_the_place(tmp_path):
    """The first line that differs, in the words that a person reads."""
    old, new = b"[flake8]\na = 1\nb = 2\n", b"[flake8]\na = 1\nb = 3\n"
    remedy = "Leave it as it was and correct the code, or ask the human. In CI: ai-rails gate --settings-agreed."
    words = "It changes how the project is checked; a person has to agree."
    place = (".flake8", 3, 1, "gate-config-changed", words, "gate")
    assert list(check_settings.findings(tmp_path, [(".flake8", old, new)])) == [
        Finding(*place, end_line=3, remedy=remedy)
    ]


@given(st.sampled_from([case[0] for case in ERROR]), st.binary(max_size=60), st.binary(max_size=60))
def test_what_nobody_can_read_is_a_finding_or_nothing_and_ends_nothing(path, before, after):
    """Any bytes on both sides."""
    for one in check_settings.findings(check_settings.Path("/nowhere"), [(path, before, after)]):
        assert one.line >= 1
