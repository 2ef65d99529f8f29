"""A gate that has judged many edits says of the next one exactly what a gate says that has just been made."""

import inspect
import random
import textwrap

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate

RUFF = "[tool.ruff.lint]\nselect = ['E', 'W', 'F', 'I', 'UP', 'B']\n[tool.ruff.format]\nline-ending = 'auto'\n"
#: Lines that change what the rest of a file means, that do not compile, or that fixes and the formatter work on.
LINES = (
    "import os\n", "x = 1;y=2\n", "def f(a,b):\n  return a+b\n", "    return\n", "global zz\n", "else:\n", "\n\n\n",
    "# noqa\n", "'''\n", "    pass\n", "try:\n    pass\nfinally:\n    pass\n", "class A: pass\n", "\\\n", "await z\n",
    "from __future__ import annotations\n", "x = (1,\n", "\tif True:\n", "nonlocal q\n", "@dec\n", "x: int = 3\n",
    "if True:\n    global kk\n    kk = 1\n", f"s = '{'word ' * 30}'\n", "# -*- coding: latin-1 -*-\n", "é = 1\r\n",
)  # fmt: skip


def edited(rng, text):
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(len(lines) + 1)
        what = rng.random()
        if what < 0.5:
            lines.insert(at, rng.choice(LINES))
        elif what < 0.8:
            del lines[at : at + rng.choice([1, 2, 5])]
        elif lines:
            lines.insert(at, rng.choice(lines))
    return "".join(lines)


def said(verdict):
    proposed = [(str(change.path), change.after) for change in verdict.proposal.changes] if verdict.proposal else []
    return (
        verdict.status,
        sorted(map(repr, verdict.findings)),
        sorted(map(repr, verdict.fixed)),
        sorted(map(repr, verdict.not_checked)),
        sorted(proposed),
    )


def test_what_was_judged_before_changes_nothing_about_what_comes(tmp_path):
    rng = random.Random(20261122)
    (tmp_path / "pyproject.toml").write_text(RUFF)
    for number, module in enumerate((inspect, random, textwrap)):
        (tmp_path / f"m{number}.py").write_text("".join(inspect.getsourcelines(module)[0][:150]))
    compiled = 0
    with Gate(tmp_path) as warm:
        for _ in range(20):
            chosen = rng.sample(sorted(tmp_path.glob("m*.py")), rng.choice([1, 2]))
            old = {file: file.read_bytes() for file in chosen}
            new = {file: edited(rng, data.decode()).encode() for file, data in old.items()}
            changes = ChangeSet(tuple(FileChange(WorkspacePath(f.name), old[f], new[f]) for f in chosen))
            with Gate(tmp_path) as fresh:
                expected = said(fresh.judge(changes))
            verdict = warm.judge(changes)
            assert said(verdict) == expected
            broken = any(finding.rule == "syntax-error" for finding in verdict.findings)
            compiled += not broken
            if not broken and verdict.proposal:
                for change in verdict.proposal.changes:
                    (tmp_path / str(change.path)).write_bytes(change.after)
    assert 2 < compiled < 18
