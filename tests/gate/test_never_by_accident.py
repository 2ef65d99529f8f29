"""Every way a gate is known to be passed silently yields something other than "pass" here.

The causes are those observed with real tools: a tool prints "all checks passed" or nothing at all for a
file that it did not look at.
"""

import json

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.report.text import verdict_as_text
from tests.rows import walked

BAD = "import os\n\nprint(undefined)\n"


def pyproject(world, text):
    world.put("pyproject.toml", text)


def assert_not_checked(verdict, *checks):
    assert verdict.status == "error", verdict
    assert {miss.check for miss in verdict.not_checked if miss.required} >= set(checks), verdict.not_checked


def assert_excluded(world, path, text, *checks):
    """Say that the file was not checked, and let it pass: the project wants it so, and did before this change."""
    verdict = world.judge((path, text))
    assert verdict.status == "pass", verdict
    assert {(miss.check, miss.required) for miss in verdict.not_checked} == {(check, False) for check in checks}
    assert f"{path}: {', '.join(checks)}: the project's configuration excludes this file" in verdict_as_text(verdict)
    with Gate(world.project, strict=True, pool=world.gate._context.pool) as strict:
        changes = ChangeSet((FileChange(WorkspacePath(path), None, text.encode()),))
        assert strict.judge(changes).status == "error"


# -- ruff: exclusions and empty selections --------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        "[tool.ruff.lint]\nselect = []\n",
        '[tool.ruff.lint.per-file-ignores]\n"*" = ["ALL"]\n',
    ],
    ids=["empty-select", "ignore-all"],
)
def test_a_file_for_which_ruff_has_no_rule_is_not_checked(world, config):
    pyproject(world, config)
    verdict = world.judge(("gen.py", BAD))
    assert_not_checked(verdict, "ruff")
    assert "configuration" in verdict.not_checked[0].reason
    world.put("gen.py", BAD)
    assert_not_checked(world.check("gen.py"), "ruff")


@pytest.mark.parametrize(
    ("config", "checks"),
    [
        ('[tool.ruff]\nextend-exclude = ["gen.py"]\nforce-exclude = true\n', ("ruff", "ruff format")),
        ('[tool.ruff.lint.per-file-ignores]\n"gen.py" = ["ALL"]\n', ("ruff",)),
    ],
    ids=["force-exclude", "no-rule-for-it"],
)
def test_a_file_that_the_project_excludes_from_ruff_is_not_required(world, config, checks):
    pyproject(world, config)
    assert_excluded(world, "gen.py", "x = 1\n", *checks)


def test_an_empty_selection_of_a_folders_own_is_no_exclusion(world):
    pyproject(world, '[tool.ruff.lint]\nselect = ["F"]\n')
    world.put("pkg/ruff.toml", "lint.select = []\n")
    assert_not_checked(world.judge(("pkg/m.py", BAD)), "ruff")


def test_an_excluded_file_must_still_compile(world):
    pyproject(world, '[tool.ruff]\nextend-exclude = ["gen.py"]\n')
    assert world.judge(("gen.py", "x = (\n")).status == "fail"


def test_an_exclusion_that_came_with_what_is_checked_counts_from_the_next_change_on(world):
    world.git("init", "-q")
    pyproject(world, "[tool.ruff]\nline-length = 88\n")
    world.git("add", ".")
    world.git("commit", "-qm", "one")
    world.put("pkg/gen.py", BAD)
    pyproject(world, '[tool.ruff]\nline-length = 88\nextend-exclude = ["pkg"]\n')
    assert "ruff" in {run.name for run in world.check("pkg/gen.py", base="HEAD").checks}
    assert world.check("pkg/gen.py", base="HEAD").status == "fail"
    assert world.check("pyproject.toml", "pkg/gen.py", base="HEAD").status == "fail"
    world.git("commit", "-qam", "two")
    assert world.check("pkg/gen.py", base="HEAD").status == "pass"
    pyproject(world, "[tool.ruff]\nline-length = 88\n")
    world.git("commit", "-qam", "three")
    world.put("pkg/ruff.toml", 'exclude = ["*.py"]\n')
    assert world.check("pkg/gen.py", base="HEAD").status == "fail"


def test_a_folder_without_python_files_is_no_evidence(world):
    verdict = world.check()
    assert verdict.checks == ()


# -- ruff server: exclusions and broken configuration ----------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        '[tool.ruff.lint]\nselect = ["NOPE1"]\n',
        "[tool.ruff]\nno-such-option = 1\n",
        '[tool.ruff]\nrequired-version = ">=99"\n',
        "[tool.ruff\n",
    ],
    ids=["unknown-rule", "unknown-option", "wrong-version", "not-toml"],
)
def test_a_broken_ruff_configuration_is_an_error_and_not_the_defaults(world, config):
    pyproject(world, config)
    verdict = world.judge(("a.py", BAD))
    assert verdict.status == "error", verdict
    assert not verdict.findings
    assert world.judge(("b.py", BAD)).status == "error"


# -- comments that excuse a file -------------------------------------------------------------------


@pytest.mark.parametrize("comment", ["# ruff: noqa", "# flake8: noqa"])
def test_an_old_excuse_for_a_whole_file_is_not_checked(world, comment):
    before = f"{comment}\nx = 1\n"
    verdict = world.judge(("a.py", before, before + "y = 2\n"))
    assert_not_checked(verdict, "ruff")


