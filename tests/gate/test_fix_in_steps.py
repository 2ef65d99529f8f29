"""`gate --fix` on many files: so many at a time, with progress, as one thing to undo and to do again."""

import json

import pytest

from rails.cli import main
from rails.core import limits

UGLY = "import os\nx = 1  \nprint( x,{} )\n"
CONFIG = "[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n[tool.ruff.lint]\nselect = ['F', 'W']\n"


@pytest.fixture
def many(world, monkeypatch):
    """A repository with eight files to repair, and steps of three."""
    monkeypatch.setattr(limits, "FILES_PER_STEP", 3)
    monkeypatch.setattr(limits, "FILES_PER_CHANGE", 2)
    world.put("pyproject.toml", CONFIG)
    world.git("init", "-q")
    for number in range(8):
        world.put(f"pkg/m{number}.py", UGLY.format(number))
    monkeypatch.chdir(world.project)
    return world


def texts(world):
    return [file.read_text() for file in sorted((world.project / "pkg").iterdir())]


@pytest.mark.usefixtures("style")
def test_all_files_are_repaired_with_progress_and_one_undo_takes_them_back(many, capsys):
    before = texts(many)
    assert main(["gate", "--fix"]) == 0
    fixed = [f"x = 1\nprint(x, {number})\n" for number in range(8)]
    out, told = capsys.readouterr()
    assert texts(many) == fixed
    assert told.splitlines()[:3] == [
        "gate: 3 of 9 files, 3 corrected",
        "gate: 6 of 9 files, 6 corrected",
        "gate: 9 of 9 files, 8 corrected",
    ]
    assert out.count("F401 (1)") == 8
    assert main(["undo"]) == 0
    assert texts(many) == before
    assert main(["redo"]) == 0
    assert texts(many) == fixed


@pytest.mark.usefixtures("style")
def test_every_name_that_git_and_the_disk_have_is_repaired_and_taken_back(world, monkeypatch):
    """A backslash, a tilde, a colon or a blank is a part of the name; no home and no other folder is meant."""
    monkeypatch.chdir(world.project)
    world.put("pyproject.toml", CONFIG)
    world.git("init", "-q")
    files = [" lead.py", "c:/help.py", r"di\r/back\slash.py", "~tilde.py", "~/x.py", r"..\x.py", ":x.py", "0:x.py"]
    for name in files:
        world.put(name, "x = 1  \n")
    world.git("add", "-A")
    before = sorted(file for file in world.project.parent.rglob("*.py"))
    assert main(["gate", "--fix", "--staged"]) == 0
    assert [(world.project / name).read_text() for name in files] == ["x = 1\n"] * len(files)
    assert [main(["undo", "--file", name]) for name in files] == [0] * len(files)
    assert [(world.project / name).read_text() for name in files] == ["x = 1  \n"] * len(files)
    assert sorted(file for file in world.project.parent.rglob("*.py")) == before


@pytest.mark.usefixtures("style")
def test_an_earlier_run_stays_when_the_last_is_taken_back(many):
    assert main(["gate", "--fix"]) == 0
    first = texts(many)
    many.put("pkg/m0.py", UGLY.format(9))
    changed = texts(many)
    assert main(["gate", "--fix"]) == 0
    assert main(["undo"]) == 0
    assert (texts(many), changed[1:]) == (changed, first[1:])


@pytest.mark.usefixtures("style")
def test_what_the_steps_leave_is_one_verdict_and_a_command_runs_once_at_the_end(many, own_config, capsys):
    own_config.mkdir()
    many.put("words.sh", 'echo "pkg/m1.py:1: $(grep -l import pkg/*.py | wc -l) left"\nexit 1\n')
    (own_config / "gate.toml").write_text('[[command]]\nname = "words"\nrun = ["/bin/sh", "words.sh"]\nfiles = ".py"\n')
    many.put("pkg/m7.py", "print(undefined)\n")
    assert main(["gate", "--fix", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(one["path"], one["rule"], one["message"]) for one in report["findings"]] == [
        ("pkg/m7.py", "F821", "Undefined name `undefined`"),
        ("pkg/m1.py", "words", "0 left"),
    ]
    assert len(report["evidence"]) == 10


@pytest.mark.usefixtures("style")
def test_a_command_does_not_run_where_a_file_does_not_parse(many, own_config, capsys):
    own_config.mkdir()
    (own_config / "gate.toml").write_text('[[command]]\nname = "words"\nrun = ["/bin/false"]\nfiles = ".py"\n')
    many.put("pkg/m0.py", "x = (\n")
    assert main(["gate", "--fix", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [one["reason"] for one in report["not_checked"] if one["check"] == "words"] == ["a file does not parse"]
    assert (many.project / "pkg/m5.py").read_text() == "x = 1\nprint(x, 5)\n"
