"""What a finding weighs: what breaks is refused, style may be accepted by a person, notes are shown."""

from pathlib import Path

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.events.reading import read_typed
from rails.core.events.values import verdict_to_json
from rails.core.paths import WorkspacePath
from rails.core.verdict import Finding, Weight
from rails.gate.gate import Gate
from rails.gate.verdicts import with_weight
from tests.rows import walked


@walked(
    ("tool", "rule", "weight"),
    [
        ("ruff", "F821", "breaks"),
        ("ruff", "invalid-syntax", "breaks"),
        ("ruff", "E501", "style"),
        ("flake8", "F401", "style"),
        ("eslint", "no-undef", "breaks"),
        ("black", "format", "style"),
        ("gate", "gate-config-weakened", "breaks"),
        ("gate", "test-removed", "breaks"),
        ("a-command-of-the-project", "W1", "breaks"),
    ],
)
def test_the_weight_of_a_rule(tool: str, rule: str, weight: Weight) -> None:
    """The shipped table decides by tool and rule; what it does not know breaks, and a warning is a note."""
    assert with_weight(Finding("a", 1, 1, rule, "", tool)).weight == weight
    assert with_weight(Finding("a", 1, 1, rule, "", tool, "warning")).weight == "note"


def test_a_verdict_tells_style_from_what_breaks(tmp_path: Path) -> None:
    """Both keep it from passing, each is listed by its weight, and a log keeps the weight."""
    (tmp_path / "ruff.toml").write_text('lint.select = ["E", "F"]\n')
    long = f"x = '{'a' * 100}'\n"
    with Gate(tmp_path) as gate:
        verdict = gate.check_contents({"a.py": f"{long}print(y)\n"})
    assert [finding.rule for finding in verdict.style] == ["E501"]
    assert [finding.rule for finding in verdict.breaks] == ["F821"]
    again = read_typed(type(verdict), verdict_to_json(verdict))
    assert [(one.rule, one.weight) for one in again.findings] == [(one.rule, one.weight) for one in verdict.findings]


@pytest.mark.parametrize(("mode", "weight"), [("blocking", "breaks"), ("retry", "style"), ("advisory", "note")])
def test_a_project_may_weigh_otherwise(tmp_path: Path, mode: str, weight: str) -> None:
    """A mode of the project's settings is the weight of the findings that it fits."""
    (tmp_path / "ruff.toml").write_text('lint.select = ["E", "F"]\n')
    (tmp_path / ".rails.toml").write_text(f'[[gate.mode]]\nmode = "{mode}"\nrule = "E501"\n')
    with Gate(tmp_path) as gate:
        verdict = gate.check_contents({"a.py": f"x = '{'a' * 100}'\n"})
    assert [finding.weight for finding in verdict.findings] == [weight]


def test_what_the_next_edit_may_use_stays_until_the_end(tmp_path: Path) -> None:
    """An unused import is noted and left in while a task goes on; at its end it is removed, or a finding."""
    (tmp_path / "ruff.toml").write_text('lint.select = ["E", "F"]\n')
    (tmp_path / "ruff.toml").write_text('lint.select = ["E", "F"]\n[format]\nquote-style = "double"\n')
    change = FileChange(WorkspacePath("a.py"), b"x = 1\n", b"import os\n\nx = 1\n")
    with Gate(tmp_path) as gate:
        during = gate.judge(ChangeSet((change,)), final=False)
        end = gate.judge(ChangeSet((change,)))
    assert (during.status, [(one.rule, one.weight) for one in during.findings]) == ("pass", [("F401", "note")])
    assert during.proposal.changes[0].after == change.after
    assert "F401" in [fixed.rule for fixed in end.fixed]
