"""Killed at any call of apply, undo or redo: nothing is half done, and what is on disk can be undone."""

import os
import shutil

import pytest

from rails.core.errors import WorkspaceError
from rails.edits import checkpoint_store
from rails.edits.apply import recover
from rails.edits.checkpoints import History

from .disks import CountingDisk, DyingDisk
from .helpers import change, save, step, tree
from .kills import OPERATIONS, calls, check, die_at_git, killed, prepare

MOMENTS = [("apply", "before"), ("undo", "half"), ("redo", "after")]
if os.environ.get("AI_RAILS_EVERY_CALL"):
    MOMENTS = [(name, moment) for name in OPERATIONS for moment in ("before", "half", "after")]

pytestmark = pytest.mark.usefixtures("quick_disk")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("made"))


def copy(made, name, target):
    shutil.copytree(made[name], target)
    return target


@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_any_call_that_changes_the_disk(tmp_path, made, name):
    disk = CountingDisk()
    OPERATIONS[name](copy(made, name, tmp_path / "counted"), disk)
    wrong = []
    for number in calls(disk.count):
        project = copy(made, name, tmp_path / str(number))
        assert killed(lambda: OPERATIONS[name](project, DyingDisk(number, "after"))) == 9  # noqa: B023
        if problem := check(project, name, made):
            wrong.append(f"call {number} ({disk.names[number - 1]}): {problem}")
    assert wrong == []


@pytest.mark.parametrize(("name", "moment"), MOMENTS)
def test_killed_at_any_call_of_git(tmp_path, made, name, moment):
    wrong = []
    for number in range(1, 12):
        project = copy(made, name, tmp_path / str(number))
        if not killed(lambda: (die_at_git(number, moment), OPERATIONS[name](project))):  # noqa: B023
            assert number > 2
            break
        if problem := check(project, name, made):
            wrong.append(f"git call {number}: {problem}")
    assert wrong == []


def test_what_a_killed_git_leaves_is_removed(tmp_path, made):
    project = copy(made, "apply", tmp_path / "project")
    history = project / ".rails/history.git"
    for name in ("refs/rails/s1.lock", "refs/rails/s2.lock", "packed-refs.lock", "objects/pack/tmp_pack_x1"):
        save(history, name, "")
    assert check(project, "apply", made) == ""
    assert not list(history.rglob("*.lock"))


@pytest.mark.parametrize("problem", [OSError(5, "Input/output error"), WorkspaceError("git is not installed.")])
def test_a_step_that_cannot_be_recorded_waits_and_keeps_its_order(tmp_path, monkeypatch, problem):
    save(tmp_path, "a.txt", "0")

    def fails(*_, **__):
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_store, "run_git", fails)
        for number in range(3):
            done = step(tmp_path, change("a.txt", b"%d" % number, b"%d" % (number + 1)), session=f"s{number}")
            assert done.step == 0
        assert str(problem) in done.unrecorded or "earlier step" in done.unrecorded
        assert "cannot be undone yet" in recover(tmp_path)[0]
    save(tmp_path, "a.txt", "by hand")  # the bytes of the steps are in their journals, not only on the disk
    assert [s.session for s in History(tmp_path).steps()] == []
    assert "can be undone" in recover(tmp_path)[0]
    assert [(s.session, s.seq) for s in History(tmp_path).steps()] == [("s0", 1), ("s1", 2), ("s2", 3)]
    save(tmp_path, "a.txt", "3")
    assert [History(tmp_path).undo().session for _ in range(3)] == ["s2", "s1", "s0"]
    assert tree(tmp_path) == {"a.txt": (b"0", 0o644)}


def test_a_human_edit_between_the_kill_and_the_recovery_is_kept_and_the_step_can_be_undone(tmp_path):
    lines = [f"line {n}\n" for n in range(20)]
    before = "".join(lines).encode()
    after = "".join(["LINE 0\n", *lines[1:]]).encode()
    save(tmp_path, "a.txt", before)
    killed(lambda: (die_at_git(1, "before"), step(tmp_path, change("a.txt", before, after))))
    save(tmp_path, "a.txt", after.replace(b"line 15\n", b"by hand\n"))
    recover(tmp_path)
    History(tmp_path).undo()
    assert (tmp_path / "a.txt").read_bytes() == before.replace(b"line 15\n", b"by hand\n")


def test_a_large_change_that_was_killed_is_recovered(tmp_path):
    """The journal may be larger than any single file may be."""
    old = b"x" * 6_000_000
    new = b"y" * 6_000_000
    for number in range(2):
        save(tmp_path, f"{number}.bin", old)
    changes = [change(f"{number}.bin", old, new) for number in range(2)]

    class Dying(CountingDisk):
        def after(self, number, name):
            if name == "exchange":
                os.kill(os.getpid(), 9)

    assert killed(lambda: step(tmp_path, *changes, disk=Dying())) == 9
    assert "rolled back" in recover(tmp_path)[0]
    assert {data for data, _ in tree(tmp_path).values()} == {old}
