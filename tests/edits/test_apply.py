"""Writing: all of a change set or none of it, never over somebody else's bytes."""

import errno
import os
import subprocess
import sys
import threading
from unittest.mock import Mock

import pytest

from rails.core import limits
from rails.core.changes import Approved, ChangeSet, FileChange
from rails.core.errors import StaleError, WorkspaceError
from rails.core.paths import WorkspacePath
from rails.edits.apply import apply, read_file, record_written, recover, write
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.edits.safe_files import Disk, UnsafeFileError, Workspace, write_new

from .disks import WriteFreeDisk
from .helpers import approved, at, change, save, step, tree


def test_files_are_created_changed_and_deleted(tmp_path):
    save(tmp_path, "a.txt", "old").chmod(0o750)
    save(tmp_path, "gone.txt", "x")
    changes = [
        change("a.txt", b"old", b"new", 0o750),
        change("x/y/new.txt", None, b""),
        change("gone.txt", b"x", None),
    ]
    applied = apply(approved(changes), tmp_path)
    assert tree(tmp_path) == {"a.txt": (b"new", 0o750), "x/y/new.txt": (b"", 0o644)}
    assert applied.changes.changes == tuple(changes)


def test_nothing_is_left_behind(tmp_path):
    save(tmp_path, "a.txt", "old")
    apply(approved([change("a.txt", b"old", b"new"), change("b/c.txt", None, b"c")]), tmp_path)
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))
    assert names == [".rails", ".rails/.gitignore", ".rails/journal", ".rails/journal/lock", "a.txt", "b", "b/c.txt"]
    assert (tmp_path / ".rails/.gitignore").read_text() == "*\n"


def test_a_change_set_other_than_the_approved_one_is_not_written(tmp_path):
    save(tmp_path, "a.txt", "old")
    signed = approved([change("a.txt", b"old", b"new")])
    other = Approved(ChangeSet((change("a.txt", b"old", b"evil"),)), signed.digest, "human", signed.at)
    with pytest.raises(StaleError, match="differs from the approved one"):
        apply(other, tmp_path)
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}


@pytest.mark.parametrize(
    ("planned", "now", "what"),
    [
        (change("a.txt", b"old", b"new"), b"human", "was changed"),
        (change("a.txt", b"old", b"new"), None, "was deleted"),
        (change("a.txt", b"old", None), b"human", "was changed"),
        (change("a.txt", None, b"new"), b"human", "exists now"),
    ],
)
def test_a_file_that_changed_since_the_look_is_stale_and_stays(tmp_path, planned, now, what):
    save(tmp_path, "other.txt", "1")
    if now is not None:
        save(tmp_path, "a.txt", now)
    before = tree(tmp_path)
    with pytest.raises(StaleError, match=rf"a\.txt {what} since it was looked at\. Nothing was changed; plan again"):
        apply(approved([change("other.txt", b"1", b"2"), planned]), tmp_path)
    assert tree(tmp_path) == before


def test_intent_is_called_once_before_the_first_byte_and_can_stop_it(tmp_path):
    save(tmp_path, "a.txt", "old")
    seen = []

    def look():
        seen.append(tree(tmp_path))
        raise WorkspaceError("the log is full")

    with pytest.raises(WorkspaceError, match="the log is full"):
        apply(approved([change("a.txt", b"old", b"new")]), tmp_path, on_intent=look)
    assert seen == [{"a.txt": (b"old", 0o644)}]
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}
    assert sorted(p.name for p in (tmp_path / ".rails/journal").iterdir()) == ["lock"]


def test_a_human_saving_between_the_look_and_the_write_loses_nothing(tmp_path):
    save(tmp_path, "a.txt", "old")
    save(tmp_path, "b.txt", "old")

    def human():
        save(tmp_path, "b.txt", "human")

    with pytest.raises(StaleError, match=r"b\.txt was changed while we worked"):
        apply(approved([change("a.txt", b"old", b"new"), change("b.txt", b"old", b"new")]), tmp_path, on_intent=human)
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644), "b.txt": (b"human", 0o644)}