# -- flake8 ----------------------------------------------------------------------------------------


def test_a_file_that_flake8_skips_is_not_checked(world):
    world.put(".flake8", "[flake8]\nselect = ZZZ\n")
    assert_not_checked(world.judge(("a.py", "x = 1\n")), "flake8")


def test_a_selected_plugin_that_is_not_installed_is_said(world):
    world.put("setup.cfg", "[flake8]\nselect = E,F,ZZZ\n")
    verdict = world.judge(("a.py", "x = 1\n"))
    assert [(miss.required, "ZZZ" in miss.reason) for miss in verdict.not_checked] == [(False, True)]


# -- black -----------------------------------------------------------------------------------------


def test_a_broken_black_configuration_is_an_error(world):
    pyproject(world, '[tool.black]\ntarget-version = ["py12345"]\n')
    assert_not_checked(world.judge(("a.py", "x = 1\n")), "black")


# -- files that are not what they seem -------------------------------------------------------------


def test_a_text_file_is_not_treated_as_python(world):
    verdict = world.judge(("b.txt", "import os\n"))
    assert verdict.status == "pass"
    assert verdict.checks == ()


@walked(
    "data",
    [b"x = 1\0\n", b"\xff\xfe\x00", b"x = '\xe9'\n", "x = " + "(" * 250 + "1" + ")" * 250 + "\n"],
)
def test_what_cannot_be_read_as_python_is_never_a_pass(world, data):
    assert world.judge(("a.py", data)).status in ("fail", "error")


@pytest.mark.parametrize("name", ["latin-1", "cp1252", "koi8-r", "shift_jis"])
@pytest.mark.parametrize("formatter", ["ruff", "black"])
def test_a_declared_encoding_is_read_as_python_reads_it_and_written_again(world, name, formatter):
    sections = {"ruff": "[tool.ruff.format]\n[tool.ruff.lint]\nselect = ['F']\n", "black": "[tool.black]\n"}
    pyproject(world, sections[formatter])
    word = {"koi8-r": "\u0434\u0430", "shift_jis": "\u8868"}.get(name, "\xe9")
    text = f"# coding: {name}\nimport os\n\nx   = '{word}', os, undefined\n"
    verdict = world.judge(("a.py", text.encode(name)))
    assert [(f.rule, f.line, f.source) for f in verdict.findings] == [("F821", 4, f'x = "{word}", os, undefined')]
    assert verdict.proposal.changes[0].after.decode(name) == text.replace("x   = '", 'x = "').replace("',", '",')
    hidden = world.judge(("b.py", f"# coding: {name}\nx = '{word}', undefined  # noqa\n".encode(name)))
    assert "new-suppression" in {finding.rule for finding in hidden.findings}


def test_a_deeply_nested_expression_that_only_ruff_accepts_is_a_finding(world):
    verdict = world.judge(("a.py", "x = " + "(" * 201 + "1" + ")" * 201 + "\n"))
    assert [finding.rule for finding in verdict.findings] == ["syntax-error"]


# -- tools that misbehave --------------------------------------------------------------------------


def fake_tool(tmp_path, monkeypatch, script):
    from rails.processes import programs

    fake = tmp_path / "ruff"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(programs, "find_ruff", lambda: programs.Tool("ruff", (str(fake),), "0"))


@pytest.mark.parametrize(
    "script",
    ["exit 0", "echo '[]'", "echo 'All checks passed!'", "echo '{}'", "exit 2", "kill -9 $$", "cat"],
    ids=["silent", "empty-list", "words", "wrong-shape", "exit-2", "killed", "echo"],
)
def test_a_ruff_that_does_not_answer_properly_is_an_error(world, tmp_path, monkeypatch, script):
    from rails.core import limits

    monkeypatch.setattr(limits, "CHECK_SECONDS", 1)
    fake_tool(tmp_path, monkeypatch, script)
    assert_not_checked(world.judge(("a.py", "x = 1\n")), "ruff")
    pyproject(world, '[tool.ruff]\nexclude = ["b.py"]\n')
    assert_not_checked(world.judge(("a.py", "x = 1\n")), "ruff")


def test_a_hanging_tool_is_an_error(world, tmp_path, monkeypatch):
    from rails.core import limits

    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.3)
    fake_tool(tmp_path, monkeypatch, "sleep 60")
    assert_not_checked(world.judge(("a.py", "x = 1\n")), "ruff")


def test_a_check_that_does_not_answer_for_a_file_is_noticed(world, monkeypatch):
    from rails.gate import registry

    real = registry.load_check("data").run_check
    monkeypatch.setattr(registry.load_check("data"), "run_check", lambda jobs, context: real(jobs[1:], context))
    verdict = world.judge(("a.json", "{}"), ("b.json", "{}"))
    assert_not_checked(verdict, "data")


def test_an_n8n_workflow_goes_to_its_own_check(world):
    workflow = {
        "name": "w",
        "nodes": [
            {
                "id": "1",
                "name": "A",
                "type": "n8n-nodes-base.manualTrigger",
                "typeVersion": 1,
                "position": [0, 0],
                "parameters": {},
            }
        ],
        "connections": {"A": {"main": [[{"node": "Missing", "type": "main", "index": 0}]]}},
    }
    verdict = world.judge(("flow.json", json.dumps(workflow, indent=2)))
    assert verdict.status == "fail", verdict
    assert all(finding.path == "flow.json" for finding in verdict.findings)
