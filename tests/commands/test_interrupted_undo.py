"""Ctrl-C at any moment of ``undo``: the step is taken back whole, said and logged, or nothing of it is."""

import contextlib
import gc
import json
import math
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from rails.cli import main
from rails.commands import leave
from rails.core.events.changes import Undo
from rails.log.reader import read_lenient

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["*"]\npath = "**"\n'
FILES = [f"f{number}.txt" for number in range(4)]
MOMENTS = 14


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project where one step has written four files."""
    folder, config = tmp_path / "project", tmp_path / "config/ai-rails"
    (folder / ".git").mkdir(parents=True)
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(POLICY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AI_RAILS_CONFIG_DIR", raising=False)
    calls = []
    for name in FILES:
        (folder / name).write_text(f"old {name}\n")
        edit = {"file_path": name, "old_string": "old", "new_string": "new"}
        call = {"type": "tool_request", "tool_name": "edit_file", "parameters": edit, "explanation": "x"}
        calls.append(f"```json\n{json.dumps(call)}\n```\n")
    answers = ({"role": "assistant", "content": text} for text in ("\n".join(calls), "Done."))
    (tmp_path / "recorded.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers))
    monkeypatch.chdir(folder)
    assert main(["run", "t", "--model", f"recorded:{tmp_path / 'recorded.jsonl'}", "--approve", "policy"]) == 0
    return folder


def undone(folder):
    """Whether the step is taken back; every file must be of the same opinion."""
    texts = {(folder / name).read_text().split()[0] for name in FILES}
    assert len(texts) == 1, texts
    return texts == {"old"}


def interrupted_at(moment):
    """Undo, with Ctrl-C at the call of that number; return the exit code and how many calls there were."""
    calls = 0

    def count(_frame, event, _arg):
        nonlocal calls
        calls += event == "call"
        if event == "call" and calls == moment:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, leave.interrupted)
    leave._came = -math.inf
    try:
        sys.setprofile(count)
        code = main(["undo"])
    except KeyboardInterrupt:  # before the command line has begun, or after its end
        code = 130
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, before)
    gc.collect()
    for left in descriptors_in(
        Path.cwd()
    ):  # Ctrl-C came between opening a file and keeping it: a process would end now
        os.close(left)
    return code, calls


def descriptors_in(folder):
    found = []
    for link in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            found += [int(link.name)] if link.readlink().is_relative_to(folder) else []
    return found


def test_control_c_at_any_moment_of_an_undo_leaves_it_done_and_logged_or_not_begun(project, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, symlinks=True)
    os.chdir(copy)
    _, calls = interrupted_at(0)
    outcomes = set()
    for number in range(MOMENTS):
        os.chdir(tmp_path)
        shutil.rmtree(copy)
        shutil.copytree(project, copy, symlinks=True)
        os.chdir(copy)
        capsys.readouterr()
        code, _ = interrupted_at(calls * number // MOMENTS + 1)
        told, back = capsys.readouterr().out, undone(copy)
        (log,) = copy.glob(".rails/sessions/*/log.jsonl")
        assert [one.event.redo for one in read_lenient(log)[0] if isinstance(one.event, Undo)] == [False] * back
        assert ("is undone." in told) is back
        outcomes.add((back, code))
        assert main(["redo" if back else "undo"]) == 0
        assert undone(copy) is not back
    assert {back for back, _ in outcomes} == {True, False}
