"""While a question is open, other programs work in the same project: nothing of theirs is lost, and nothing waits.

The rows are those of the table in docs/apply.md.
"""

import os
import subprocess
import sys

import pytest

from tests.commands.terminal import Terminal
from tests.golden.running import committed

QUESTION = "then Enter: "
STALE = "was changed since it was looked at. Nothing was changed"


def git(project, *words):
    command = ["git", "-c", "user.email=a@example.org", "-c", "user.name=a", *words]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=60)


def answer(tmp_path, name, file, new):
    text = f"{file}\n<<<<<<< SEARCH\nfirst\n=======\n{new}\n>>>>>>> REPLACE\n"
    (tmp_path / name).write_text(text, "utf-8")
    return str(tmp_path / name)


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "config").mkdir()
    for name in ("one.txt", "two.txt"):
        (project / name).write_text("first\n", "utf-8")
    return committed(project)


@pytest.fixture
def environment(tmp_path):
    ours = {"AI_RAILS_CONFIG_DIR": str(tmp_path / "config"), "AI_RAILS_LANG": "en", "HOME": str(tmp_path)}
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm", "COLUMNS": "100", **ours}


def asked(project, environment, file):
    terminal = Terminal(project, environment, "apply", file)
    terminal.until(QUESTION)
    return terminal


def approve(terminal):
    terminal.type("a\r")
    return terminal.end()


def text_of(project):
    return [(project / name).read_text("utf-8") for name in ("one.txt", "two.txt")]


@pytest.mark.parametrize(
    ("file", "code", "after"), [("two.txt", 0, ["mine\n", "its\n"]), ("one.txt", 1, ["its\n", "first\n"])]
)
def test_of_two_apply_the_later_one_goes_on_in_another_file_and_is_refused_in_the_same(
    tmp_path, project, environment, file, code, after
):
    earlier = asked(project, environment, answer(tmp_path, "a", "one.txt", "mine"))
    assert approve(asked(project, environment, answer(tmp_path, "b", file, "its"))) == 0
    assert approve(earlier) == code
    assert (STALE in earlier.seen) == (code == 1)
    assert text_of(project) == after


def test_an_undo_takes_back_the_last_step_while_another_change_is_asked_about(tmp_path, project, environment):
    assert approve(asked(project, environment, answer(tmp_path, "a", "one.txt", "mine"))) == 0
    open_question = asked(project, environment, answer(tmp_path, "b", "two.txt", "its"))
    undo = [sys.executable, "-m", "rails", "undo"]
    done = subprocess.run(undo, check=False, cwd=project, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "restored one.txt" in done.stdout) == (0, True), done
    assert approve(open_question) == 0
    assert text_of(project) == ["first\n", "its\n"]


@pytest.mark.parametrize(
    ("command", "code", "after"),
    [
        (("checkout", "-q", "other"), 1, "theirs\n"),
        (("rebase", "-q", "other"), 1, "theirs\n"),
        (("stash", "-u"), 0, "mine\n"),
        (("gc", "-q", "--prune=now"), 0, "mine\n"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_git_does_while_a_question_is_open_is_kept(tmp_path, project, environment, command, code, after):
    git(project, "checkout", "-qb", "other")
    (project / "one.txt").write_text("theirs\n", "utf-8")
    git(project, "commit", "-qam", "theirs")
    git(project, "checkout", "-q", "main")
    if command[0] == "stash":
        (project / "two.txt").write_text("a person's\n", "utf-8")
    question = asked(project, environment, answer(tmp_path, "a", "one.txt", "mine"))
    git(project, *command)
    assert approve(question) == code
    assert (STALE in question.seen) == (code == 1)
    assert (project / "one.txt").read_text("utf-8") == after
    if command[0] == "stash":
        git(project, "stash", "pop")
        assert text_of(project) == ["mine\n", "a person's\n"]