def test_a_file_appearing_between_the_look_and_the_write_stays(tmp_path):
    with pytest.raises(StaleError, match=r"a\.txt appeared"):
        apply(approved([change("a.txt", None, b"new")]), tmp_path, on_intent=lambda: save(tmp_path, "a.txt", "human"))
    assert tree(tmp_path) == {"a.txt": (b"human", 0o644)}


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    project = tmp_path / "project"
    save(outside, "a.txt", "precious")
    project.mkdir()
    (project / "link").symlink_to(outside)
    (project / "a.txt").symlink_to(outside / "a.txt")
    for path in ("link/a.txt", "link/new.txt", "a.txt"):
        before = b"precious" if path.endswith("a.txt") else None
        with pytest.raises(WorkspaceError, match="link"):
            apply(approved([change(path, before, b"evil")]), project)
        with pytest.raises(WorkspaceError, match="link"):
            read_file(project, at(path))
    assert tree(outside) == {"a.txt": (b"precious", 0o644)}


def test_a_hard_link_outside_keeps_its_bytes(tmp_path):
    outside = save(tmp_path, "outside.txt", "shared")
    project = tmp_path / "project"
    project.mkdir()
    os.link(outside, project / "a.txt")
    apply(approved([change("a.txt", b"shared", b"ours")]), project)
    assert outside.read_bytes() == b"shared"
    assert (project / "a.txt").read_bytes() == b"ours"


def test_a_state_folder_that_is_a_link_is_refused(tmp_path):
    outside = tmp_path / "outside"
    project = tmp_path / "project"
    outside.mkdir()
    save(project, "a.txt", "old")
    (project / ".rails").symlink_to(outside)
    with pytest.raises(WorkspaceError):
        apply(approved([change("a.txt", b"old", b"new")]), project)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.git/config", ".rails/lock"])
def test_what_no_approval_allows_is_not_written(tmp_path, path):
    with pytest.raises(WorkspaceError, match="may not be written"):
        apply(approved([change(path, None, b"evil")]), tmp_path)
    assert tree(tmp_path, but=()) == {}


HOLDER = """
import sys, time
from pathlib import Path
from rails.core.changes import ChangeSet
from rails.core import paths
from rails.core.changes import FileChange
from rails.edits.apply import write
def hold():
    print("holding", flush=True)
    sys.stdin.readline()
write(ChangeSet((FileChange(paths.parse_path("b.txt"), None, b"b"),)), Path(sys.argv[1]), on_intent=hold)
"""


def test_a_second_process_waits_for_the_first(tmp_path):
    save(tmp_path, "a.txt", "old")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "holding\n"
    release = threading.Timer(0.3, lambda: (holder.stdin.write("\n"), holder.stdin.close()))
    release.start()
    apply(approved([change("a.txt", b"old", b"new")]), tmp_path)
    assert (tmp_path / "b.txt").exists()
    assert holder.wait(20) == 0
    holder.stdout.close()


