"""Commands as checks: real runs on a copy, new findings only, nothing left running."""

import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.support import settings
from rails.gate.support.check_command import CheckCommand
from rails.gate.support.check_command import pytest as suite_of
from rails.gate.support.known_tools import known_tool

LINTER = """
import pathlib, sys
for path in sorted(pathlib.Path(".").rglob("*.txt")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "bad" in line:
            print(f"{path}:{number}:{line.index('bad') + 1}: bad word in '{line}'")
"""


def linter(**options):
    return CheckCommand("words", (sys.executable, "-c", LINTER), **options)


@pytest.fixture
def commanded(world, project, pool, monkeypatch):
    """Return a function that judges files with some commands."""
    gates = []

    def judge(commands, *files):
        asked = settings.GateSettings(commands=tuple(commands))
        monkeypatch.setattr(settings, "read_gate_settings", lambda *_: asked)
        gates.append(Gate(project, pool=pool))
        world.gate = gates[-1]
        return world.judge(*files)

    yield judge
    for gate in gates:
        gate.close()


def test_findings_of_a_command_are_new_or_old(world, commanded):
    world.put("other.txt", "bad\n")
    verdict = commanded([linter()], ("a.txt", "bad one\nfine\n", "top\nbad one\nworse is bad\n"))
    assert [(f.path, f.line, f.column) for f in verdict.findings] == [("a.txt", 3, 10)]
    assert verdict.status == "fail"
    assert [run.name for run in verdict.checks] == ["words"]


def test_of_names_that_are_staged_and_names_that_are_not_a_command_counts_what_each_of_them_asks(world, commanded):
    """What is staged is compared with the last commit, and so is the rest of the project; no other file is."""
    for name in ("staged.txt", "named.txt", "other.txt"):
        world.put(name, "bad old\n")
    world.git("init", "-q")
    world.git("add", "-A")
    world.git("commit", "-qm", "base")
    world.put("staged.txt", "bad old\nbad new\n")
    world.put("named.txt", "more\nbad old\n")
    world.git("add", "staged.txt")
    commanded([linter()])
    paths = [WorkspacePath("staged.txt"), WorkspacePath("named.txt")]
    verdict = world.gate.check_files(paths, base="HEAD", staged=True, whole=paths[1:])
    assert {(one.path, one.line) for one in verdict.findings} == {("staged.txt", 2), ("named.txt", 2)}


def test_a_command_works_on_a_copy(world, commanded):
    world.put("keep.txt", "x\n")
    spoil = CheckCommand(
        "spoil", (sys.executable, "-c", "import os; os.remove('keep.txt'); open('new.txt', 'w').close()")
    )
    assert commanded([spoil], ("a.txt", "x\n")).status == "pass"
    assert sorted(path.name for path in world.project.iterdir()) == ["keep.txt"]


def test_what_agents_may_not_see_is_not_there_for_a_command(world, commanded):
    world.put(".agent-restrictions", "secret.txt\n")
    world.put("secret.txt", "bad\n")
    assert commanded([linter()], ("a.txt", "x\n")).findings == ()


def test_an_advisory_command_does_not_block(commanded):
    verdict = commanded([linter(blocking=False)], ("a.txt", "bad\n"))
    assert verdict.status == "pass"
    assert [finding.severity for finding in verdict.findings] == ["warning"]


def test_a_command_for_other_files_does_not_run(commanded):
    assert commanded([linter(endings=(".rb",))], ("a.txt", "bad\n")).checks == ()


