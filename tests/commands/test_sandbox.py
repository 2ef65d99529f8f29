"""``ai-rails sandbox -- COMMAND``: it runs contained, what it wrote is shown, and it is taken or left."""

import io
import subprocess

import pytest

from rails import cli
from rails.sandbox import probe
from rails.sandbox.view import NONE, Label


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text("*.log\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return folder


def sandbox(project, *words):
    return cli.main(["sandbox", "--project", str(project), "--plain", *words])


def test_what_it_wrote_is_discarded_when_that_is_said(project, capsys):
    assert sandbox(project, "--discard", "--", "sh", "-c", "echo two >> a.txt; echo said; exit 3") == 3
    out = capsys.readouterr().out
    assert f"sandbox  {probe.label()}" in out
    assert "said" in out
    assert "Nothing of what it changed was taken." in out
    assert (project / "a.txt").read_text() == "one\n"


def test_what_git_ignores_and_nothing_at_all_is_no_question(project, capsys):
    assert sandbox(project, "--", "sh", "-c", "echo x > build.log") == 0
    assert "It changed nothing that is kept." in capsys.readouterr().out
    assert not (project / "build.log").exists()


def test_without_a_person_nothing_is_taken_and_the_code_says_so(project):
    assert sandbox(project, "--", "sh", "-c", "echo two >> a.txt") == 126
    assert (project / "a.txt").read_text() == "one\n"


def test_the_exit_code_is_the_command_s_own(project):
    assert sandbox(project, "--discard", "--", "sh", "-c", "exit 41") == 41


def test_a_time_limit_ends_it(project, capsys):
    assert sandbox(project, "--timeout", "0.3", "--", "sleep", "60") != 0
    assert "stopped after" in capsys.readouterr().out


def test_where_nothing_contains_it_nothing_is_run(project, monkeypatch, capsys):
    monkeypatch.setattr(probe, "label", lambda **_: Label(NONE, why="a test says so"))
    assert sandbox(project, "--", "sh", "-c", "echo ran > ran.txt") == 125
    assert "NOT contained" in capsys.readouterr().out
    assert not (project / "ran.txt").exists()
