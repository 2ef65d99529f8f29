"""What goes wrong on an ordinary day (a full disk, a read-only folder, somebody else's hand) is told; nothing ends."""

import errno
import json
import os
import shutil

import pytest

from rails.approval.decision import Decision
from rails.core.events.session import ErrorEvent
from rails.edits import safe_files
from rails.log.reader import verify


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


def appeared_as_a_folder(project, _):
    (project / "sub/b.txt").mkdir()


def appeared_as_a_pipe(project, _):
    os.mkfifo(project / "sub/b.txt")


def removed(project, _):
    shutil.rmtree(project / "sub")


def journal_is_a_link(project, outside):
    shutil.rmtree(project / ".rails/journal", ignore_errors=True)
    (project / ".rails/journal").symlink_to(outside)


def journal_is_a_file(project, _):
    shutil.rmtree(project / ".rails/journal", ignore_errors=True)
    (project / ".rails/journal").write_text("x", "utf-8")


HAPPENINGS = [
    (swapped_for_a_link, "sub/b.txt"),
    (swapped_for_a_link, "sub/a.txt"),
    (replaced_by_a_folder, "sub/a.txt"),
    (appeared, "sub/b.txt"),
    (appeared_as_a_folder, "sub/b.txt"),
    (appeared_as_a_pipe, "sub/b.txt"),
    (removed, "sub/a.txt"),
    (journal_is_a_link, "sub/b.txt"),
    (journal_is_a_file, "sub/b.txt"),
]


@pytest.fixture
def project(work, tmp_path):
    (work.project / "sub").mkdir()
    (work.project / "sub/a.txt").write_text("one\n", "utf-8")
    (tmp_path / "outside").mkdir()
    return work


def assert_went_on(done, project):
    assert done.ending.outcome == "nothing_done"
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
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT])
def test_a_disk_that_refuses_is_told_and_the_change_is_whole_or_not_there(project, monkeypatch, step, code):
    real, refusals = getattr(safe_files.Disk, step), []

    def refusing(self, *words, **more):
        if len(refusals) < 1 and started:
            refusals.append(step)
            raise OSError(code, os.strerror(code))
        return real(self, *words, **more)

    started = []
    monkeypatch.setattr(safe_files.Disk, step, refusing)
    path = "sub/a.txt" if step in ("exchange", "rename") else "sub/b.txt"
    done = project(write(path), "I see.", approver=Meanwhile(lambda: started.append(1)))
    if not refusals or done.ending.outcome == "done":  # not on this way, or a step that is tried another way
        assert (project.project / path).read_text("utf-8") == "new\n"
        return
    assert_went_on(done, project.project)
    assert "Nothing was changed" in done.told[0] or "Nothing is half written" in done.told[0]
    assert (project.project / "sub/a.txt").read_text("utf-8") == "one\n"
    assert not (project.project / "sub/b.txt").exists()


@pytest.mark.parametrize("path", ["sub", "sub/a.txt/below.txt", "sub/"])
def test_a_path_that_is_a_folder_or_lies_below_a_file_is_refused(project, path):
    done = project(write(path), read(path), "I see.", approvals=["approve"])
    assert done.ending.outcome == "nothing_done"
    assert (project.project / "sub/a.txt").read_text("utf-8") == "one\n"
