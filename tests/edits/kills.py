"""A project with two sessions, and what an apply, an undo and a redo of it must leave, whenever they are killed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from rails.core.errors import WorkspaceError
from rails.edits import checkpoint_store
from rails.edits.apply import recover
from rails.edits.checkpoints import History
from rails.edits.safe_files import DISK

from .helpers import change, save, step

#: Of the calls, those at which the suite kills; tests/prove takes all.
EACH = 7
OLD = b"old\n" * 500
NEW = b"new\n" * 700
NEWER = b"newer\n" * 600
BYTES = bytes(range(256)) * 40


def apply_second(project, disk=DISK):
    """The step of the second session: changes (text, bytes, mode), new files in new folders, deletions, a move."""
    step(
        project,
        change("src/a.txt", NEW, NEWER, 0o754),
        change("made/here/b.txt", None, NEW, 0o755),
        change("gone.txt", OLD, None),
        change("full.txt", OLD, b""),
        change("src/deep/image.bin", BYTES, BYTES[::-1]),
        change("run me.sh", OLD, NEWER, 0o755),
        change("alone/in/a folder/old näme.txt", NEW, None),
        change("moved/to/new näme.txt", None, NEW),
        change("made/here/empty", None, b""),
        session="s2",
        message="second",
        disk=disk,
    )


def undo_last(project, disk=DISK):
    History(project, disk).undo()


def redo_last(project, disk=DISK):
    History(project, disk).redo()


OPERATIONS: dict[str, Callable] = {"apply": apply_second, "undo": undo_last, "redo": redo_last}


def prepare(folder: Path) -> dict[str, Path]:
    """Make a project for each operation to be killed in, and one that nothing was ever done to."""
    start = folder / "start"
    save(start, "src/a.txt", OLD).chmod(0o754)
    save(start, "gone.txt", OLD).chmod(0o640)
    save(start, "full.txt", OLD)
    save(start, "src/deep/image.bin", BYTES)
    save(start, "run me.sh", OLD).chmod(0o711)
    save(start, "alone/in/a folder/old näme.txt", NEW)
    (start / "kept").mkdir(0o700)
    made = {"start": start}
    for name, operation in (
        ("apply", lambda project: step(project, change("src/a.txt", OLD, NEW, 0o754), change("x/y.txt", None, OLD))),
        ("undo", apply_second),
        ("redo", undo_last),
    ):
        made[name] = folder / name
        shutil.copytree(list(made.values())[-2], made[name])
        operation(made[name])
    return made


def state(project: Path) -> dict[str, object]:
    """Return every file with bytes and mode, and every folder with its mode."""
    found = {}
    for path in sorted(project.rglob("*")):
        name = str(path.relative_to(project))
        if not name.startswith(".rails"):
            found[name] = (path.read_bytes() if path.is_file() else None, path.stat().st_mode & 0o777)
    return found


def check(project: Path, name: str, made: dict[str, Path]) -> str:
    """Recover, and return what is wrong then: "" if all is as promised."""
    before = state(made[name])
    recover(project)
    now = state(project)
    after = state(made["apply"] if name == "undo" else made["undo"])
    if now not in (before, after):
        return "half done"
    left = [str(path) for path in project.rglob("*") if "ai-rails" in path.name]
    left += [path.name for path in (project / ".rails/journal").iterdir() if path.name != "lock"]
    if left:
        return f"left behind: {left}"
    if recover(project):
        return "recovered twice"
    try:
        if now != after:
            OPERATIONS[name](project)
        if state(project) != after:
            return "could not be done after it"
        undo_all(project)
    except WorkspaceError as error:
        return f"cannot be undone: {error}"
    return "" if state(project) == state(made["start"]) else "undone, but not byte for byte"


def undo_all(project: Path) -> None:
    history = History(project)
    while any(s.kind == "change" and not s.undone for s in history.steps()):
        history.undo()


def calls(count: int) -> range:
    """Return which of ``count`` calls to be killed at: each n-th, or all where AI_RAILS_EVERY_CALL is set."""
    return range(1, count + 1, 1 if os.environ.get("AI_RAILS_EVERY_CALL") else EACH)


def killed(job: Callable[[], None]) -> int:
    """Run ``job`` in a forked process. Returns the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            job()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def die_at_git(number: int, moment: str) -> None:
    """Let this process be killed at its ``number``-th call of git: before it, half way in, or after it."""
    real = checkpoint_store.run_git
    calls = []

    def run(arguments, folder, environment, data=b"", *, keep=()):
        calls.append(arguments)
        if len(calls) == number and moment == "before":
            os.kill(os.getpid(), 9)
        if len(calls) == number and moment == "half":
            real(arguments, folder, environment, data[: len(data) // 2], keep=keep)
            os.kill(os.getpid(), 9)
        result = real(arguments, folder, environment, data, keep=keep)
        if len(calls) == number:
            os.kill(os.getpid(), 9)
        return result

    checkpoint_store.run_git = run
