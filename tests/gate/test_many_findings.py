"""Files with very many findings: memory is bounded, what is not listed is counted, and one more is noticed."""

import json
import subprocess
import sys

import pytest

from rails.core import limits

CONFIG = "[tool.ruff.format]\n[tool.ruff.lint]\nselect = ['F']\n"
MEASURED = """
import json, resource, sys
from pathlib import Path
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
with Gate(Path(sys.argv[1])) as gate:
    verdict = gate.check_files([WorkspacePath("a.py")])
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if sys.platform == "linux":  # ru_maxrss of a process begins with what the process had that started it
    own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    peak = (int(own.split()[1]) + children) // 1024
else:
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + children) // 1_000_000
found = verdict.findings
print(json.dumps([verdict.status, len(found), found[-1].message, found[0].message, peak]))
"""


def names(count, more=""):
    return "".join(f"print(undefined_{number})\n" for number in range(count)) + more


def test_fifty_thousand_findings_of_one_file_take_little_memory(project):
    (project / "pyproject.toml").write_text(CONFIG)
    (project / "a.py").write_text(names(50_000))
    ran = subprocess.run([sys.executable, "-c", MEASURED, project], capture_output=True, text=True, check=True)
    status, count, *messages, peak = json.loads(ran.stdout)
    assert (status, count) == ("fail", limits.FINDINGS_LISTED + 1)
    assert any(message.startswith("45000 more findings of `F821` in this file") for message in messages)
    assert peak < 400, "megabytes, of the gate and what it starts; this was 1,400"


@pytest.fixture
def few(world, monkeypatch):
    """The same with a bound of five findings."""
    monkeypatch.setattr(limits, "FINDINGS_LISTED", 5)
    world.put("pyproject.toml", CONFIG)
    return world


def test_one_more_among_those_that_are_not_listed_is_worse_than_before(few):
    verdict = few.judge(("a.py", names(9), names(9, "print(another)\n")))
    assert [(found.rule, found.worse_than) for found in verdict.blocking] == [("more-findings", 4)]
    assert few.judge(("a.py", names(9), names(9, "print(1)\n"))).status == "pass"
    assert few.judge(("a.py", names(9), names(8))).status == "pass"


def test_nothing_of_such_a_file_is_repaired_and_that_is_said(few):
    verdict = few.judge(("a.py", names(9, "x   = 1\n")))
    assert verdict.proposal.changes[0].after.decode() == names(9, "x   = 1\n")
    assert [one.check for one in verdict.not_checked] == ["fix"]


def test_flake8_counts_what_it_does_not_list_too(few):
    few.put("pyproject.toml", "[project]\nname = 'x'\n")
    few.put(".flake8", "[flake8]\nselect = E501,F\n")
    verdict = few.judge(("a.py", "".join(f'x{number} = "{"a" * 90}"\n' for number in range(9))))
    counted = [found.message for found in verdict.findings if found.rule == "more-findings" and found.tool == "flake8"]
    assert [message.split(" in this")[0] for message in counted] == ["4 more findings of `E501`"]
