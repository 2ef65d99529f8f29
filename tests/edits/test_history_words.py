"""What the history asks of git, word by word, what it keeps, and what it removes for good."""

import os
from pathlib import Path

import pytest

from rails.core.errors import WorkspaceError
from rails.edits import checkpoint_store
from rails.edits.checkpoint_commits import ref_name
from rails.edits.checkpoint_store import CheckpointStore
from rails.edits.checkpoints import History
from rails.edits.safe_files import Workspace

from .helpers import change, save, step, tree

pytestmark = pytest.mark.usefixtures("quick_disk")


def test_sessions_are_forgotten_with_every_byte_that_no_other_has(tmp_path):
    for name in ("s1", "s2", "s3"):
        step(tmp_path, change(f"{name}.txt", None, f"only in {name}".encode()), session=name)
    store = CheckpointStore(tmp_path)
    lock = os.open(save(tmp_path, "lock", ""), os.O_RDONLY)
    step_of = {one.session: one for one in store.steps()}
    store.forget([], (lock,))
    store.forget(["s1", "s3"], (lock,))
    os.close(lock)
    assert [one.session for one in store.steps()] == ["s2"]
    assert [one.after for one in store.restore_point(step_of["s2"]).changes] == [b"only in s2"]
    for name in ("s1", "s3"):
        with Workspace(tmp_path), pytest.raises(WorkspaceError):
            store._git(["cat-file", "-e", step_of[name].commit])


def test_a_step_is_the_next_of_its_session_and_the_next_of_all(tmp_path):
    odd = "a session/../x.lock"
    save(tmp_path, "a.txt", "0").chmod(0o640)
    long = "t" * 201
    for name, title, before, after in (("s1", long, b"0", b"1"), (odd, "two", b"1", b"2"), ("s1", "three", b"2", b"3")):
        step(tmp_path, change("a.txt", before, after, 0o640), session=name, message=title)
    step(tmp_path, change("x/y/n.txt", None, b"n", 0o755), session="s9", message="")
    steps = History(tmp_path).steps()
    assert [(one.session, one.step, one.seq, one.title) for one in steps] == [
        ("s1", 1, 1, f"{'t' * 200}… (+1 characters)"),
        (odd, 1, 2, "two"),
        ("s1", 2, 3, "three"),
        ("s9", 1, 4, "change"),
    ]
    last = steps[-1]
    assert (last.folders, last.undoes) == (("x", "x/y"), 0)
    assert [(one.path, one.mode, one.before_mode) for one in last.held] == [("x/y/n.txt", 0o755, 0o755)]
    assert [(one.path, one.mode, one.before_mode) for one in steps[0].held] == [("a.txt", 0o640, 0o640)]
    assert len({one.journal for one in steps}) == 4
    assert len({one.commit for one in steps}) == 4
    parents = CheckpointStore(tmp_path)._git(
        ["log", "--format=%H %P", *(f"refs/rails/{ref_name(n)}" for n in ("s1", odd))]
    )
    by_commit = dict(line.split(" ") for line in parents.decode().splitlines())
    assert by_commit == {steps[2].commit: steps[0].commit, steps[0].commit: "", steps[1].commit: ""}


def test_every_lock_mark_and_half_written_pack_of_a_killed_git_is_removed_and_nothing_else(tmp_path):
    step(tmp_path, change("a.txt", None, b"0"))
    folder = tmp_path / ".rails/history.git"
    there = tree(tmp_path, but=(".git",))
    for name in ("HEAD.lock", "config.lock", "refs/rails/s1.lock", "refs/rails/s2.lock", "fast_import_crash_1"):
        save(folder, name, "")
    for name in ("tmp_pack_1", "tmp_idx_1", ".tmp-1-pack", "pack-1.keep", "pack-2.keep"):
        save(folder, f"objects/pack/{name}", "")
    step(tmp_path, change("b.txt", None, b"0"), session="s2")
    left = set(tree(tmp_path, but=(".git",))) - set(there)
    assert not [name for name in left if "tmp" in name or "crash" in name]
    assert {Path(name).suffix for name in left} - {".rev"} == {".txt", ".pack", ".idx", ""}, "the new step alone"
    (folder / "stuck.lock").mkdir()  # what cannot be removed is git's to tell
    assert step(tmp_path, change("c.txt", None, b"0"), session="s3").step == 1


@pytest.mark.parametrize("name", ["objects/pack", "objects/info", "info"])
def test_no_folder_of_the_history_may_be_a_link(tmp_path, name):
    project = tmp_path / "project"
    outside = tmp_path / "outside"
    outside.mkdir()
    link = project / ".rails/history.git" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert step(project, change("a.txt", None, b"1")).step == 0
    with pytest.raises(WorkspaceError, match="link"):
        CheckpointStore(project)._own()
    assert list(outside.iterdir()) == []


def test_a_link_that_came_since_is_seen_before_git_runs(tmp_path):
    step(tmp_path, change("a.txt", None, b"1"))
    (tmp_path / ".rails/history.git/info").rmdir()
    (tmp_path / ".rails/history.git/info").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match=r"history\.git/info is "):
        History(tmp_path).steps()


def test_a_first_step_that_git_does_not_take_waits_and_says_which_command_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_store, "run_git", lambda *_, **__: (128, b"", "fatal: no room\n"))
    done = step(tmp_path, change("a.txt", None, b"1"))
    assert done.step == 0
    assert done.unrecorded.startswith("git log failed on the history, .rails/history.git: fatal: no room. No ")
    monkeypatch.undo()
    assert step(tmp_path, change("b.txt", None, b"1")).step == 2
    assert [one.step for one in History(tmp_path).steps()] == [1, 2]
