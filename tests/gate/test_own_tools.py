"""A project's own version of a formatter: where it is named, and that another one of ours rewrites nothing."""

import re
import venv

import pytest

from rails.gate.languages.python import own_tools
from rails.gate.languages.python.own_tools import OwnTool, own_tool
from rails.gate.languages.python.syntax import same_program
from rails.processes import programs
from rails.sandbox.probe import label
from rails.sandbox.values import NONE
from tests.rows import walked

BLACK = "[tool.black]\nline-length = 88\n"
#: black 24 and later close up the two lines.
TEXT = "def f():\n    ...\n\n\nprint(f)\n"
HOOK = "repos:\n- repo: https://github.com/psf/black-pre-commit-mirror # kept\n  rev: 23.12.1\n  hooks: [{id: black}]\n"
PLACES = {
    ".venv/lib/python3.11/site-packages/black-23.12.1.dist-info/METADATA": "",
    "venv/lib/python3.9/site-packages/black-23.12.1.dist-info/METADATA": "",
    "uv.lock": '[[package]]\nname = "blacken"\nversion = "9"\n\n[[package]]\nname = "black"\nversion = "23.12.1"\n',
    "poetry.lock": '[[package]]\nname = "black"\nversion = "23.12.1"\ndescription = ""\n',
    "pyproject.toml": f'[dependency-groups]\ndev = ["ruff", "black[d]==23.12.1"]\n{BLACK}',
    "requirements-dev.txt": "# black==26.1\nblackdoc==1\nblack==23.12.1 ; python_version > '3'\n",
    "requirements/lint.txt": "black == 23.12.1  # style\n",
    "setup.cfg": "[options.extras_require]\ndev =\n    black>=23,<24\n",
    "tox.ini": "[testenv:lint]\ndeps = black~=23.1\n",
    "Pipfile": '[dev-packages]\nblack = "==23.*"\n',
    ".pre-commit-config.yaml": HOOK,
}
POETRY = '[tool.poetry.group.dev.dependencies]\nblack = {version = "^23.1", extras = ["d"]}\n'


@pytest.mark.parametrize("place", PLACES)
def test_a_project_with_another_black_is_not_rewritten_by_ours(world, place):
    world.put("pyproject.toml", BLACK)
    world.put(place, PLACES[place])
    verdict = world.judge(("m.py", TEXT))
    assert verdict.proposal.changes[0].after == TEXT.encode()
    assert [(found.rule, found.severity, found.fixable) for found in verdict.findings] == [("format", "info", False)]
    (note,) = verdict.not_checked
    assert (note.required, verdict.status) == (False, "pass")
    assert re.search(r"black \W*23[^ ]* .*AI-Rails 26\.", note.reason), note.reason


def test_the_line_is_said_once_and_the_explanation_names_both(world):
    world.put("pyproject.toml", f"{POETRY}{BLACK}")
    verdict = world.judge(("a.py", TEXT), ("b.py", TEXT), ("c.py", "x = 1\n"))
    assert len(verdict.not_checked) == 1
    (run,) = (run for run in verdict.checks if run.name == "black")
    assert "23.1" in run.config
    assert run.version.startswith("26.")


def test_ruffs_findings_count_and_are_corrected_where_only_its_format_is_another(world):
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n[tool.ruff.format]\n")
    world.put("uv.lock", '[[package]]\nname = "ruff"\nversion = "0.6.9"\n')
    verdict = world.judge(("m.py", "import os\nx = {  'a':1 }\n"))
    assert verdict.proposal.changes[0].after == b"x = {  'a':1 }\n"
    assert ("F401", "ruff") in [(fixed.rule, fixed.tool) for fixed in verdict.fixed]
    assert [found.severity for found in verdict.findings] == ["info"]


