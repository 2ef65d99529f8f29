"""``ai-rails sandbox -- COMMAND``: it runs contained, what it wrote is shown, and it is taken or left."""

import io
import subprocess
import sys

import pytest

from rails import cli
from rails.sandbox import probe
from rails.sandbox.values import NONE, Label

from ..golden.running import rails


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
    out, own = capsys.readouterr()
    assert f"sandbox  {probe.label()}" in own
    assert out == "said\n"
    assert "Changes discarded." in own
    assert (project / "a.txt").read_text() == "one\n"


def test_in_a_folder_below_the_project_is_found_above_and_the_command_runs_there(project, monkeypatch, capsys):
    (project / "pkg").mkdir()
    (project / ".agent-restrictions").write_text("secret.txt\n")
    (project / "secret.txt").write_text("hidden\n")
    monkeypatch.chdir(project / "pkg")
    words = ["sandbox", "--plain", "--discard", "--", "sh", "-c", "pwd; cat ../a.txt; cat ../secret.txt"]
    assert cli.main(words) == 0
    assert capsys.readouterr().out == f"{project / 'pkg'}\none\n"


def test_what_git_ignores_and_nothing_at_all_is_no_question(project, capsys):
    assert sandbox(project, "--", "sh", "-c", "echo x > build.log") == 0
    assert "No changes." in capsys.readouterr().err
    assert not (project / "build.log").exists()


def test_a_person_may_overrule_a_finding_in_what_their_command_wrote(project):
    words = ("sandbox", "--project", str(project), "--plain", "--", "sh", "-c", "echo 'x = y' > b.py")
    left = rails(*words, keys=["d", "no"])
    assert "breaks: b.py:1: F821" in left.err
    assert not (project / "b.py").exists()
    taken = rails(*words, keys=["approve"])
    assert taken.code == 0, taken.err
    assert (project / "b.py").read_text() == "x = y\n"


def test_without_a_person_nothing_is_taken_and_the_code_says_so(project):
    assert sandbox(project, "--", "sh", "-c", "echo two >> a.txt") == 126
    assert (project / "a.txt").read_text() == "one\n"


def test_the_exit_code_is_the_command_s_own_and_a_fault_has_those_of_a_wrapper(project):
    assert sandbox(project, "--discard", "--", "sh", "-c", "exit 41") == 41
    assert sandbox(project, "--", "sh", "-c", "for n in $(seq 101); do echo x > $n.txt; done") == 126
    assert sandbox(project / "nowhere", "--", "true") == 125


def test_a_time_limit_ends_it(project, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(project / "home"))
    assert sandbox(project, "--timeout", "0.3", "--", "sleep", "60") != 0
    told = capsys.readouterr().err
    assert "stopped after" in told
    assert "Your home is in the project" in told


def test_where_nothing_contains_it_nothing_is_run(project, monkeypatch, capsys):
    monkeypatch.setattr(probe, "label", lambda **_: Label(NONE, why="a test says so"))
    assert sandbox(project, "--", "sh", "-c", "echo ran > ran.txt") == 125
    assert "NOT sandboxed" in capsys.readouterr().err
    assert not (project / "ran.txt").exists()


def test_in_a_pipe_it_is_as_the_command_itself(project):
    begin = [sys.executable, "-m", "rails", "sandbox", "--project", str(project), "--"]

    def piped(*words, given=b""):
        return subprocess.run([*begin, *words], input=given, capture_output=True, check=False)

    counted = piped("wc", "-l", given=b"a\nb\n")
    assert (counted.stdout.split(), counted.returncode) == ([b"2"], 0)
    apart = piped("sh", "-c", "printf '\\377out'; echo wrong >&2; exit 7")
    assert (apart.stdout, b"wrong\n" in apart.stderr, apart.returncode) == (b"\xffout", True, 7)
    with subprocess.Popen([*begin, "yes"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unread:
        assert unread.stdout.read(2) == b"y\n"
        unread.stdout.close()
    assert unread.returncode == 141, "as a program that nobody reads on ends"
    missing = piped("nosuchprogram")
    assert (missing.stdout, missing.returncode) == (b"", 127)
    assert b"nosuchprogram: not found" in missing.stderr
    assert b"bwrap" not in missing.stderr


def test_a_name_that_is_not_utf_8_is_left_out_and_nothing_else_is_lost(project, capsys):
    line = "printf x > \"$(printf 'b\\377.txt')\"; mkdir \"$(printf 'd\\376')\"; echo two >> a.txt"
    assert sandbox(project, "--", "sh", "-c", line) == 126
    own = capsys.readouterr().err
    assert "a.txt" in own
    assert "b" in own.split("Written in the sandbox by")[1]
