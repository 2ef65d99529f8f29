"""Modes, and commands of the settings: who decides how much a finding counts, and what may be executed."""

import json
import os
import pty
import subprocess
import sys

import pytest

from rails.core.app_dirs import config_folder
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import CheckError
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.support import executed_config
from rails.gate.support import settings as options

BAD = "print(undefined)\n"
LINTER = """import pathlib
for path in sorted(pathlib.Path(".").rglob("*.txt")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "bad" in line:
            print(f"{path}:{number}: bad word")
"""
COMMAND = '[[gate.command]]\nname = "words"\nrun = ["python", "words.py"]\nfiles = [".txt"]\n'


def settings(world, text):
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F', 'E']\n")
    world.put(".rails.toml", text)


def judged(world, path, text, agent=""):
    changes = ChangeSet((FileChange(WorkspacePath(path), None, text.encode()),))
    return world.gate.judge(changes, agent=agent)


def cli(project, *words, stdin=subprocess.DEVNULL):
    command = [sys.executable, "-m", "rails", "gate", "--project", str(project), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=project, stdin=stdin)


# -- modes -----------------------------------------------------------------------------------------


def test_a_finding_of_an_advisory_path_is_told_and_does_not_block(world):
    settings(world, '[[gate.mode]]\nmode = "advisory"\npath = "legacy/**"\n')
    verdict = judged(world, "legacy/old/a.py", BAD)
    assert (verdict.status, [(f.rule, f.severity, f.new) for f in verdict.findings]) == (
        "pass",
        [("F821", "warning", True)],
    )
    assert judged(world, "src/a.py", BAD).status == "fail"


def test_a_mode_may_be_for_one_agent_and_one_rule(world):
    settings(world, '[[gate.mode]]\nmode = "advisory"\nagent = "scout"\nrule = ["F8"]\n')
    assert judged(world, "a.py", BAD, agent="scout").status == "pass"
    assert judged(world, "a.py", BAD, agent="coder").status == "fail"
    assert judged(world, "a.py", BAD).status == "fail"
    assert judged(world, "a.py", "x = (\n", agent="scout").status == "fail"


def test_the_last_mode_that_fits_counts(world):
    settings(
        world,
        '[[gate.mode]]\nmode = "advisory"\npath = "*.py"\n[[gate.mode]]\nmode = "blocking"\npath = "core/*.py"\n',
    )
    assert judged(world, "a.py", BAD).status == "pass"
    assert judged(world, "core/a.py", BAD).status == "fail"


def test_a_retry_goes_back_so_many_times_and_is_then_the_humans_to_decide(world):
    settings(world, '[[gate.mode]]\nmode = "retry"\npath = "*.py"\nattempts = 2\n')
    assert [judged(world, "a.py", BAD, agent="coder").status for _ in range(3)] == ["fail", "fail", "pass"]
    assert judged(world, "a.py", BAD, agent="other").status == "fail"
    assert judged(world, "a.py", "x = 1\n", agent="coder").status == "pass"
    assert judged(world, "a.py", BAD, agent="coder").status == "fail"


def test_a_check_that_cannot_run_on_an_advisory_path_is_told_only(world):
    settings(world, '[[gate.mode]]\nmode = "advisory"\npath = "gen/**"\n')
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = []\n")
    verdict = judged(world, "gen/a.py", "x = 1\n")
    assert verdict.status == "pass"
    assert [(miss.check, miss.required) for miss in verdict.not_checked] == [("ruff", False)]


def test_no_mode_by_path_excuses_what_is_done_to_the_gate(world):
    settings(world, '[[gate.mode]]\nmode = "advisory"\npath = "**"\n')
    assert judged(world, "a.py", "import os  # noqa\n").status == "fail"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[gate.mode]]\nmode = "lax"\npath = "a"\n',
            '2:1: gate.mode 1: `mode` is "lax", which is not allowed. Allowed: ["blocking", "retry", "advisory"].',
        ),
        ('[[gate.mode]]\nmode = "advisory"\n', "name a path, agent or rule"),
        ('[gate.mode]\nmode = "advisory"\n', "two brackets"),
        ('[[gate.modes]]\nmode = "advisory"\n', "1:3: gate: `modes` is not known. Did you mean `mode`?"),
        (
            '[[gate.mode]]\nmode = "retry"\npath = "a"\nattempts = 0\n',
            "`attempts` is 0; it must be at least 1. With retry: how often it goes back to the agent.",
        ),
        ('[[gate.command]]\nname = "x"\n', "it needs run"),
        ('[[gate.command]]\nname = "x"\nrun = ["python"]\npattern = "("\n', "not a regular expression"),
        ('[[gate.command]]\nname = "x"\nrun = ["python"]\npattern = "x"\n', "(?P<path>"),
        ('[[gate.headings]]\npath = "a.md"\n', "`headings` is missing. Add `headings`"),
        ('[[gate.schema]]\nschema = "a.json"\n', "path or url"),
        ("[gate\n", ".rails.toml:1:6: it is not valid TOML"),
        ("[gates]\n", "`gates` is not known. Did you mean `gate`?"),
        ("gate = 1\n", "`gate` is an integer (1); it must be a table."),
        ('[[gate.mode]]\npath = "a"\nproject = "/p"\n', "3:1: gate.mode 1: `project` is not known."),
        ("[[gate.mode]]\npath = 3\n[[gate.mode]]\nagent = 4\n", "(1 more in the file.)"),
    ],
)
def test_a_mistake_in_the_settings_is_named_and_never_a_pass(world, text, words):
    settings(world, text)
    verdict = judged(world, "a.py", "x = 1\n")
    assert verdict.status == "error"
    assert words in verdict.not_checked[0].reason
    with pytest.raises(CheckError, match=r"\.rails\.toml"):
        options.read_gate_settings(world.project)


