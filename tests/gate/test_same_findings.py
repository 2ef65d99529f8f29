"""What the warm tools find is what their commands print: rule, place, and the edits of the fix."""

import inspect
import json
import subprocess
from pathlib import Path

import pytest

from rails.gate import baseline
from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.ruff import RuffCli, parse_diagnostics
from rails.gate.support import fix_and_lint, suppressions
from rails.processes import programs

ODD = {
    "wide.py": "import os, sys\ns = '🦊🦊' ; t=[ 1,2 ]\nprint( '日本語', undefined )  # é́\n",
    "tabs.py": "if True:\n\tx = 1\n\ty = {'a':1 }\n",
    "crlf.py": "import re\r\nimport os\r\n\r\ndef f( a,b = [] ):\r\n    l = 1\r\n    return a == None\r\n",
    "mark.py": "\ufeffimport os\nx=1\n",
    "empty.py": "",
    "no_end.py": "import os\nx = lambda: 1",
    "feed.py": "import os\n\x0c\nclass A(object):\n    def f(self): return '%s' % (1,)\n",
}


def same(found):
    return found.rule, found.start, found.end, tuple((e.start, e.end, e.content) for e in found.edits), found.safe


@pytest.fixture
def files(project):
    (project / "ruff.toml").write_text("[lint]\nselect = ['ALL']\npreview = true\n")
    (project / ".flake8").write_text("[flake8]\nmax-line-length = 60\n")
    texts = {
        f"{module.__name__.rpartition('.')[2]}.py": inspect.getsource(module) for module in (baseline, fix_and_lint)
    }
    texts["untidy.py"] = inspect.getsource(suppressions).replace(", ", ",").replace(" = ", "=")
    made = {name: text.encode() for name, text in {**texts, **ODD}.items()}
    for name, data in made.items():
        (project / name).write_bytes(data)
    return made


def test_ruffs_findings_and_fixes_are_those_of_its_own_json(project, files):
    tool = programs.find_ruff()
    words = [*tool.argv, "check", "--no-cache", "--output-format=json", *files]
    printed = subprocess.run(words, cwd=project, capture_output=True, check=False).stdout
    theirs = {name: [] for name in files}
    for item in json.loads(printed):
        theirs[Path(item["filename"]).name] += (same(found) for found in parse_diagnostics(json.dumps(item).encode()))
    asked = RuffCli(tool, project)
    how = RuffSettings(True)
    ours = {name: [same(found) for found in asked.lint(name, data.decode(), how)] for name, data in files.items()}
    assert {name: sorted(found) for name, found in ours.items()} == {n: sorted(found) for n, found in theirs.items()}
    assert sum(map(len, ours.values())) > 100
    assert any(edits for found in ours.values() for *_, edits, _ in found)


def test_flake8s_findings_are_those_of_the_command(world, project, files):
    (project / "ruff.toml").write_text("[lint]\nselect = ['D']\n")  # nothing that flake8 says, too
    form = "--format=%(path)s\t%(code)s\t%(row)d\t%(col)d"
    words = [*programs.find_module("flake8").argv, form, *files]
    printed = subprocess.run(words, cwd=project, capture_output=True, check=False, text=True).stdout
    theirs = sorted(tuple(line.removeprefix("./").split("\t")) for line in printed.splitlines())
    found = [one for one in world.check(*files).findings if one.tool == "flake8"]
    assert sorted((one.path, one.rule, str(one.line), str(one.column)) for one in found) == theirs
    assert len(theirs) > 50


def test_rules_are_told_by_their_code_when_the_project_has_the_preview_on(world):
    world.put("ruff.toml", "preview = true\n[lint]\nselect = ['E', 'F']\n")
    verdict = world.judge(("a.py", "import os\n\nlist_of = [undefined]\n"))
    assert ("F401", "ruff") in [(fixed.rule, fixed.tool) for fixed in verdict.fixed]
    assert [found.rule for found in verdict.findings] == ["F821"]


def test_a_rule_that_has_a_name_only_is_no_syntax_error(project):
    source = "import tarfile\n\ntarfile.open('a', ignore_zeros=True)\n"
    options = (("lint.preview", True), ("lint.select", ("tarfile-ignore-zeros-true",)))
    how = RuffSettings(False, options)
    assert [found.rule for found in RuffCli(programs.find_ruff(), project).lint("a.py", source, how)] == [
        "tarfile-ignore-zeros-true"
    ]