def test_a_second_process_is_told_who_holds_the_project(tmp_path, monkeypatch):
    save(tmp_path, "a.txt", "old")
    monkeypatch.setattr("rails.edits.project_lock._LOCK_SECONDS", 0.1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    holder.stdout.readline()
    with pytest.raises(WorkspaceError, match=f"number {holder.pid}"):
        apply(approved([change("a.txt", b"old", b"new")]), tmp_path)
    holder.communicate("\n", 20)
    assert tree(tmp_path)["a.txt"] == (b"old", 0o644)


def test_recovery_of_a_clean_project_does_nothing(tmp_path):
    assert recover(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_read_file_gives_bytes_or_none(tmp_path):
    save(tmp_path, "a.txt", b"\xff\0")
    assert read_file(tmp_path, at("a.txt")) == b"\xff\0"
    assert read_file(tmp_path, at("b.txt")) is None
    assert read_file(tmp_path, at("no/b.txt")) is None


# -- second lines of defence: each holds without the one before it ---------------------------------


@pytest.mark.parametrize(
    "path",
    [".git/hooks/x", "a/.GIT./x", ".rails/history.git/HEAD", "git~1/x", "../out.txt", "/out.txt", "a//b", "a/.", ""],
)
@pytest.mark.parametrize("after", [b"evil", None])
def test_write_itself_looks_at_every_path_again(tmp_path, path, after):
    project = tmp_path / "project"
    project.mkdir()
    bad = FileChange(WorkspacePath(path), None if after else b"x", after)
    calls = (
        lambda: write(ChangeSet((change("ok.txt", None, b"1"), bad)), project),
        lambda: record_written(ChangeSet((bad,)), project, StepFacts("s1", "t")),
    )
    for call in calls:
        with pytest.raises(WorkspaceError, match=r"may not be written\. Nothing was changed"):
            call()
    assert tree(tmp_path, but=()) == {}
    assert list(project.iterdir()) == [], "nothing is even opened for it"


def test_a_change_set_is_written_only_within_its_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "FILES_PER_CHANGE", 2)
    monkeypatch.setattr(limits, "CHANGE_BYTES", 5)
    twice = ChangeSet((change("a.txt", None, b"1"), change("a.txt", None, b"2")))
    three = ChangeSet(tuple(change(name, None, b"1") for name in "abc"))
    large = ChangeSet((change("a.txt", None, b"123456"), change("b.txt", None, b"12345")))
    for changes, why in (
        (twice, "one file twice"),
        (three, "3 files in one change; 2 are"),
        (large, "larger than 5 b"),
    ):
        with pytest.raises(WorkspaceError, match=why):
            write(changes, tmp_path)
    assert list(tmp_path.iterdir()) == []
    write(ChangeSet((change("a.txt", None, b"12345"), change("b.txt", None, b"12345"))), tmp_path)
    save(tmp_path, "b.txt", "123456")
    with pytest.raises(WorkspaceError, match="larger"):
        write(ChangeSet((change("b.txt", b"123456", b"12345"),)), tmp_path)
    assert set(tree(tmp_path)) == {"a.txt", "b.txt"}


def test_an_empty_change_set_leaves_nothing(tmp_path):
    assert write(ChangeSet(()), tmp_path).changes == ChangeSet(())
    assert list(tmp_path.iterdir()) == []


class Liar(Disk):
    """Writes other bytes to a file than it was given."""

    def write(self, descriptor, data):
        super().write(descriptor, b"lies" if data == b"new" else data)


def test_what_was_written_is_read_back_and_taken_back_if_it_is_something_else(tmp_path):
    save(tmp_path, "a.txt", "old")
    with pytest.raises(StaleError, match=r"a\.txt was changed while we worked\. Nothing was changed"):
        apply(approved([change("a.txt", b"old", b"new"), change("b.txt", None, b"b")]), tmp_path, disk=Liar())
    assert tree(tmp_path)["a.txt"] == (b"lies", 0o644)  # not the old bytes and not ours: left as it is
    assert set(tree(tmp_path)) == {"a.txt"}


@pytest.mark.parametrize("case", ["changed", "appeared"])
def test_where_a_disk_cannot_exchange_or_link_a_file_is_looked_at_again(tmp_path, case):
    class Plain(WriteFreeDisk):
        def link(self, old, new, folder, target):
            raise PermissionError(errno.EPERM, "no hard links here")

    other = change("0.txt", None, b"1")
    wanted = change("a.txt", b"old", b"new") if case == "changed" else change("a.txt", None, b"new")
    if case == "changed":
        save(tmp_path, "a.txt", "old")
    with pytest.raises(StaleError, match=rf"a\.txt {'was changed' if case == 'changed' else case} while we worked"):
        apply(approved([other, wanted]), tmp_path, disk=Plain(), on_intent=lambda: save(tmp_path, "a.txt", "human"))
    assert tree(tmp_path) == {"a.txt": (b"human", 0o644)}
    if case == "changed":
        save(tmp_path, "a.txt", "old")
    else:
        (tmp_path / "a.txt").unlink()
    apply(approved([other, wanted]), tmp_path, disk=Plain())
    assert tree(tmp_path) == {"0.txt": (b"1", 0o644), "a.txt": (b"new", 0o644)}


def test_the_owner_of_a_file_is_kept_and_a_refusal_to_do_so_changes_nothing(tmp_path, monkeypatch):
    given = []

    class Owners(Disk):
        def set_owner(self, descriptor, owner):
            given.append(owner)
            raise PermissionError

    place = save(tmp_path, "a.txt", "old")
    owner = (place.stat().st_uid, place.stat().st_gid)
    apply(approved([change("a.txt", b"old", b"1")]), tmp_path, disk=Owners())
    assert given == ([] if owner == (os.getuid(), os.getgid()) else [owner])
    given.clear()
    monkeypatch.setattr("rails.edits.safe_files.os.getuid", lambda: owner[0] + 1)
    apply(approved([change("a.txt", b"1", b"new"), change("b.txt", None, b"b")]), tmp_path, disk=Owners())
    assert given == [owner]
    assert tree(tmp_path) == {"a.txt": (b"new", 0o644), "b.txt": (b"b", 0o644)}


def test_a_folder_that_was_moved_while_we_work_is_noticed(tmp_path):
    save(tmp_path, "x/a.txt", "old")

    def move():
        (tmp_path / "x").rename(tmp_path / "y")
        save(tmp_path, "x/a.txt", "old")

    with pytest.raises(StaleError, match=r"folder of x/a\.txt was moved while we worked\. Nothing was changed"):
        apply(approved([change("x/a.txt", b"old", b"new")]), tmp_path, on_intent=move)
    assert tree(tmp_path) == {"x/a.txt": (b"old", 0o644), "y/a.txt": (b"old", 0o644)}


def test_what_is_held_is_compared_with_what_the_name_leads_to_now(tmp_path):
    save(tmp_path, "x/y/a.txt", "")
    with Workspace(tmp_path) as workspace:
        workspace.folder(("x", "y"))
        assert workspace.still_there(("x", "y"))
        assert workspace.still_there(())
        (tmp_path / "x").rename(tmp_path / "z")
        assert not workspace.still_there(("x", "y"))
        (tmp_path / "x").symlink_to(tmp_path / "z")
        assert not workspace.still_there(("x", "y")), "the same folder, by a link"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder", r"folder is a folder\."),
        ("pipe", r"pipe is not a plain file\."),
        ("link", r"link is a symbolic link\. Links are not followed; name the file it points to\."),
        ("file/a", r"file is not a folder, or is a link to one\."),
        ("away/a", r"away is (a symbolic link|not a folder, or is a link to one)\."),
        ("six", r"six has 6 bytes; 5 are allowed\."),
        ("x/deep", r"^x/deep is a symbolic link"),
        ("x/folder", r"^x/folder is a folder"),
    ],
)
def test_what_is_not_a_plain_file_within_the_bound_is_not_read(tmp_path, monkeypatch, name, why):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "away").symlink_to("folder")
    save(tmp_path, "file", "12345")
    save(tmp_path, "six", "123456")
    (tmp_path / "x/folder").mkdir(parents=True)
    (tmp_path / "x/deep").symlink_to("folder")
    with Workspace(tmp_path) as workspace:
        root = workspace.folder(())
        assert workspace.read_name("file", root, most=5).data == b"12345"
        if name == "six":
            with pytest.raises(UnsafeFileError, match=why):
                workspace.read_name(name, root, most=5)
        else:
            with pytest.raises(UnsafeFileError, match=why):
                workspace.read(at(name))


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_bound_only(tmp_path, monkeypatch):
    save(tmp_path, "a.txt", "12345")
    facts = (tmp_path / "a.txt").stat()
    save(tmp_path, "a.txt", "123456")
    monkeypatch.setattr("rails.edits.safe_files.os.fstat", lambda _: facts)
    with Workspace(tmp_path) as workspace, pytest.raises(UnsafeFileError, match=r"a\.txt grew beyond 5 bytes"):
        workspace.read_name("a.txt", workspace.folder(()), most=5)