# -- settings are approved before they count --------------------------------------------------------


def test_settings_in_the_change_itself_do_not_count_for_it_and_are_a_finding(world):
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n")
    verdict = world.judge(
        (".rails.toml", '[[gate.mode]]\nmode = "advisory"\npath = "**"\n'),
        ("a.py", BAD),
    )
    assert {finding.rule for finding in verdict.findings if finding.severity == "error"} == {
        "F821",
        "gate-config-changed",
    }


def test_a_person_has_to_agree_when_commands_come_or_go(world):
    for before, after in (COMMAND, "[policy]\n"), ("[policy]\n", COMMAND):
        verdict = world.judge((".rails.toml", before, after))
        assert ("gate-config-changed", "error") in [(one.rule, one.severity) for one in verdict.findings]


def test_a_new_configuration_asks_where_one_is_there_already(tmp_path):
    lax = '[lint]\nselect = ["E9"]\n'
    for number, (there, text, name, new, severity) in enumerate(
        (
            ("a.py", "", "ruff.toml", lax, "warning"),
            ("ruff.toml", '[lint]\nselect = ["E", "F"]\n', ".ruff.toml", lax, "error"),
            ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', "ruff.toml", lax, "error"),
            ("setup.cfg", "[flake8]\nmax-line-length = 80\n", ".flake8", "[flake8]\nmax-line-length = 200\n", "error"),
            ("README.md", "", "mypy.ini", "[mypy]\nstrict = true\n", "warning"),
            ("package.json", '{"jest": {"verbose": true}}', "jest.config.js", "export default {};\n", "error"),
        )
    ):
        project = tmp_path / str(number)
        project.mkdir()
        (project / there).write_text(text, "utf-8")
        with Gate(project) as gate:
            found = gate.check_contents({name: new}).findings
        assert [one.severity for one in found if one.rule == "gate-config-changed"] == [severity], (there, name)


# -- commands --------------------------------------------------------------------------------------


def test_a_projects_command_runs_only_after_a_human_agreed_to_it_as_it_is(world):
    world.put("words.py", LINTER)
    settings(world, COMMAND)
    verdict = judged(world, "a.txt", "bad\n")
    assert verdict.status == "error"
    assert "ai-rails gate --trust" in verdict.not_checked[0].reason
    executed_config.agree(world.project, (world.project / ".rails.toml").read_bytes())
    assert [f.message for f in judged(world, "a.txt", "bad\n").findings] == ["bad word"]
    world.put(".rails.toml", COMMAND.replace("words.py", "other.py"))
    assert judged(world, "a.txt", "bad\n").status == "error"


def test_agreement_is_for_one_project(world, tmp_path, pool):
    world.put("words.py", LINTER)
    settings(world, COMMAND)
    executed_config.agree(world.project, COMMAND.encode())
    other = tmp_path / "other"
    other.mkdir()
    (other / ".rails.toml").write_text(COMMAND)
    with Gate(other, pool=pool) as gate:
        assert gate.judge(ChangeSet((FileChange(WorkspacePath("a.txt"), None, b"bad\n"),))).status == "error"


def test_the_users_own_commands_need_no_agreement_and_may_be_for_one_project(world, own_config):
    world.put("words.py", LINTER)
    own_config.mkdir()
    entry = COMMAND.replace("gate.command", "command")
    (own_config / "gate.toml").write_text(f"{entry}project = {str(world.project)!r}\n")
    assert judged(world, "a.txt", "bad\n").status == "fail"
    (own_config / "gate.toml").write_text(f"{entry}project = '/elsewhere'\n")
    assert judged(world, "a.txt", "bad\n").status == "pass"


def test_a_shipped_command_needs_its_name_only(world, own_config):
    own_config.mkdir()
    (own_config / "gate.toml").write_text('[[command]]\nname = "mypy"\n')
    verdict = judged(world, "a.py", 'x: int = "one"\n')
    assert [(f.rule, f.tool) for f in verdict.findings] == [("assignment", "mypy")]


def test_the_command_line_asks_before_it_runs_commands_of_a_project(world):
    world.put("words.py", LINTER.replace("\n", "\n"))
    settings(world, COMMAND)
    world.put("a.txt", "bad\n")
    held = cli(world.project, "a.txt")
    assert held.returncode == 3, held.stdout
    assert "ai-rails gate --trust" in held.stdout
    refused = cli(world.project, "--trust", "a.txt")
    assert (refused.returncode, "a person who types the word" in refused.stderr) == (2, True)
    assert not (config_folder() / "gate-trust.json").exists()
    ours, theirs = pty.openpty()
    os.write(ours, b"trust\n")
    ran = cli(world.project, "--trust", "a.txt", stdin=theirs)
    assert ran.returncode == 1, ran.stdout
    assert "bad word" in ran.stdout
    assert "may run words" in ran.stderr
    assert cli(world.project, "--explain", "a.txt").stdout.count("words") >= 2
    assert json.loads((config_folder() / "gate-trust.json").read_text()).keys() == {str(world.project)}


def test_globs():
    for path, pattern, fits in (
        ("a/b/c.py", "a/**", True),
        ("a/b/c.py", "a/*", False),
        ("a/b/c.py", "**/c.py", True),
        ("c.py", "**/c.py", True),
        ("a/c.py", "c.py", True),
        ("a/c.py", "*.py", True),
        ("a/b/c.py", "a/", True),
        ("ab/c.py", "a/", False),
        ("a/c+.py", "a/c+.py", True),
    ):
        assert options.matches(path, pattern) is fits, (path, pattern)
