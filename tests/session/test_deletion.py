"""What is deleted of a session, and what stays: nothing that runs, every other session's values and undo."""

import json
import os

import pytest

from rails.approval.decision import Decision, request_for_changes, sign_changes
from rails.cli import main
from rails.core import lock
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import LogError, UsageError, WorkspaceError
from rails.core.events.base import UnknownEvent
from rails.core.paths import WorkspacePath, parse_path
from rails.core.verdict import Verdict
from rails.edits.apply import apply
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.log.reader import read_strict, session_ids
from rails.log.writer import COLLECTING, SessionLog
from rails.session.deletion import delete_sessions, kept_bytes, older_than


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def session(project, name, *texts):
    """Write a session whose texts are too large for the log."""
    with SessionLog.create(project / ".rails", session_id=name) as log:
        for text in texts:
            log.append(UnknownEvent("NOTE", "a note", {"text": text * 40_000}))
    return name


def step(project, name, path, before, after):
    """Write a file as a step of a session."""
    where = parse_path(path)
    assert isinstance(where, WorkspacePath)
    changes = ChangeSet((FileChange(where, before, after),))
    asked = request_for_changes("fix", "x", (), Verdict("pass", changes))
    apply(sign_changes(asked, Decision("approve", "", "me")), project, step=StepFacts(name, "a step"))


def values(project):
    return sorted(one.name for one in (project / ".rails" / "blobs").glob("??/*"))


def test_a_deleted_session_leaves_no_byte_and_others_keep_theirs(project):
    session(project, "one", "a", "b")
    session(project, "two", "b", "c")
    step(project, "one", "a.txt", None, b"from one " + bytes(range(256)) * 40)
    step(project, "two", "b.txt", None, b"b\n")
    (project / ".rails" / "handoffs" / "one").mkdir(parents=True)
    (project / ".rails" / "handoffs" / "one" / "1.md").write_text("take over")
    before = kept_bytes(project)
    freed = delete_sessions(project, ["one"])
    assert session_ids(project / ".rails") == ["two"]
    assert len(values(project)) == 2
    assert not (project / ".rails" / "handoffs" / "one").exists()
    assert not (project / ".rails" / "deleted").exists()
    assert freed.logs > 0 < freed.values
    assert kept_bytes(project).checkpoints < before.checkpoints
    assert [record.details["text"][:1] for record in read_strict(project / ".rails/sessions/two/log.jsonl")] == [
        "b",
        "c",
    ]
    history = History(project)
    assert [one.session for one in history.steps()] == ["two"]
    history.undo()
    assert not (project / "b.txt").exists()
    assert (project / "a.txt").exists(), "the files stay as they are"
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        history.undo()
    rest = b"".join(file.read_bytes() for file in (project / ".rails").rglob("*") if file.is_file())
    assert b"from one" not in rest


def test_a_step_over_a_deleted_one_is_undone_to_what_it_found(project):
    session(project, "one")
    session(project, "two")
    step(project, "one", "a.txt", None, b"1\n")
    step(project, "two", "a.txt", b"1\n", b"2\n")
    delete_sessions(project, ["one"])
    History(project).undo()
    assert (project / "a.txt").read_bytes() == b"1\n"
    step(project, "two", "a.txt", b"1\n", b"3\n")
    assert [one.seq for one in History(project).steps()] == [1, 2, 3]


def test_a_session_that_runs_or_is_not_there_is_never_touched_and_nothing_else_is(project):
    session(project, "one", "a")
    with SessionLog.create(project / ".rails", session_id="runs") as log:
        with pytest.raises(UsageError, match="runs is running"):
            delete_sessions(project, ["one", "runs"])
        for name in ("none", "../one", ""):
            with pytest.raises(UsageError, match="There is no session"):
                delete_sessions(project, ["one", name])
        assert session_ids(project / ".rails") == ["one", "runs"]
        log.append(UnknownEvent("NOTE", "still", {}))


def test_values_stay_while_another_session_runs_and_go_with_the_next_deletion(project):
    session(project, "one", "a")
    session(project, "two", "b")
    with SessionLog.create(project / ".rails", session_id="runs"):
        delete_sessions(project, ["one"])
        assert len(values(project)) == 2
    delete_sessions(project, ["two"])
    assert values(project) == []


def test_no_session_begins_while_values_are_collected(project, monkeypatch):
    session(project, "one", "a")
    monkeypatch.setattr("rails.core.limits.COLLECTING_SECONDS", 0.05)
    with lock.held(project / ".rails" / COLLECTING), pytest.raises(LogError, match="are being deleted"):
        SessionLog.create(project / ".rails", session_id="two")


@pytest.mark.parametrize(
    "at", ["rails.session.deletion.CheckpointStore.forget", "rails.session.deletion._collect_values"]
)
def test_what_a_crash_has_left_is_deleted_by_the_next_one(project, monkeypatch, at):
    for name in ("one", "two"):
        session(project, name, name)
        step(project, name, f"{name}.txt", None, b"x\n")
    with monkeypatch.context() as broken:
        broken.setattr(at, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            delete_sessions(project, ["one"])
    assert session_ids(project / ".rails") == ["two"]
    delete_sessions(project, ["two"])
    assert (values(project), History(project).steps()) == ([], ())
    assert not (project / ".rails" / "deleted").exists()


def test_the_command_shows_sizes_asks_and_says_what_went(project, capsys, monkeypatch):
    session(project, "one", "a")
    session(project, "two")
    assert main(["log", "sizes"]) == 0
    told = capsys.readouterr().out
    assert "2 sessions: " in told
    assert "They are kept forever" in told
    assert main(["log", "delete", "one"]) == 1
    assert "Nothing was deleted" in capsys.readouterr().out
    assert main(["log", "delete", "one", "--yes"]) == 0
    assert "1 session is deleted:" in capsys.readouterr().out
    assert session_ids(project / ".rails") == ["two"]


def test_what_is_too_old_by_the_setting_goes(project, capsys, monkeypatch):
    for name in ("old", "young"):
        session(project, name)
    os.utime(project / ".rails" / "sessions" / "old" / "log.jsonl", (1, 1))
    assert older_than(project, 30) == ("old",)
    (project.parent / "config" / "config.toml").write_text("[sessions]\nkeep_days = 30\n")
    assert main(["log", "delete", "--yes"]) == 0
    assert session_ids(project / ".rails") == ["young"]
    assert main(["log", "delete", "--yes"]) == 0
    assert "No session is older than 30 days" in capsys.readouterr().out


def test_a_run_deletes_what_the_setting_says_and_says_so(project, capsys):
    session(project, "old")
    os.utime(project / ".rails" / "sessions" / "old" / "log.jsonl", (1, 1))
    (project.parent / "config" / "config.toml").write_text("[sessions]\nkeep_days = 30\n")
    (project / "answers.jsonl").write_text(json.dumps({"role": "assistant", "content": "Done."}) + "\n")
    main(["run", "x", "--model", f"recorded:{project / 'answers.jsonl'}"])
    assert "1 session is deleted:" in capsys.readouterr().out
    assert "old" not in session_ids(project / ".rails")