def test_a_project_folder_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(WorkspaceError, match=r"Cannot open the project folder .*nowhere: No such file"):
        read_file(tmp_path / "nowhere", at("a.txt"))
    save(tmp_path, "file", "")
    with pytest.raises(WorkspaceError, match="Not a directory"):
        read_file(tmp_path / "file", at("a.txt"))


def test_no_descriptor_stays_open(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc here")
    save(tmp_path, "x/y/a.txt", "old")

    def work():
        step(tmp_path, change("x/y/a.txt", b"old", b"new"), change("n/b.txt", None, b"b"))
        History(tmp_path).undo()
        with pytest.raises(WorkspaceError):
            apply(approved([change("x/y/a.txt", b"other", b"new")]), tmp_path)
        recover(tmp_path)
        with Workspace(tmp_path) as workspace:
            workspace.folder(("x", "y"))
            workspace.still_there(("x", "y"))
            write_new(workspace.disk, "c.txt", workspace.folder(()), b"")
        (tmp_path / "c.txt").unlink()

    work()
    before = len(os.listdir("/proc/self/fd"))
    work()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_taken_back_is_the_very_file_that_was_there(tmp_path):
    for name in ("a.txt", "b.txt"):
        save(tmp_path, name, "old")
    (tmp_path / "a.txt").chmod(0o640)
    os.link(tmp_path / "a.txt", tmp_path / "linked.txt")
    before = (tmp_path / "a.txt").stat().st_ino
    changes = [change("a.txt", b"old", b"new", 0o640), change("b.txt", b"old", b"new")]

    def human():
        save(tmp_path, "b.txt", "by hand")

    with pytest.raises(StaleError, match=r"b\.txt was changed while we worked"):
        apply(approved(changes), tmp_path, on_intent=human)
    assert (tmp_path / "a.txt").stat().st_ino == before
    assert tree(tmp_path) == {
        "a.txt": (b"old", 0o640),
        "b.txt": (b"by hand", 0o644),
        "linked.txt": (b"old", 0o640),
    }


def test_a_folder_that_was_removed_and_made_again_is_the_new_one(tmp_path):
    (tmp_path / "x/y").mkdir(parents=True)
    with Workspace(tmp_path) as workspace:
        workspace.folder(("x", "y"))
        workspace.remove_folder(("x", "y"))
        assert not (tmp_path / "x/y").exists()
        assert workspace.folder(("x", "y")) is None
        made = workspace.make_folder(("x", "y"))
        assert os.fstat(made).st_ino == (tmp_path / "x/y").stat().st_ino
        with pytest.raises(OSError, match="not empty"):
            workspace.remove_folder(("x",))
        workspace.remove_folder(("nowhere", "at", "all"))


# -- what somebody else wrote already ----------------------------------------------------------------


def test_what_somebody_else_wrote_is_recorded_as_a_step_with_its_mode_and_can_be_undone(tmp_path):
    save(tmp_path, "a.sh", "new").chmod(0o750)
    changes = ChangeSet((change("a.sh", b"old", b"new"), change("gone.txt", b"was", None, 0o600)))
    done = record_written(changes, tmp_path, StepFacts("s1", "by a hook"))
    assert (done.changes, done.step, done.unrecorded) == (changes, 1, "")
    assert tree(tmp_path) == {"a.sh": (b"new", 0o750)}
    assert [s.title for s in History(tmp_path).steps("s1")] == ["by a hook"]
    History(tmp_path).undo("s1")
    assert tree(tmp_path) == {"a.sh": (b"old", 0o750), "gone.txt": (b"was", 0o600)}


def test_a_step_of_somebody_else_whose_recording_was_interrupted_is_recorded_afterwards(tmp_path, monkeypatch):
    save(tmp_path, "a.txt", "new")
    changes = ChangeSet((change("a.txt", b"old", b"new"),))
    with monkeypatch.context() as patched:
        patched.setattr("rails.edits.apply._finish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            record_written(changes, tmp_path, StepFacts("s1", "by a hook"))
    recover(tmp_path)
    assert [step.title for step in History(tmp_path).steps("s1")] == ["by a hook"]


@pytest.mark.parametrize("now", [None, b"newer"])
def test_what_is_no_longer_as_somebody_wrote_it_is_not_recorded(tmp_path, now):
    if now:
        save(tmp_path, "a.txt", now)
    with pytest.raises(StaleError, match=r"a\.txt was changed since it was looked at\. This step was not recorded"):
        record_written(ChangeSet((change("a.txt", b"old", b"new"),)), tmp_path, StepFacts("s1", "t"))
    assert History(tmp_path).steps() == ()


def test_a_step_that_is_recorded_already_is_not_recorded_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("rails.edits.apply.close_journal", lambda workspace, journal: None)  # killed just before
        assert step(tmp_path, change("a.txt", None, b"1")).step == 1
    assert len(list((tmp_path / ".rails/journal").glob("*.applied"))) == 1
    (said,) = recover(tmp_path)
    assert said.endswith("It is step 1 of session s1 and can be undone.")
    assert [one.step for one in History(tmp_path).steps()] == [1]


def test_a_file_in_a_folder_that_is_not_there_is_none_of_another_folder(tmp_path, monkeypatch):
    save(tmp_path, "here/b.txt", "not the project's")
    monkeypatch.chdir(tmp_path / "here")
    assert read_file(tmp_path, at("no/b.txt")) is None
    with Workspace(tmp_path) as workspace:
        assert workspace.names(("no",)) == []


def test_a_folder_that_vanishes_while_it_is_made_is_named(tmp_path):
    class Forgetful(Disk):
        def make_folder(self, name, folder):
            if name != "y":
                super().make_folder(name, folder)

    with Workspace(tmp_path, Forgetful()) as workspace, pytest.raises(UnsafeFileError) as raised:
        workspace.make_folder(("x", "y"))
    assert str(raised.value) == "x/y vanished while it was being made."
