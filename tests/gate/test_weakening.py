"""Nobody changes unseen how a project is checked: each such change is a finding, and a person has to agree."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core.verdict import Finding
from rails.gate import check_settings
from rails.gate.gate import Gate


def severities(verdict):
    return [finding.severity for finding in verdict.findings if finding.rule == "gate-config-changed"]


RUFF = '[tool.ruff.lint]\nselect = ["E", "F"]\nignore = ["E501"]\n[tool.ruff]\nexclude = ["a", "b"]\nline-length = 90\n'
CASES = tomllib.loads(Path(__file__).with_name("weakening.toml").read_text())


@pytest.mark.parametrize("expected", CASES)
def test_a_change_of_what_configures_the_checks_is_a_finding(tmp_path, expected):
    """An error until a person agrees; a warning where ruff says that nothing is asked less; else nobody's business."""
    for number, case in enumerate(CASES[expected]):
        project = tmp_path / str(number)
        for name in case.get("beside", ()):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).touch()
        sides = [case[side].encode() if side in case else None for side in ("before", "after")]
        found = [one.severity for one in check_settings.findings(project, [(case["file"], *sides)])]
        assert found == ([] if expected == "nothing" else [expected]), case


def test_settings_that_move_to_another_file_ask_for_as_much(tmp_path):
    """Ruff is asked about both states as a whole."""
    moved = [("ruff.toml", b'lint.select = ["E", "F"]\n', None), ("pyproject.toml", b"", RUFF.encode())]
    assert [one.severity for one in check_settings.findings(tmp_path, moved)] == ["error", "error"]
    same = [moved[0], ("pyproject.toml", b"", b'[tool.ruff.lint]\nselect = ["E", "F"]\n')]
    assert [one.severity for one in check_settings.findings(tmp_path, same)] == ["warning", "warning"]


def test_it_blocks_is_shown_first_and_a_person_may_agree(world):
    """In a verdict it stands before what is wrong with the code; with the agreement it is told only."""
    path, old, new = CASES["error"][0].values()
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
    old = b"[flake8]\na = 1\nb = 2\n"
    new = b"[flake8]\na = 1\nb = 3\n"
    remedy = "Leave it as it was and correct the code, or ask the human. In CI: ai-rails gate --settings-agreed."
    words = "It changes how the project is checked; a person has to agree."
    place = (".flake8", 3, 1, "gate-config-changed", words, "gate")
    assert list(check_settings.findings(tmp_path, [(".flake8", old, new)])) == [
        Finding(*place, end_line=3, remedy=remedy)
    ]


@given(st.sampled_from([case["file"] for case in CASES["error"]]), st.binary(max_size=60), st.binary(max_size=60))
def test_what_nobody_can_read_is_a_finding_or_nothing_and_ends_nothing(path, before, after):
    """Any bytes on both sides."""
    for one in check_settings.findings(check_settings.Path("/nowhere"), [(path, before, after)]):
        assert one.line >= 1