@pytest.mark.parametrize(
    "command",
    [
        CheckCommand("gone", ("/nonexistent/tool",)),
        CheckCommand("relative", ("tool",)),
        CheckCommand("crash", (sys.executable, "-c", "raise SystemExit(70)")),
        CheckCommand("mute", (sys.executable, "-c", "raise SystemExit(1)")),
        CheckCommand("slow", (sys.executable, "-c", "import time; time.sleep(60)"), timeout_s=0.3),
        CheckCommand("nojunit", (sys.executable, "-c", ""), reads="junit", report="none.xml"),
        CheckCommand("notsarif", (sys.executable, "-c", "print('hello')"), reads="sarif"),
        CheckCommand("bomb", (sys.executable, "-c", "print('<!DOCTYPE a>')"), reads="junit"),
    ],
    ids=lambda command: command.name,
)
def test_a_command_that_fails_is_an_error_and_not_a_pass(commanded, command):
    verdict = commanded([command], ("a.txt", "x\n"))
    assert verdict.status == "error", verdict
    assert verdict.not_checked[-1].check == command.name


def test_a_command_is_not_run_on_files_that_do_not_parse(commanded, tmp_path):
    trace = tmp_path / "trace"
    command = CheckCommand("trace", (sys.executable, "-c", f"open({str(trace)!r}, 'w')"))
    assert commanded([command], ("a.py", "def f(:\n")).status == "fail"
    assert not trace.exists()


def test_sarif_is_read(commanded):
    code = (
        "import json\n"
        "place = {'artifactLocation': {'uri': 'a.txt'}, 'region': {'startLine': 2, 'startColumn': 3}}\n"
        "result = {'ruleId': 'R1', 'message': {'text': 'wrong'}, 'locations': [{'physicalLocation': place}]}\n"
        "print(json.dumps({'runs': [{'results': [result]}]}))\n"
    )
    (finding,) = commanded(
        [CheckCommand("s", (sys.executable, "-c", code), reads="sarif")], ("a.txt", "x\ny\n")
    ).findings
    assert (finding.path, finding.line, finding.column, finding.rule, finding.message) == ("a.txt", 2, 3, "R1", "wrong")


def test_no_process_is_left_not_even_one_with_a_session_of_its_own(commanded):
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(61.25)'], start_new_session=True,"
        " stdin=-3, stdout=-3, stderr=-3)\n"
        "import time; time.sleep(60)\n"
    )
    commanded([CheckCommand("leaver", (sys.executable, "-c", code), timeout_s=0.7)], ("a.txt", "x\n"))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and sleepers():
        time.sleep(0.05)
    assert sleepers() == []


def sleepers():
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if b"time.sleep(61.25)" in (folder / "cmdline").read_bytes().split(b"\0")[-2:][0] and state != "Z":
                found.append(folder.name)
        except (OSError, IndexError):
            continue
    return found


def test_the_projects_tests_run_and_a_failure_is_told(world, commanded):
    world.put("calc.py", "def double(n):\n    return n * 2\n")
    world.put("test_calc.py", "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n")
    command = suite_of(sys.executable)
    assert (
        commanded(
            [command], ("calc.py", "def double(n):\n    return n * 2\n", "def double(n):\n    return n + n\n")
        ).status
        == "pass"
    )
    verdict = commanded(
        [command], ("calc.py", "def double(n):\n    return n + n\n", "def double(n):\n    return n * 3\n")
    )
    assert [(f.rule, f.path) for f in verdict.findings] == [("test-failed", "test_calc.py")]


def test_mypy_reads_the_projects_configuration(world, commanded):
    world.put("mypy.ini", "[mypy]\nexclude = gen\ndisallow_untyped_defs = true\npretty = true\n")
    texts = (("calc.py", "def f(n):\n    return n\n"), ("gen.py", "x: int = ''\n"))
    verdict = commanded([known_tool("mypy", world.project)], *texts)
    assert [(f.rule, f.path) for f in verdict.findings] == [("no-untyped-def", "calc.py")]


def test_bandits_lines_become_findings(commanded):
    said = "./calc.py:2:4: B307 Use of possibly insecure function.\\n"
    command = replace(known_tool("bandit", Path(sys.prefix)), argv=(sys.executable, "-c", f"print('{said}')"))
    (finding,) = commanded([command], ("calc.py", "def f(n):\n    return n\n")).findings
    assert (finding.path, finding.line, finding.column, finding.rule) == ("calc.py", 2, 4, "B307")
