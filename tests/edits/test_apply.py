"""Writing: all of a change set or none of it, never over somebody else's bytes."""

import os
import subprocess
import sys
import threading

import pytest

from rails.core.changes import Approved, ChangeSet
from rails.core.errors import StaleError, WorkspaceError
from rails.edits.apply import apply, read_file, recover

from .helpers import approved, at, change, save, tree


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
    with pytest.raises(StaleError, match="not the one that was approved"):
        apply(other, tmp_path)
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}


@pytest.mark.parametrize(
    ("planned", "now"),
    [
        (change("a.txt", b"old", b"new"), b"human"),
        (change("a.txt", b"old", b"new"), None),
        (change("a.txt", b"old", None), b"human"),
        (change("a.txt", None, b"new"), b"human"),
    ],
)
def test_a_file_that_changed_since_the_look_is_stale_and_stays(tmp_path, planned, now):
    save(tmp_path, "other.txt", "1")
    if now is not None:
        save(tmp_path, "a.txt", now)
    before = tree(tmp_path)
    with pytest.raises(StaleError, match=r"a\.txt"):
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
    outside, project = tmp_path / "outside", tmp_path / "project"
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