@pytest.mark.parametrize(
    "said", ["black", "black>=22", "black==YEAR.*", "black==VERSION", "blackdoc==1", "#black==23.1"]
)
def test_where_nothing_says_another_version_ours_formats(world, said):
    version = programs.find_module("black").version
    world.put("pyproject.toml", BLACK)
    world.put("requirements.txt", said.replace("VERSION", version).replace("YEAR", version.partition(".")[0]))
    assert world.judge(("m.py", TEXT)).fixed


def test_what_formats_alike_is_a_year_of_black_and_a_minor_version_of_ruff():
    for said, ours, alike in (
        *(("26.1", "26.10.1", True), ("25.12", "26.1", False), ("==26.*", "26.1", True), ("^23.1", "26.1", False)),
        *(
            (">=23,<24", "26.1", False),
            (">=23,<27", "26.1", True),
            ("<26.5", "26.10.1", False),
            ("~=26.1", "26.3", True),
        ),
        *(("0.17.1", "0.17.6", True), ("0.6.9", "0.17.6", False), ("~=0.6", "0.17.6", True), ("^0.6", "0.17.6", False)),
        *(("!=26.2", "26.10", True), (">= 27", "26.10", False), ("<=0.17", "0.17.6", True), ("v23", "26.1", False)),
    ):
        assert OwnTool("a tool", said, "a place").formats_like(ours) is alike, (said, ours)


def test_what_is_installed_goes_before_what_is_pinned(project):
    (project / "uv.lock").write_text('name = "black"\nversion = "22.1.0"\n')
    assert own_tool(project, "black").version == "22.1.0"
    (project / ".venv/lib/python3.12/site-packages/black-24.1.1.dist-info").mkdir(parents=True)
    assert str(own_tool(project, "black")) == "black 24.1.1 (.venv)"


IMPORT = "from re import compile as re_compile_maybe_verbose\n"
#: What black 22 has of what we ask; it tries to write where it may not.
STUB = {
    "__init__.py": """
import pathlib
from re import compile as re_compile_maybe_verbose

def format_str(text, mode):
    for place in PLACES:
        try:
            pathlib.Path(place).write_text("planted")
        except OSError:
            pass
    return text.replace(" = ", " =  ") + chr(10) * (mode.line_length - 98)
""",
    "parsing.py": "class InvalidInput(Exception): pass\n",
    "const.py": "DEFAULT_LINE_LENGTH = 88\nDEFAULT_EXCLUDES = 'build'\n",
    "mode.py": """
import dataclasses, enum

class TargetVersion(enum.Enum):
    PY33 = 3

class Preview(enum.Enum):
    a = 1

@dataclasses.dataclass(frozen=True)
class Mode:
    target_versions: set
    line_length: int
    is_pyi: bool
""",
}


@pytest.fixture
def own_black(world):
    """A project whose own environment has another black."""
    if label().level == NONE:
        pytest.skip("nothing contains it here")
    venv.create(world.project / ".venv", symlinks=True)
    packages = next(world.project.glob(".venv/lib/python*/site-packages"))
    (packages / "black-22.1.0.dist-info").mkdir()
    (packages / "black").mkdir()
    places = [str(world.project / "planted"), str(world.project / ".venv" / "planted")]
    for name, text in STUB.items():
        (packages / "black" / name).write_text(text.replace("PLACES", repr(places)))
    world.put("pyproject.toml", "[tool.black]\nline-length = 99\nunstable = true\n")
    return world


def test_the_projects_own_black_formats_contained_once_a_person_agreed(own_black):
    before = own_black.judge(("m.py", "x = 1\n"))
    assert "ai-rails gate --trust" in before.not_checked[0].reason
    own_tools.agree(own_black.project)
    verdict = own_black.judge(("m.py", "x = 2\n"))
    assert (verdict.proposal.changes[0].after, verdict.not_checked) == (b"x =  2\n\n", ()), verdict.not_checked
    (run,) = (run for run in verdict.checks if run.name == "black")
    assert (run.version, "AI-Rails has" in run.config) == ("22.1.0", True)
    assert not list(own_black.project.glob("**/planted"))


