"""What goes wrong on an ordinary day (a full disk, a read-only folder, somebody else's hand) is told; nothing ends."""

import errno
import json
import os
import shutil

import pytest

from rails.approval.decision import Decision
from rails.cli import main
from rails.core.errors import LogError, UsageError
from rails.core.events.session import ErrorEvent
from rails.core.outcomes import is_good
from rails.edits import safe_files
from rails.log.reader import sessions, verify
from rails.log.writer import SessionLog


def write(path, content="new\n"):
    body = {"type": "tool_request", "tool_name": "write_file", "parameters": {"file_path": path, "content": content}}
    return f"```json\n{json.dumps({**body, 'explanation': 'because'})}\n```\n"


def read(path):
    body = {"type": "tool_request", "tool_name": "read_file", "parameters": {"file_path": path}}
    return f"```json\n{json.dumps({**body, 'explanation': 'because'})}\n```\n"


class Meanwhile:
    """Approves, after something happened to the project."""

    def __init__(self, happens):
        self.happens = happens

    def decide(self, request):
        self.happens()
        return Decision("approve", "", "script", of=request.digest)


def swapped_for_a_link(project, outside):
    shutil.rmtree(project / "sub")
    (project / "sub").symlink_to(outside)


def replaced_by_a_folder(project, _):
    (project / "sub/a.txt").unlink()
    (project / "sub/a.txt").mkdir()


def appeared(project, _):
    (project / "sub/b.txt").write_text("mine\n", "utf-8")


def appeared_as_a_pipe(project, _):
    os.mkfifo(project / "sub/b.txt")


def journal_is_a_link(project, outside):
    shutil.rmtree(project / ".rails/journal", ignore_errors=True)
    (project / ".rails/journal").symlink_to(outside)


HAPPENINGS = [
    (swapped_for_a_link, "sub/b.txt"),
    (swapped_for_a_link, "sub/a.txt"),
    (replaced_by_a_folder, "sub/a.txt"),
    (appeared, "sub/b.txt"),
    (appeared_as_a_pipe, "sub/b.txt"),
    (journal_is_a_link, "sub/b.txt"),
]


@pytest.fixture
def project(work, tmp_path):
    (work.project / "sub").mkdir()
    (work.project / "sub/a.txt").write_text("one\n", "utf-8")
    (tmp_path / "outside").mkdir()
    return work


def assert_went_on(done, project):
    assert done.ending.outcome == "gave_up"
    assert not [one for one in done.records if isinstance(one.event, ErrorEvent) and one.event.trace]
    (log,) = project.glob(".rails/sessions/*/log.jsonl")
    assert verify(log)


@pytest.mark.parametrize(("happens", "path"), HAPPENINGS, ids=lambda one: getattr(one, "__name__", one))
def test_what_happens_between_the_question_and_the_write_is_told_and_nothing_is_overwritten(
    project, tmp_path, happens, path
):
    meanwhile = Meanwhile(lambda: happens(project.project, tmp_path / "outside"))
    done = project(write(path), "I see.", approver=meanwhile)
    assert_went_on(done, project.project)
    assert "Human/System Feedback" in done.told[0]
    assert list((tmp_path / "outside").iterdir()) == []
    if happens is appeared:
        assert (project.project / path).read_text("utf-8") == "mine\n"


@pytest.mark.parametrize("step", ["create", "write", "sync", "set_mode", "link", "rename", "exchange"])
def test_a_disk_that_refuses_is_told_and_the_change_is_whole_or_not_there(project, monkeypatch, step):
    code = errno.EACCES if step == "rename" else errno.ENOSPC
    real = getattr(safe_files.Disk, step)
    refusals = []

    def refusing(self, *words, **more):
        if len(refusals) < 1 and started:
            refusals.append(step)
            raise OSError(code, os.strerror(code))
        return real(self, *words, **more)

    started = []
    monkeypatch.setattr(safe_files.Disk, step, refusing)
    path = "sub/a.txt" if step in ("exchange", "rename") else "sub/b.txt"
    done = project(write(path), "I see.", approver=Meanwhile(lambda: started.append(1)))
    if not refusals or is_good(done.ending.outcome):  # not on this way, or a step that is tried another way
        assert (project.project / path).read_text("utf-8") == "new\n"
        return
    assert_went_on(done, project.project)
    assert "Nothing was changed" in done.told[0] or "Nothing is half written" in done.told[0]
    assert (project.project / "sub/a.txt").read_text("utf-8") == "one\n"
    assert not (project.project / "sub/b.txt").exists()


