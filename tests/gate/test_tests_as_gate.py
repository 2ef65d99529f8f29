"""Tests as a gate: really ended when they take too long, none is a failure, and so much of the code is to be run."""

import sys
from pathlib import Path

import pytest

from rails.gate import command_checks
from rails.gate.gate import Gate
from rails.gate.support import executed_config, settings
from rails.gate.support.check_command import pytest as suite_of
from rails.sandbox.values import NONE, Label

CODE = "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n"
HALF = "from a import sign\n\n\ndef test_sign():\n    assert sign(2) == 1\n"
WHOLE = HALF + "    assert sign(-2) == -1\n"


@pytest.fixture
def suite(world, project, pool):
    """Return a function that judges files with the project's tests as a gate; ``more`` are settings of the command."""
    gates = []

    def judge(*files, more="", wait=False):
        world.put(".rails.toml", f'[[gate.command]]\nname = "pytest"\n{more}\n')
        gates.append(Gate(project, pool=pool, wait=wait))
        world.gate = gates[-1]
        executed_config.agree(project, (project / ".rails.toml").read_bytes())
        return world.judge(*files)

    yield judge
    for gate in gates:
        gate.close()


def told(verdict):
    return [(finding.rule, finding.path, finding.line) for finding in verdict.findings if finding.tool == "pytest"]


def left_running(words):
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [place] if words in place.read_bytes() else []
        except OSError:
            continue
    return found


def test_no_test_is_a_failure_before_and_after(world, suite):
    world.put("a.py", CODE)
    verdict = suite(("a.py", CODE, CODE + "\n\nX = 1\n"))
    assert told(verdict) == [("no-tests", ".", 0)]
    assert verdict.status == "fail"


def test_a_suite_that_hangs_is_ended_with_all_that_it_started(suite):
    hang = (
        "import subprocess, time\n\n\ndef test_it():\n    subprocess.Popen(['sleep', '8181'], start_new_session=True)\n"
    )
    verdict = suite(("test_a.py", hang + "    time.sleep(8182)\n"), more="timeout = 3")
    assert "was stopped" in verdict.not_checked[-1].reason
    assert verdict.status == "error"
    assert not left_running(b"sleep\x008181")


def test_the_project_s_threshold_of_coverage_counts(world, suite):
    pytest.importorskip("coverage")
    world.put("pyproject.toml", '[tool.coverage.report]\nfail_under = 95\nomit = ["test_*"]\n')
    verdict = suite(("a.py", CODE), ("test_a.py", HALF))
    assert told(verdict) == [("coverage", ".", 0)]
    assert "fail-under=95" in next(f.message for f in verdict.findings if f.rule == "coverage")
    assert told(suite(("a.py", CODE), ("test_a.py", WHOLE))) == []


def test_a_change_does_not_lower_the_threshold_that_judges_it(world, suite):
    pytest.importorskip("coverage")
    strict = '[tool.coverage.report]\nfail_under = 95\nomit = ["test_*"]\n'
    files = ("a.py", CODE), ("test_a.py", HALF), ("pyproject.toml", strict, strict.replace("95", "5"))
    verdict = suite(*files, wait=True)
    assert ("coverage", ".", 0) in told(verdict)
    weaker = [found.message for found in verdict.findings if found.rule == "gate-config-changed"]
    assert weaker == ["It changes how the project is checked; a person has to agree."]


def test_without_coverage_py_it_is_not_checked_and_says_what_to_install(world, tmp_path, monkeypatch):
    world.put(".coveragerc", "[report]\nfail_under = 1\n")
    place = tmp_path / "python"
    absent = 'case "$*" in *coverage*) echo "No module named coverage" >&2; exit 1;; esac'
    place.write_text(f'#!/bin/sh\n{absent}\nexec {sys.executable} "$@"\n')
    place.chmod(0o755)
    asked = settings.GateSettings(commands=(suite_of(str(place)),))
    monkeypatch.setattr(settings, "read_gate_settings", lambda *_: asked)
    verdict = world.judge(("test_a.py", HALF), ("a.py", CODE))
    assert "pip install coverage" in verdict.not_checked[-1].reason


def test_where_nothing_contains_it_what_nobody_approved_is_not_run(world, suite, monkeypatch):
    found = Label(NONE, why="a test says so")
    monkeypatch.setattr(command_checks.probe, "label", lambda **_: found)
    verdict = suite(("test_a.py", "def test_it():\n    raise SystemExit\n"))
    assert "unapproved code" in verdict.not_checked[-1].reason
    assert verdict.status == "error"
    world.put("test_b.py", "def test_it():\n    pass\n")
    assert suite(("test_b.py", "def test_it():\n    pass\n", "def test_it():\n    pass\n")).status == "pass"
