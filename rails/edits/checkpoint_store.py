"""The store of checkpoints: our own git repository, ``.rails/history.git``.

One commit a step, on ``refs/rails/<session>`` (:mod:`rails.edits.checkpoint_commits`). Git never sees the project: its
attributes, filters and hooks do not act. Git holds the project's lock too until it ends, so its holder may remove what
a killed git left.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rails.core.atomic_file import replace_file
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import WorkspaceError
from rails.core.text import one_line
from rails.edits.checkpoint_commits import (
    FORMAT,
    Checkpoint,
    StepFacts,
    StepFile,
    StepRecord,
    import_stream,
    in_order,
    parse_checkpoint,
    ref_name,
)
from rails.edits.journal import Journal
from rails.edits.project_lock import state_folder
from rails.edits.safe_files import Workspace
from rails.git.program import CLEAN, run_git
from rails.git.revisions import read_objects

#: A step is one synced pack, and no file for each of its objects.
_CONFIG: Final = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
    "\tlogAllRefUpdates = false\n\tautocrlf = false\n\tfsync = committed,reference\n[gc]\n\tauto = 0\n"
    "[commit]\n\tgpgSign = false\n[fastimport]\n\tunpackLimit = 0\n"
)
_FOLDERS: Final = ((), ("objects",), ("objects", "info"), ("objects", "pack"), ("refs",), ("refs", "rails"), ("info",))
_PACKS: Final = 50  # more than this many are joined into one, which keeps a checkpoint's cost the same
#: What a killed git leaves, by how names begin and end: locks, marks on packs, half written packs, reports of a crash.
_LEFT: Final = {
    ".": (("fast_import_crash_", "."), (".lock",)),
    "refs/rails": ((), (".lock",)),
    "objects/pack": (("tmp_", ".tmp-"), (".keep",)),
}


class CheckpointStore:
    """The steps of one project; nothing on disk before the first."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project.absolute() / ".rails" / "history.git"

    def record(self, workspace: Workspace, journal: Journal, *, again: bool = False) -> int:
        """Record the change set of a locked workspace. Return the step's number. Raises WorkspaceError, OSError.

        ``again``: it may be recorded already.
        """
        if journal.step is None:
            raise WorkspaceError("A change set without a step cannot be recorded.")
        self._open(workspace)
        if again and (known := next((step for step in self.steps() if step.journal == journal.id), None)):
            return known.step
        record, parent = self._next(journal, journal.step)
        status, _, err = self._run(
            ["fast-import", "--quiet", "--date-format=raw"],
            import_stream(record, one_line(journal.step.title, 200), journal.changes, parent),
            keep=workspace.lock,
        )
        if status != 0:
            raise _refused("fast-import", err)
        if sum(file.name.endswith(".pack") for file in (self.folder / "objects" / "pack").iterdir()) > _PACKS:
            self._run(["repack", "-a", "-d", "-q"], keep=workspace.lock)
        return record.step

    def _next(self, journal: Journal, facts: StepFacts) -> tuple[StepRecord, str]:
        tips = self._log("--no-walk")
        last = next((tip for tip in tips if tip.session == facts.session), None)
        record = StepRecord(
            facts.session,
            last.step + 1 if last else 1,
            facts.kind,
            facts.undoes,
            tuple("/".join(parts) for parts in journal.folders),
            tuple(StepFile(str(one.path), one.mode, one.before_mode, one.kind) for one in journal.entries),
            max((tip.seq for tip in tips), default=0) + 1,
            journal.id,
            v=2,
        )
        return record, last.commit if last else ""

    def steps(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """Return a session's steps, or all, in order."""
        if not (self.folder / "HEAD").is_file():
            return ()
        found = in_order(self._log("--date-order", "--reverse"))
        return tuple(step for step in found if session in (None, step.session))

    def _log(self, *options: str) -> list[Checkpoint]:
        raw = self._git(["log", *options, "-z", FORMAT, "--glob=refs/rails/*"])
        items = raw.decode("utf-8", "replace").split("\0")
        return [step for item in items if (step := parse_checkpoint(item))]

    def forget(self, sessions: Sequence[str], keep: Sequence[int]) -> None:
        """Remove sessions' steps, with every byte that no other step has. Raises WorkspaceError."""
        if not sessions:
            return
        for session in sessions:
            self._git(["update-ref", "-d", f"refs/rails/{ref_name(session)}"])
        for words in (["repack", "-a", "-d", "-q"], ["prune", "--expire=now"]):
            self._run(words, keep=keep)

    def restore_point(self, step: Checkpoint) -> ChangeSet:
        """Return a step's change set, with all bytes."""
        sides = [f"{step.commit}:{side}/{file.path}" for file in step.held for side in ("before", "after")]
        data = self._git(["cat-file", "--batch"], "".join(f"{name}\n" for name in sides).encode())
        blobs = read_objects(data, len(sides))
        pairs = zip(step.files, step.held, blobs[::2], blobs[1::2], strict=True)
        return ChangeSet(tuple(FileChange(path, old, new, one.mode & 0o777) for path, one, old, new in pairs))

    def _open(self, workspace: Workspace) -> None:
        state_folder(workspace)
        for parts in _FOLDERS:
            workspace.make_folder((".rails", "history.git", *parts))
        self._own()
        for folder, (beginnings, ends) in _LEFT.items():
            for file in (self.folder / folder).iterdir():
                if file.name.startswith(beginnings) or file.name.endswith(ends):
                    with suppress(OSError):
                        file.unlink()

    def _own(self) -> None:
        """Set ours: the repository may have come with the project."""
        with Workspace(self.project) as workspace:
            for parts in _FOLDERS:
                workspace.folder((".rails", "history.git", *parts))  # raises for a link
        for name, text in (("HEAD", "ref: refs/rails/none\n"), ("config", _CONFIG)):
            file = self.folder / name
            if file.is_symlink() or not file.is_file() or file.read_bytes() != text.encode():
                replace_file(file, text.encode(), durable=False)
        for name in ("commondir", "config.worktree", "objects/info/alternates", "info/grafts", "shallow"):
            (self.folder / name).unlink(missing_ok=True)

    def _git(self, arguments: Sequence[str], data: bytes = b"") -> bytes:
        status, out, err = self._run(arguments, data)
        if status != 0:
            raise _refused(arguments[0], err)
        return out

    def _run(self, arguments: Sequence[str], data: bytes = b"", keep: Sequence[int] = ()) -> tuple[int, bytes, str]:
        """A model's text goes in through ``data`` only."""
        self._own()
        return run_git(arguments, self.folder, _environment(self.folder), data, keep=keep)


def _refused(command: str, said: str) -> WorkspaceError:
    first = one_line(said.partition("\n")[0], 300)
    return WorkspaceError(
        f"git {command} failed on the history, .rails/history.git: {first}. No file was changed by this. "
        "If it is damaged, move that folder away: what is written from then on can be undone again."
    )


def _environment(folder: Path) -> dict[str, str]:
    return {
        **CLEAN,
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(folder),
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_COMMON_DIR": str(folder),
    }