def test_another_version_of_it_is_a_new_question(own_black):
    own_tools.agree(own_black.project)
    (packages,) = own_black.project.glob(".venv/lib/python*/site-packages")
    (packages / "black-22.1.0.dist-info").rename(packages / "black-22.2.0.dist-info")
    assert not own_tools.may_run(own_black.project)
    assert own_black.judge(("m.py", "x = 1\n")).proposal.changes[0].after == b"x = 1\n"


def test_what_cannot_be_run_is_said_and_holds_up_nothing(own_black):
    own_tools.agree(own_black.project)
    python = own_black.project / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    verdict = own_black.judge(("m.py", "x = 1\n"))
    assert (verdict.status, verdict.proposal.changes[0].after) == ("pass", b"x = 1\n"), verdict.not_checked
    assert "cannot be run here" in verdict.not_checked[0].reason


#: What a black says that is another program by now than a person agreed to.
ADDED = [
    "text + 'import os\\n'",
    "text + '# noqa\\n'",
    "text.replace('1', '2')",
    "text.replace('# why', '')",
    "'x = ('",
]


def test_what_its_own_black_changes_beyond_layout_is_not_taken(own_black):
    own_tools.agree(own_black.project)
    (script,) = own_black.project.glob(".venv/lib/python*/site-packages/black/__init__.py")
    for answer in ADDED:
        script.write_text(f"{IMPORT}def format_str(text, mode):\n    return {answer}\n")
        text = f"x = 1  # why\ny = {answer!r}\n"
        own_black.gate.close()
        verdict = own_black.judge(("m.py", text))
        assert (verdict.status, verdict.proposal.changes[0].after) == ("pass", text.encode()), answer
        (note,) = verdict.not_checked
        assert "more than layout" in note.reason


@walked(
    ("one", "other", "same"),
    [
        ("x = u'2'\n", 'x = "2"\n', True),
        ("x = 1 #\xa0why\t\n", "x = 1  # why\n", True),
        ("# coding: utf-8\nx=1\n", "# coding: utf-8\nx = 1\n", True),
        ("def f():\n  ''' >>> g('a',1) '''\n", 'def f():\n    """>>> g("a", 1)"""\n', True),
        ("x=1 # a\n", "x = 1\n", False),
        ("x=1\n", "x = 1\nimport os\n", False),
        ("\r\t\r'''$\\\n'''", "x", False),
    ],
)
def test_a_formatter_changes_layout_and_no_program(one, other, same):
    assert same_program(one.encode(), other.encode()) is same


#: A ruff whose one finding deletes the file's lines and writes others, and whose formatter does so, too.
RUFF = """#!{python}
import json, sys
text = sys.stdin.read()
if "format" in sys.argv:
    print(text.replace("{{  'a':1 }}", '{{"a": 1}}') + "import os")
else:
    for code in ("F401", "E711", "F821"):
        print(json.dumps({{"message": "m", "code": code, "location": {{"row": 1, "column": 1}}, "end_location":
            {{"row": 1, "column": 10}}, "fix": {{"applicability": "safe", "edits": [{{"content": "evil()\\n",
            "location": {{"row": 1, "column": 1}}, "end_location": {{"row": 2, "column": 1}}}}]}}}}))
"""


def test_its_own_ruff_neither_writes_fixes_nor_lines(own_black):
    world = own_black
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n[tool.ruff.format]\n")
    (packages,) = world.project.glob(".venv/lib/python*/site-packages")
    (packages / "ruff-0.6.9.dist-info").mkdir()
    program = world.project / ".venv" / "bin" / "ruff"
    program.write_text(RUFF.format(python=world.project / ".venv" / "bin" / "python"))
    program.chmod(0o755)
    own_tools.agree(world.project)
    text = "import re\nx = {  'a':1 }\n"
    verdict = world.judge(("m.py", text))
    assert verdict.proposal.changes[0].after == text.encode()
    assert {found.rule for found in verdict.findings} >= {"F401", "F821"}
    assert not verdict.fixed
