"""Python files: one syntax finding, safe fixes, the project's formatter, only new findings."""

import re

import pytest

from rails.core import limits
from rails.core.app_dirs import config_folder
from rails.session import feedback
from tests.rows import walked

CLEAN = (
    '"""A module."""\n\n\ndef double(number: int) -> int:\n    """Return twice the number."""\n    return number * 2\n'
)


def rules(verdict):
    return [finding.rule for finding in verdict.findings]


def after(verdict, index=0):
    return verdict.proposal.changes[index].after.decode()


@pytest.mark.usefixtures("style")
def test_a_clean_file_passes_and_every_tool_ran(world):
    verdict = world.judge(("a.py", CLEAN))
    assert verdict.status == "pass", verdict
    assert verdict.findings == verdict.fixed == verdict.not_checked == ()
    assert {run.name for run in verdict.checks} == {"python", "ruff", "black", "flake8"}
    assert all(run.version for run in verdict.checks)
    assert verdict.proposal.changes[0].proposed is None


@pytest.mark.usefixtures("style")
def test_safe_fixes_and_formatting_are_done_for_the_agent(world):
    text = "import os, sys\nfrom typing import List\n\ndef f(a:List[int]):\n    return  sys.argv\n"
    verdict = world.judge(("a.py", text))
    assert verdict.status == "pass", verdict.findings
    assert after(verdict) == "import sys\n\n\ndef f(a: list[int]):\n    return sys.argv\n"
    assert verdict.proposal.changes[0].proposed == text.encode()
    assert {fixed.rule for fixed in verdict.fixed} >= {"F401", "UP006", "format"}


@pytest.mark.usefixtures("style")
@pytest.mark.parametrize(("place", "words"), [(".rails.toml", "[gate]\nfix = false\n"), ("gate.toml", "fix = false\n")])
def test_c12_05_with_the_setting_off_what_would_be_changed_is_told_and_nothing_is_changed(world, place, words):
    file = (world.project if place == ".rails.toml" else config_folder()) / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(words)
    verdict = world.judge(("a.py", CLEAN.replace("number * 2", "number  *  2")))
    assert verdict.status == "fail"
    assert (verdict.fixed, verdict.proposal.changes[0].proposed) == ((), None)
    assert {finding.rule for finding in verdict.findings} >= {"format"}


def test_the_result_is_stable(world):
    text = "import re,os\nclass A(object):\n  def f(self): return {'a':1 ,}\nx = lambda: 0\n"
    first = world.judge(("a.py", text))
    second = world.judge(("a.py", after(first)))
    assert after(second) == after(first)
    assert second.fixed == ()


def test_what_needs_the_model_is_told_with_place_and_remedy(world):
    verdict = world.judge(("a.py", CLEAN + "\n\nprint(undefined_name)\n"))
    assert verdict.status == "fail"
    (finding,) = verdict.findings
    assert (finding.path, finding.line, finding.column, finding.rule) == ("a.py", 9, 7, "F821")
    assert (finding.end_line, finding.end_column, finding.tool, finding.new) == (9, 21, "ruff", True)


