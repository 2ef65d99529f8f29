"""Configuration that is code stays unexecuted: each of these projects plants code that leaves a trace."""

import os
import subprocess
import sys
import time

import pytest

from rails.gate.gate import Gate

PLANT = "import pathlib\npathlib.Path({trace!r}).write_text('ran')\nclass Plugin:\n    name = version = 'x'\n"


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "trace"


@pytest.mark.parametrize("name", ["setup.cfg", "tox.ini", ".flake8"])
def test_local_plugins_of_flake8_are_not_executed(world, trace, name):
    world.put("planted.py", PLANT.format(trace=str(trace)))
    world.put(
        name,
        "[flake8]\nmax-line-length = 100\n[flake8:local-plugins]\nextension =\n    X = planted:Plugin\npaths = .\n",
    )
    verdict = world.judge(("a.py", "x = 1\n"))
    assert "flake8" in {run.name for run in verdict.checks}
    assert not trace.exists()
    assert any("local plugins" in miss.reason for miss in verdict.not_checked)


@pytest.mark.parametrize("name", ["ruff", "black", "flake8", "json", "sitecustomize", "pycodestyle"])
def test_a_module_of_the_project_does_not_take_the_place_of_a_tool(world, trace, name, monkeypatch):
    world.put(f"{name}.py", PLANT.format(trace=str(trace)))
    monkeypatch.chdir(world.project)
    monkeypatch.setenv("PYTHONPATH", str(world.project))
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "pass", verdict
    assert not trace.exists()


@pytest.mark.parametrize("name", ["ruff", "black", "flake8", "git", "python3"])
def test_a_program_of_the_project_does_not_take_the_place_of_a_tool(world, trace, name, monkeypatch):
    planted = world.put(name, f"#!/bin/sh\necho ran > {trace}\n")
    planted.chmod(0o755)
    monkeypatch.chdir(world.project)
    monkeypatch.setenv("PATH", f"{world.project}:{os.environ['PATH']}")
    assert world.judge(("a.py", "x = 1\n")).status == "pass"
    assert not trace.exists()


def test_the_code_under_check_is_not_executed(world, trace):
    world.judge(("a.py", PLANT.format(trace=str(trace))), ("conftest.py", PLANT.format(trace=str(trace))))
    assert not trace.exists()


def test_ruff_does_not_read_outside_the_project(world, tmp_path):
    (tmp_path / "secret.toml").write_text("very secret line = [\n")
    world.put("ruff.toml", 'extend = "../secret.toml"\n')
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "error"
    assert "outside the project" in verdict.not_checked[0].reason
    assert "secret line" not in repr(verdict)


def test_a_configuration_above_the_project_has_no_say(world, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = []\n[tool.black]\nline-length = 20\n")
    verdict = world.judge(("a.py", "value = undefined_function('argument')\n"))
    assert [finding.rule for finding in verdict.findings] == ["F821"]
    assert verdict.proposal.changes[0].after == b"value = undefined_function('argument')\n"


def test_the_change_set_cannot_bring_its_own_configuration(world):
    verdict = world.judge(("pyproject.toml", "[tool.ruff.lint]\nselect = ['E4']\n"), ("a.py", "print(undefined)\n"))
    assert "F821" in [finding.rule for finding in verdict.findings]


def test_workers_die_with_their_parent(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom rails.gate.gate import Gate\n"
        "from rails.core.changes import *\n"
        "from rails.core.paths import WorkspacePath\n"
        f"gate = Gate(Path({str(tmp_path)!r}))\n"
        "desk = gate._context\n"
        "desk.pool.ask({'op': 'ping'})\n"
        "print(*[w.pid for w in desk.pool.workers if w.pid], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert pids
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(_runs(pid) for pid in pids):
        time.sleep(0.05)
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_idle_gate_uses_no_processor(project):
    with Gate(project) as gate:
        gate._context.pool.workers[0].ask({"op": "ping"})
        pid = gate._context.pool.workers[0].pid
        assert 0 in [_ticks_in(0.3, pid) for _ in range(3)], (
            "what follows an answer may take a moment; a loop does not end"
        )


def _ticks_in(seconds, pid):
    before = _ticks(pid)
    time.sleep(seconds)
    return _ticks(pid) - before


def _ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
