"""Running the command line inside this process, with a terminal where a person has to answer."""

import contextlib
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from rails.cli import main

HERE = Path(__file__).parent
#: What a person is asked ends so; nothing else that is printed does.
PROMPTS = (", then Enter: ", " back): ", "anything else does not: ", "(Enter: none): ", " s): ", "> ")


class Result(NamedTuple):
    """What one command did."""

    code: int
    out: str
    err: str


class Paper(io.TextIOWrapper):
    """Standard output or errors that type the next of ``keys`` whenever a question has been put."""

    def __init__(self, keyboard=None, keys=(), *, terminal=False):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")
        self._keyboard = keyboard
        self.keys = list(keys)
        self._line = ""
        self._is_terminal = terminal

    def write(self, text):
        """Keep ``text``; answer it if it ends in a prompt."""
        done = super().write(text)
        self._line = (self._line + text).rpartition("\n")[2]
        if self._keyboard is not None and self._line.endswith(PROMPTS):
            assert self.keys, f"nobody foresaw this question:\n{self.text()[-6000:]}"
            self._line = ""
            os.write(self._keyboard, f"{self.keys.pop(0)}\n".encode())
        return done

    def isatty(self):
        """Say what it was told to be."""
        return self._is_terminal

    def text(self):
        """Return all that was printed."""
        self.flush()
        return self.buffer.getvalue().decode("utf-8")


def rails(*words, stdin="", keys=(), terminal=False):
    """Run ``ai-rails`` with ``words``; with ``keys`` a person at a terminal types them, one per question.

    ``terminal`` says that standard output is a terminal, too.
    """
    with contextlib.ExitStack() as stack:
        master = None
        given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")), encoding="utf-8")
        if keys:
            master, slave = pty.openpty()
            stack.callback(os.close, master)
            given = stack.enter_context(os.fdopen(slave, "r", encoding="utf-8"))
        out = Paper(master, keys, terminal=terminal)
        err = Paper(master)
        err.keys = out.keys  # ``ai-rails sandbox`` asks there
        stack.enter_context(nobody_hesitates(given))
        was = sys.stdin
        sys.stdin = given
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code = main([str(word) for word in words])
                except SystemExit as end:
                    code = end.code
        finally:
            sys.stdin = was
        assert not out.keys, f"these answers were never asked for: {out.keys}\n{out.text()[-2000:]}"
        return Result(code, out.text(), err.text())


@contextlib.contextmanager
def nobody_hesitates(given):
    """Have waits for keys that nobody presses end at once: before a question a terminal has to be quiet for a while."""
    wait = select.select

    def at_once(readers, writers, errors, seconds=None):
        ours = not given.closed and given.isatty() and list(readers) == [given.fileno()]
        return wait(readers, writers, errors, 0 if ours and seconds is not None else seconds)

    select.select = at_once
    try:
        yield
    finally:
        select.select = wait


def planted(source, target):
    """Make ``target`` of the files in ``source``: their names end in .txt, so that no tool takes them for its own."""
    for path in sorted(source.rglob("*.txt")):
        name = path.relative_to(source).as_posix().removesuffix(".txt").replace("dot.", ".")
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(path.read_bytes())
    return target


def committed(project):
    """Make ``project`` a repository with one commit of everything in it."""
    identity = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "T"],
        ["config", "user.email", "t@localhost"],
        ["add", "-A"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "All"],
    ):
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    return project


def restored(state, project):
    """Put a kept ``.rails`` folder into ``project``; git keeps no empty folder, so those are made again."""
    shutil.copytree(state, project / ".rails", dirs_exist_ok=True)
    for name in ("objects/info", "objects/pack", "refs/rails", "info"):
        if (project / ".rails/history.git").is_dir():
            (project / ".rails/history.git" / name).mkdir(parents=True, exist_ok=True)
    return project


def files_of(folder):
    """Return the files of a project, without git's and ours."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in (".git", ".rails")
    }


def play(name, tmp_path):
    """Run the commands of ``sessions/NAME`` in a fresh project; return the project and each command with its result."""
    case = HERE / "sessions" / name
    project = tmp_path / "greeter"
    committed(planted(case / "project", project))
    for file in case.glob("*.toml"):
        shutil.copy(file, os.environ["AI_RAILS_CONFIG_DIR"])
    steps = []
    for step in json.loads((case / "script.json").read_text("utf-8")):
        words = filled(step["words"], project, case / step.get("answers", "answers.jsonl"))
        steps.append((words, rails(*words, keys=step.get("keys", ()))))
    return project, steps


def filled(words, project, answers):
    """Return a command with the project, the recorded answers and the last session in their places."""
    sessions = sorted(file.name for file in project.glob(".rails/sessions/*"))
    places = {"PROJECT": str(project), "ANSWERS": f"recorded:{answers}", "SESSION": sessions[-1] if sessions else ""}
    places["CASE"] = str(answers.parent)
    return [re.sub("|".join(places), lambda found: places[found[0]], word) for word in words]
