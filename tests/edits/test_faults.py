"""Every call that changes the disk fails, or the process dies there: all of a change set, or none of it."""

import errno
import os
import shutil
import signal
from functools import partial

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import WorkspaceError
from rails.core.paths import WorkspacePath
from rails.edits.apply import apply, recover
from rails.edits.journal import encode_journal, for_changes

from .disks import CountingDisk, DyingDisk, FailingDisk, WriteFreeDisk
from .helpers import approved, change, save, tree

pytestmark = pytest.mark.usefixtures("quick_disk")

OLD = b"old\n" * 500
NEW = b"new\n" * 700


def start(project):
    """A project and a change of four files: one changed, one created in a new folder, one deleted, one emptied."""
    save(project, "src/a.txt", OLD).chmod(0o754)
    save(project, "gone.txt", OLD)
    save(project, "full.txt", OLD)
    save(project, "bystander.txt", "untouched")
    return approved(
        [
            change("src/a.txt", OLD, NEW, 0o754),
            change("made/here/b.txt", None, NEW),
            change("gone.txt", OLD, None),
            change("full.txt", OLD, b""),
        ]
    )


def names(project):
    return sorted(str(path.relative_to(project)) for path in project.rglob("*"))


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The tree before and after, and how many calls lie between."""
    project = tmp_path_factory.mktemp("states")
    signed = start(project)
    before = tree(project)
    disk = CountingDisk()
    apply(signed, project, disk=disk)
    return before, tree(project), disk.names


def calls():
    """As many numbers as there are calls; checked against the real count below."""
    return range(1, 46)


def test_the_enumeration_reaches_every_call(states):
    assert len(states[2]) <= len(calls())
    assert {"create", "write", "sync", "exchange", "link", "rename", "unlink", "make_folder"} <= set(states[2])


def in_child(job):
    """Run ``job`` in a forked process. Returns the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            job()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def check_after_kill(project, signed, states):
    recover(project)
    now = tree(project)
    assert now in states[:2]
    assert not [name for name in names(project) if "ai-rails" in name or name.endswith(".journal")]
    assert recover(project) == ()
    if now == states[0]:
        assert not (project / "made").exists()
        apply(signed, project)
        assert tree(project) == states[1]


def test_killed_after_any_call_the_next_start_finds_all_or_nothing(tmp_path, states):
    for number in calls():
        project = tmp_path / str(number)
        signed = start(project)
        in_child(partial(apply, signed, project, disk=DyingDisk(number, "after")))
        check_after_kill(project, signed, states)


def test_killed_in_the_middle_of_any_write_the_next_start_finds_all_or_nothing(tmp_path, states):
    for number in (n for n, name in enumerate(states[2], start=1) if name == "write"):
        project = tmp_path / str(number)
        signed = start(project)
        assert in_child(partial(apply, signed, project, disk=DyingDisk(number, "half"))) == signal.SIGKILL
        check_after_kill(project, signed, states)


@pytest.mark.parametrize("number", range(12, 46, 9))
def test_killed_again_during_recovery_it_still_ends_in_all_or_nothing(tmp_path, states, number):
    killed = tmp_path / "killed"
    in_child(partial(apply, start(killed), killed, disk=DyingDisk(number, "after")))
    for again in range(1, 25):
        project = tmp_path / str(again)
        shutil.copytree(killed, project, symlinks=True)
        if not in_child(partial(recover, project, disk=DyingDisk(again, "after"))):
            break
        recover(project)
        assert tree(project) in states[:2]
        assert not [name for name in names(project) if "ai-rails" in name or name.endswith(".journal")]


@pytest.mark.parametrize(
    "fault", [{"error": errno.EIO}, {"error": errno.EIO, "late": True}, {"error": errno.ENOSPC, "stays": True}]
)
def test_an_error_at_any_call_changes_nothing_or_everything(tmp_path, states, fault):
    for number in calls():
        project = tmp_path / str(number)
        signed = start(project)
        try:
            apply(signed, project, disk=FailingDisk(number, **fault))
        except WorkspaceError as error:
            if "journal is kept" not in str(error):
                assert tree(project) == states[0], number
        else:
            assert tree(project) == states[1], number
        recover(project)
        assert tree(project) in states[:2], number
        assert not [name for name in names(project) if "ai-rails" in name or name.endswith(".journal")]