@walked(
    ("text", "line", "words"),
    [
        ("def f(:\n    pass\n", 1, "invalid syntax"),
        ("x = (1,\ny = 2\nz = 3\n", 1, "'(' was never closed"),
        ("```python\nx = 1\n```\n", 1, "Markdown code fence"),
        ("Here is the code you asked for:\n\nx = 1\n", 1, "prose, not code"),
        ("x = 1\n<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> other\n", 2, "merge conflict"),
        ("x = 1\n<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n>>>>>>> REPLACE\n", 2, "search/replace"),
        ("x = \u201cquoted\u201d\n", 1, "typographic"),
        ("def f():\n    x = 1\n    if x:\n", 3, "cut off"),
        ("def f():\nreturn 1\n", 2, "indented block"),
        ("def f(a,\n      b=[1,\n", 2, "cut off"),
        ('x = """text\nmore', 1, "cut off"),
        ("print('abc", 1, "cut off"),
        ("return 1\n", 1, "'return' outside function"),
        ("x = 1\0\n", 1, "null bytes"),
        ("def f(x):\n    \u20ac = 1\n", 2, "invalid character"),
        ("x = " + "(" * 400 + ")" * 400, 1, "too many nested parentheses"),
        ("x = " + "-" * 200_000 + "1", 1, "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_finding_in_the_parsers_words_with_its_cause(world, text, line, words):
    verdict = world.judge(("a.py", text))
    assert verdict.status == "fail"
    (finding,) = verdict.findings
    assert (finding.rule, finding.line) == ("syntax-error", line), finding
    assert words in finding.message
    assert after(verdict) == text
    assert verdict.fixed == ()


@walked("text", ["def f(:\n", "x = (1,\ny = 2\nz = 3\n", "class A\n    pass\n", "x = 'abc\n", "x = = 1"])
def test_a_mistake_before_the_end_is_not_called_cut_off(world, text):
    (finding,) = world.judge(("a.py", text)).findings
    assert "cut off" not in finding.message


def test_markers_inside_a_string_are_content(world):
    text = '"""Conflict markers."""\n\nTEXT = """\\\n<<<<<<< HEAD\n=======\n>>>>>>> other\n```\n"""\n'
    assert world.judge(("a.py", text)).status == "pass"


@pytest.mark.usefixtures("style")
def test_only_new_findings_are_told(world):
    before = "import os\nimport sys\n\nprint(sys.argv, undefined)\n"
    edited = before.replace("sys.argv", "1")
    verdict = world.judge(("a.py", before, edited))
    assert [(f.rule, f.line) for f in verdict.findings] == []
    assert after(verdict) == "import os\n\nprint(1, undefined)\n"


def test_an_old_unused_import_is_left_alone(world):
    before = "import os\n\nx = 1\n"
    verdict = world.judge(("a.py", before, before + "y = 2\n"))
    assert verdict.status == "pass"
    assert after(verdict) == before + "y = 2\n"


@pytest.mark.parametrize(
    "config", ["[tool.black]\n", "[tool.ruff.format]\nline-ending = 'auto'\n"], ids=["black", "ruff"]
)
def test_an_edit_of_an_unformatted_file_formats_nothing_in_it(world, config):
    world.put("pyproject.toml", config)
    before = "x = {  'a':1 }\n\n\ndef f():\n    return   x\n"
    edited = before.replace("return   x", "return   [x]")
    verdict = world.judge(("a.py", before, edited))
    assert verdict.status == "pass", verdict
    assert after(verdict) == edited
    assert after(world.judge(("a.py", after(world.judge(("a.py", before))), edited))) != edited


def test_a_file_that_stays_broken_is_not_the_agents_fault_and_not_a_pass(world):
    before = "def f(:\n    pass\n"
    verdict = world.judge(("a.py", before, before + "# more\n"))
    assert verdict.status == "error"
    assert verdict.findings == ()
    assert "as before" in verdict.not_checked[0].reason


def test_repairing_a_broken_file_is_not_blamed_for_what_was_there(world):
    before = "import os\n\n\ndef f(:\n    return undefined\n"
    verdict = world.judge(("a.py", before, before.replace("(:", "():")))
    assert verdict.status == "pass", verdict.findings


def test_two_unused_imports_of_one_block_leave_a_valid_block(world):
    verdict = world.judge(("a.py", "try:\n    import os\n    import re\nexcept ImportError:\n    pass\n"))
    compile(after(verdict), "a.py", "exec")


@pytest.mark.usefixtures("style")
def test_line_endings_and_byte_order_mark_are_kept(world):
    verdict = world.judge(("a.py", b"\xef\xbb\xbfimport os\r\nx = {'a':1}\r\n"))
    assert verdict.status == "pass", verdict
    assert verdict.proposal.changes[0].after == b'\xef\xbb\xbfx = {"a": 1}\r\n'


def test_an_old_suppression_may_move(world):
    before = "import os  # noqa: F401\n\nx = 1\n"
    verdict = world.judge(("a.py", before, '"""Doc."""\n\n' + before))
    assert verdict.status == "pass", verdict.findings


def test_black_ruff_and_flake8_agree_on_the_default_profile(world):
    text = (
        "def f(a, b):\n    return a[1 + 1 : b], (\n        'something long enough to make it split the line here'"
        " + 'and more'\n        + 'end'\n    )\n\n\nclass A: ...\n"
    )
    verdict = world.judge(("a.py", text))
    assert verdict.status == "pass", verdict.findings


@pytest.mark.parametrize(
    "config", [None, "[tool.ruff.lint]\nselect = ['I']\n[tool.ruff.format]\nline-ending = 'auto'\n"]
)
@pytest.mark.parametrize("folder", ["todo", "src/todo"])
def test_a_package_of_the_same_change_is_the_projects_own(world, config, folder):
    if config:
        world.put("pyproject.toml", config)
    text = "import sys\n\nimport pytest\n\nfrom todo.cli import main\n\nprint(sys, pytest, main)\n"
    files = (f"{folder}/cli.py", "def main():\n    return 0\n"), ("tests/test_cli.py", text)
    verdict = world.judge(*files)
    assert verdict.status == "pass", verdict
    assert after(verdict, 1) == text
    for name, content in files:
        world.put(name, content)
    assert world.check(*(name for name, _ in files)).status == "pass"


def test_c12_11_a_long_list_of_findings_is_told_in_order_each_once_and_cut(world):
    text = "".join(f"print(name_{n}, name_{n})\n" for n in range(25))
    verdict = world.judge(("a.py", text))
    assert len(verdict.blocking) == len(set(verdict.blocking)) >= 25
    told = feedback.gate(("r1",), verdict).text
    lines = [int(found[1]) for found in re.finditer(r"^\W*a\.py:(\d+)", told, re.MULTILINE)]
    assert lines == sorted(lines)
    assert len(lines) == limits.FINDINGS_TOLD
    assert f"and {len(verdict.blocking) - limits.FINDINGS_TOLD} more" in told


@pytest.mark.parametrize("name", ["setup.cfg", "tox.ini", ".flake8"])
def test_c12_08_flake8_reads_the_projects_own_file(world, name):
    line = "value = 'a text of more than forty characters, so it is long'\n"
    assert world.judge(("a.py", line)).status == "pass"
    world.put(name, "[flake8]\nmax-line-length = 40\n")
    found = world.judge(("b.py", line)).findings
    assert ("E501", "flake8") in [(one.rule, one.tool) for one in found]


@pytest.mark.usefixtures("style")
def test_c12_02_a_file_is_as_black_itself_would_write_it(world, tmp_path):
    import subprocess
    import sys

    text = "def f( a,b ):\n    return { 'x':a , 'y':[ b ] }\n\nclass  C :\n  def g(self): return f(1,\n   2)\n"
    (tmp_path / "black.py").mkdir()
    file = tmp_path / "black.py" / "mine.py"
    file.write_text(after(world.judge(("a.py", text))), "utf-8")
    words = [sys.executable, "-m", "black", "--check", "-q", "--config", "/dev/null", str(file)]
    assert subprocess.run(words, check=False, timeout=60).returncode == 0


ERRORS = "errors only: ruff is not configured"
SLOPPY = "import os,sys\ndef f( a,b ) :\n  l = 1\n  if a==None: return b\n"


@pytest.mark.parametrize(
    ("files", "formatted"),
    [
        ({}, False),
        ({"pyproject.toml": "[project]\nname = 'p'\n"}, False),
        ({"pyproject.toml": "[tool.mypy]\nstrict = true\n"}, False),
        ({"setup.cfg": "[metadata]\nname = p\n", "tox.ini": "[tox]\n"}, False),
        ({".pre-commit-config.yaml": "repos:\n- hooks:\n  - id: trailing-whitespace\n"}, False),
        ({"pyproject.toml": "[tool.black]\n"}, True),
        ({".pre-commit-config.yaml": "repos:\n- hooks:\n  - id: black\n"}, True),
    ],
)
def test_without_settings_for_a_linter_there_are_errors_only_and_nobody_formats(world, files, formatted):
    """What does not parse or stops when its line runs is told in every project; style only where it is configured."""
    world.put("pyproject.toml", "")
    for name, text in files.items():
        world.put(name, text)
    verdict = world.judge(("a.py", SLOPPY))
    assert (verdict.status, verdict.findings, verdict.not_checked) == ("pass", (), ())
    assert (after(verdict) != SLOPPY) is formatted
    assert [run.config for run in verdict.checks if run.name == "ruff"] == [ERRORS]


@walked(
    ("line", "rule"),
    [
        ("print(undefined)", "F821"),
        ("return 1", "syntax-error"),
        ("'%(a)s' % (1,)", "F502"),
        ("'{} {}'.format(1)", "F524"),
        ("x = (", "syntax-error"),
        ("__all__ = ['missing']", "F822"),
        ("assert (1, 'always')", "F631"),
        ("def f():\n    print(n)\n    n = 1", "F821"),
        ("def f():\n    await g()", "syntax-error"),
        ("class C:\n    def __init__(self):\n        return 1", "PLE0101"),
    ],
)
def test_errors_are_told_in_a_project_without_settings(world, line, rule):
    world.put("pyproject.toml", "")
    verdict = world.judge(("a.py", f"{line}\n"))
    assert verdict.status == "fail"
    assert rule in {finding.rule for finding in verdict.findings}, verdict.findings
    assert {finding.weight for finding in verdict.findings} == {"breaks"}


def test_a_project_whose_ruff_fixes_by_itself_is_judged_as_any_other(world):
    world.put("pyproject.toml", "[tool.ruff]\nfix = true\nfix-only = true\nshow-fixes = true\n")
    verdict = world.judge(("a.py", "print(undefined)\n"))
    assert [finding.rule for finding in verdict.findings] == ["F821"]
