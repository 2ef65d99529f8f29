"""Ctrl-C in an ``undo``: the step is taken back whole, said and logged, or nothing of it is."""

import math
import os
import signal

import pytest
from _pytest.monkeypatch import resolve

from rails.cli import main
from rails.commands import exit
from rails.core.events.changes import Undo
from rails.log.reader import read_lenient

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["*"]\npath = "**"\n'
FILES = [f"f{number}.txt" for number in range(4)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project where one step has written four files."""
    folder = tmp_path / "project"
    config = tmp_path / "config/ai-rails"
    (folder / ".git").mkdir(parents=True)
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(POLICY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AI_RAILS_CONFIG_DIR", raising=False)
    monkeypatch.chdir(folder)
    (tmp_path / "answer.md").write_text("\n".join(f"{name}\n```\nnew\n```\n" for name in FILES))
    assert main(["apply", str(tmp_path / "answer.md"), "--approve", "policy"]) == 0
    return folder


@pytest.mark.parametrize(
    ("place", "back"),
    [
        ("rails.commands.undo.session_to_move", False),
        ("rails.edits.checkpoints.History.undo", True),
        ("rails.commands.undo.say_moved", True),
        ("rails.commands.undo.undo_event", True),
    ],
)
def test_control_c_in_an_undo_leaves_it_done_and_logged_or_not_begun(project, monkeypatch, capsys, place, back):

    real = resolve(place)

    def interrupted(*words, **more):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*words, **more)

    monkeypatch.setattr(exit, "_came", -math.inf)
    before = signal.signal(signal.SIGINT, exit.interrupted)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupted)
            main(["undo"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert ("is undone." in capsys.readouterr().out) is back
    assert {(project / name).exists() for name in FILES} == {not back}
    (log,) = project.glob(".rails/sessions/*/log.jsonl")
    assert [one.event.redo for one in read_lenient(log)[0] if isinstance(one.event, Undo)] == [False] * back
    assert main(["redo" if back else "undo"]) == 0
    assert {(project / name).exists() for name in FILES} == {back}