@pytest.mark.parametrize("path", ["sub", "sub/a.txt/below.txt", "sub/"])
def test_a_path_that_is_a_folder_or_lies_below_a_file_is_refused(project, path):
    done = project(write(path), read(path), "I see.", approvals=["approve"])
    assert done.ending.outcome == "gave_up"
    assert (project.project / "sub/a.txt").read_text("utf-8") == "one\n"


def log_fails_when(happened, monkeypatch):
    """Let the disk of the session's log be full from the moment that something has happened."""
    real = SessionLog._write

    def write(self, line):
        if happened():
            self._fail(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        real(self, line)

    monkeypatch.setattr(SessionLog, "_write", write)


def test_a_log_that_fails_right_after_a_write_says_what_is_on_the_disk_and_how_it_is_taken_back(
    project, monkeypatch, capsys
):
    place = project.project / "sub/a.txt"
    with monkeypatch.context() as full:
        log_fails_when(lambda: place.read_text("utf-8") == "new\n", full)
        with pytest.raises(LogError) as told:
            project(write("sub/a.txt"), "I see.", approvals=["approve"])
    said = " ".join(str(told.value).split())
    assert "No space left on device" in said
    assert "What was approved just before is on the disk, whole (" in said
    assert "ai-rails undo takes it back" in said
    (session,) = sessions(project.project / ".rails")
    assert f"ai-rails run --resume {session.session_id} continues" in said
    assert main(["undo", "--project", str(project.project)]) == 0
    assert place.read_text("utf-8") == "one\n"
    assert project.resume("I see.").ending.outcome in ("changed", "answered", "unchanged", "claimed", "gave_up")


def test_a_log_that_fails_right_after_a_command_says_that_it_ran(project, monkeypatch):
    ran = project.project / "ran"
    project.own.mkdir()
    count = {
        "tool_name": "count",
        "description": "Note that this ran.",
        "request_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "transport": {"type": "command", "command": ["touch", str(ran)]},
        "access_control": {"coder": "permissioned_access"},
    }
    (project.own / "count.json").write_text(json.dumps(count), "utf-8")
    log_fails_when(ran.exists, monkeypatch)
    body = {"type": "tool_request", "tool_name": "count", "parameters": {}, "explanation": "because"}
    with pytest.raises(LogError, match=r"No tool runs without it\. count had run before that\.$"):
        project(f"```json\n{json.dumps(body)}\n```\n", approvals=["approve"])


def test_a_disk_that_takes_no_page_for_the_human_is_told_and_the_session_ends_as_it_would(work, monkeypatch):
    def full(*_words):
        raise UsageError("01_coder_answer.md cannot be written: No space left on device.")

    monkeypatch.setattr("rails.session.handoffs.Handoffs.write", full)
    done = work(read("missing.txt"), read("missing.txt"))
    assert (done.ending.outcome, done.ending.file) == ("gave_up", "")
    assert "No space left on device" in done.events("ERROR")[-1]["error"]
    assert done.events("ESCALATION")[-1]["rung"] == "human"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
def test_what_the_system_refuses_is_told_as_what_it_is_and_not_as_a_fault_of_ours(work, monkeypatch, number):
    def refused(*_words, **_more):
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr("rails.tools.runners.dispatch.run_request", refused)
    done = work(read("a.txt"), "I see.")
    (told,) = [event for event in done.events("ERROR") if "read_file" in event.get("message", "") or event["error"]]
    assert f"/some/file: {os.strerror(number)}" in told["error"]
    assert "OSError" in told["trace"]
    assert not any("itself failed" in record.message for record in done.records)