def test_an_error_during_recovery_is_mended_by_the_next_start(tmp_path, states):
    killed = tmp_path / "killed"
    in_child(partial(apply, start(killed), killed, disk=DyingDisk(27, "after")))
    for number in range(1, 30):
        project = tmp_path / str(number)
        shutil.copytree(killed, project, symlinks=True)
        try:
            recover(project, disk=FailingDisk(number, errno.EIO))
        except (OSError, WorkspaceError):
            recover(project)
        assert tree(project) in states[:2], number


def test_without_an_atomic_exchange_a_kill_still_leaves_all_or_nothing(tmp_path, states):
    class Dying(DyingDisk):
        exchange = WriteFreeDisk.exchange

    for number in calls():
        project = tmp_path / str(number)
        in_child(partial(apply, start(project), project, disk=Dying(number, "after")))
        recover(project)
        assert tree(project) in states[:2], number


def test_a_signal_in_the_middle_takes_the_change_back(tmp_path, states):
    signed = start(tmp_path)

    class Interrupted(CountingDisk):
        def after(self, number, name):
            if name == "exchange" and self.names.count("exchange") == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(signed, tmp_path, disk=Interrupted())
    assert tree(tmp_path) == states[0]


def test_a_displaced_human_edit_is_put_back_by_recovery(tmp_path, states):
    """A human saves after our last look; we swap; we are killed before we notice."""
    signed = start(tmp_path)

    class Racing(DyingDisk):
        def before(self, number, name):
            if name == "exchange":
                save(tmp_path, "src/a.txt", "saved in the gap")

        def after(self, number, name):
            if name == "exchange":
                os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(lambda: apply(signed, tmp_path, disk=Racing(0, ""))) == signal.SIGKILL
    recover(tmp_path)
    assert (tmp_path / "src/a.txt").read_text() == "saved in the gap"
    assert (tmp_path / "gone.txt").read_bytes() == OLD


@pytest.mark.parametrize("junk", [b"", b"x", b"AI-RAILS-JOURNAL 5 abc\nhello", b"AI-RAILS-JOURNAL ", b"\0" * 4096])
def test_a_journal_that_was_never_complete_is_dropped(tmp_path, junk):
    save(tmp_path, "a.txt", "stays")
    save(tmp_path, ".rails/journal/0123456789abcdef.journal", junk)
    recover(tmp_path)
    assert tree(tmp_path) == {"a.txt": (b"stays", 0o644)}
    assert not list((tmp_path / ".rails/journal").glob("*.journal"))


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/x", ".git/hooks/pre-commit", ".rails/history.git/config"])
def test_a_journal_that_came_with_a_hostile_project_writes_nothing_outside(tmp_path, path):
    project = tmp_path / "project"
    save(project, "a.txt", "stays")
    hostile = ChangeSet((FileChange(WorkspacePath(path), b"evil", None, 0o777),))
    forged = for_changes("0123456789abcdef", hostile, {}, ())
    save(project, f".rails/journal/{forged.file_name}", encode_journal(forged))
    recover(project)
    found = {name for name in names(tmp_path) if not name.startswith("project/.rails/journal")}
    assert found == {"project", "project/.rails", "project/.rails/.gitignore", "project/a.txt"}


def test_a_folder_that_takes_no_file_is_told_by_the_name_of_the_file(tmp_path):
    class ReadOnly(CountingDisk):
        def create(self, name, folder):
            if name.startswith(".ai-rails-"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
            return super().create(name, folder)

    signed = start(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(WorkspaceError, match=r"Writing src/a\.txt failed: Permission denied\. Nothing was changed\."):
        apply(signed, tmp_path, disk=ReadOnly())
    assert tree(tmp_path) == before
