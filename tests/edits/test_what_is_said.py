"""What is said of a change that failed, waits or was interrupted: which file, what stays, what to do; and how much."""

import errno

import pytest

from rails.core import limits
from rails.core.changes import ChangeSet
from rails.core.errors import WorkspaceError
from rails.edits import apply as applying
from rails.edits.apply import Applied, apply, recover
from rails.edits.checkpoint_store import CheckpointStore
from rails.edits.checkpoints import History
from rails.edits.safe_files import Disk

from .helpers import approved, change, save, step, tree

pytestmark = pytest.mark.usefixtures("quick_disk")
ID = "0003456789abcdef"


class Refusing(Disk):
    """Refuses the calls that are named, each with the error given."""

    def __init__(self, **errors):
        for name, error in errors.items():
            setattr(self, name, lambda *_, error=error: self.refuse(error))

    @staticmethod
    def refuse(error):
        raise error


def said_by(call):
    with pytest.raises(WorkspaceError) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "Writing failed: No space left on device."),
        (OSError("just so"), "Writing failed: just so."),
        (OSError(errno.EIO, "Input/output error", "elsewhere"), "Writing failed: Input/output error."),
    ],
)
def test_a_disk_that_refuses_is_quoted_and_nothing_was_changed(tmp_path, error, words):
    save(tmp_path, "a.txt", "old")
    disk = Refusing(exchange=error)
    said = said_by(lambda: apply(approved([change("a.txt", b"old", b"new")]), tmp_path, disk=disk))
    assert said == f"{words} Nothing was changed."
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}
    assert recover(tmp_path) == ()


def test_a_file_that_cannot_be_put_in_place_is_named_as_a_person_knows_it(tmp_path):
    class Named(Disk):
        def create(self, name, folder):
            if name.startswith(".ai-rails-") and name.endswith("-1.part"):
                raise OSError(errno.EACCES, "Permission denied", name)
            return super().create(name, folder)

    changes = [change("x/a.txt", None, b"1"), change("x/b.txt", None, b"2")]
    said = said_by(lambda: apply(approved(changes), tmp_path, disk=Named()))
    assert said == "Writing x/b.txt failed: Permission denied. Nothing was changed."
    assert tree(tmp_path) == {}
    assert not (tmp_path / "x").exists()


def test_where_taking_back_fails_too_the_journal_stays_and_the_next_start_takes_the_change_back(tmp_path):
    save(tmp_path, "a.txt", "old")
    first = OSError(errno.EIO, "first")
    second = OSError(errno.EROFS, "second")
    disk = Refusing(move=first, unlink=second)
    changes = [change("a.txt", b"old", b"new"), change("b.txt", None, b"b")]
    said = said_by(lambda: apply(approved(changes), tmp_path, disk=disk))
    assert said.startswith(
        f"Writing failed ({first}), and rolling it back failed too ({second}). The journal is kept: "
    )
    assert "the next start of AI-Rails rolls the change back" in said
    assert recover(tmp_path) in ((), ("An interrupted change was rolled back: a.txt, b.txt.",))
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}
    assert [one.name for one in (tmp_path / ".rails/journal").iterdir()] == ["lock"]


@pytest.mark.parametrize("error", [OSError("x" * 300), WorkspaceError("x" * 300), ValueError("x" * 301)])
def test_why_a_step_waits_is_said_in_a_bounded_line(tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(CheckpointStore, "record", fail)
    done = step(tmp_path, change("a.txt", None, b"1"))
    more = "… (+1 characters)" if isinstance(error, ValueError) else ""
    assert (done.step, done.unrecorded) == (0, "x" * 300 + more)
    (said,) = recover(tmp_path)
    words = "An interrupted change was already complete: a.txt. It cannot be undone yet, because the history could not "
    assert said == f"{words}be written: {done.unrecorded}"
    monkeypatch.undo()
    assert recover(tmp_path) == (f"{words[:50]} It is step 1 of session s1 and can be undone.",)
    assert recover(tmp_path) == ()


def test_a_journal_may_be_as_large_as_a_change_set_with_its_facts():
    assert applying._JOURNAL_BYTES == 3 * limits.CHANGE_BYTES
    assert Applied(ChangeSet(())) == Applied(ChangeSet(()), 0, "")


SAID = "Step 1 of session s1 was not {}: {}; {}. Nothing was changed. "
SAID += "Undo the later steps first, or put your own changes aside and try again."


@pytest.mark.parametrize(
    ("before", "after", "now", "why"),
    [
        (None, b"new\n", b"mine\n", "the same lines of {}, or some just like them, were changed since"),
        (b"old\n", None, b"mine\n", "{} was created again"),
        (b"old\n", b"new\n", None, "{} is not there any more"),
        (b"old\n", b"new\n", b"mine\n", "the same lines of {}, or some just like them, were changed since"),
        (b"old\n", b"new\n", "link", "{} is a symbolic link. Links are not followed; name the file it points to"),
        (b"old\n", None, "folder", "{} is a folder"),
    ],
)
def test_where_somebody_made_or_removed_or_changed_the_same_there_is_no_way_back_and_both_files_are_named(
    tmp_path, before, after, now, why
):
    for name in ("a.txt", "b.txt"):
        if before is not None:
            save(tmp_path, name, before)
    save(tmp_path, "c.txt", "0")
    changes = (change(name, before, after) for name in ("a.txt", "b.txt"))
    step(tmp_path, change("c.txt", b"0", b"1"), *changes)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).unlink(missing_ok=True)
        if now == "folder":
            (tmp_path / name).mkdir()
        elif now == "link":
            (tmp_path / name).symlink_to("c.txt")
        elif now is not None:
            save(tmp_path, name, now)
    there = tree(tmp_path)
    assert said_by(lambda: History(tmp_path).undo()) == SAID.format("undone", why.format("a.txt"), why.format("b.txt"))
    assert tree(tmp_path) == there
