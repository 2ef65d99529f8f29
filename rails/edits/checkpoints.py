"""Checkpoints of every applied change set, and the way back.

Our own git repository, ``.rails/history.git``, driven through GitPython's command interface with an
explicit git directory that is also the working directory: git never looks at the project, so none of the
project's attributes, filters, hooks or nested repositories can act, and the user's repository is not
touched. One step is one commit on ``refs/rails/<session>`` whose tree holds only the files of that step,
``before/<path>`` and ``after/<path>``; its cost does not grow with the project. Its form is in
:mod:`rails.edits.checkpoint_commits`.

Undo looks at the files as they are now. Where only the step's own bytes are there, they are put back
exactly, absence included. Where somebody changed other lines since, the two are merged; where they
changed the same lines, nothing is done and the message says what to do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rails.core.changes import ChangeSet, FileChange
from rails.core.dataclass import dataclass, replace
from rails.core.errors import WorkspaceError
from rails.core.paths import WorkspacePath
from rails.core.scratch import scratch_file, scratch_folder
from rails.core.text import one_line
from rails.edits.apply import read_file, state_folder, write
from rails.edits.checkpoint_commits import (
    FORMAT,
    Checkpoint,
    CheckpointKind,
    import_stream,
    parse_checkpoint,
    ref_name,
    with_undone,
)
from rails.edits.safe_files import opened

_CONFIG: Final = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
    "\tlogAllRefUpdates = false\n\tautocrlf = false\n[gc]\n\tauto = 0\n[commit]\n\tgpgSign = false\n"
)
_OVERRIDES: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "log.showSignature=false",
    # One synced pack for each step: two files instead of a dozen, and safe when the power goes.
    "fastimport.unpackLimit=1",
    "core.fsync=committed,reference",
)
_FOLDERS: Final = ((), ("objects",), ("objects", "info"), ("objects", "pack"), ("refs",), ("refs", "rails"), ("info",))
_GIT_SECONDS: Final = 60
_PACKS: Final = 50  # more than this many are joined into one, which keeps a checkpoint's cost the same
#: Settings that make the git variables of the caller's environment ineffective.
CLEAN: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    "GIT_NAMESPACE": "",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_TRACE": "0",
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
}


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo or redo wrote. ``step`` is the step concerned."""

    changes: ChangeSet
    step: int
    #: Files where somebody's later changes were kept and merged.
    merged: tuple[WorkspacePath, ...] = ()


class History:
    """The checkpoints of one project. Nothing is made on disk before the first checkpoint."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project.absolute() / ".rails" / "history.git"

    # -- writing ----------------------------------------------------------------------------------

    def checkpoint(self, changes: ChangeSet, *, session: str, message: str, folders: Sequence[str] = ()) -> int:
        """Keep one applied change set. Returns its number in the session, from 1. Raises WorkspaceError.

        ``folders`` are those that were made for it (``Applied.folders``); an undo removes them again.
        """
        return self._record(changes, Checkpoint(session, 0, message, "", (), folders=tuple(folders)))

    def _record(self, changes: ChangeSet, draft: Checkpoint) -> int:
        """Write one step; its number and title are settled here."""
        self._open()
        last = self._last(draft.session)
        number = last.step + 1 if last else 1
        step = replace(draft, step=number, title=one_line(draft.title, 200))
        stream = import_stream(step, changes, last.commit if last else "")
        self._git(["fast-import", "--quiet", "--date-format=raw"], stream)
        if sum(1 for _ in (self.folder / "objects" / "pack").glob("*.pack")) > _PACKS:
            self._run(["repack", "-a", "-d", "-q"])
        return number

    # -- reading ----------------------------------------------------------------------------------

    def steps(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        """Return the steps of one session, or of all (those by time), oldest first."""
        if not (self.folder / "HEAD").is_file():
            return ()
        name = "refs/rails/" + (ref_name(session) if session is not None else "")
        refs = self._git(["for-each-ref", "--format=%(refname)", name]).decode().split()
        if not refs:
            return ()
        raw = self._git(["log", "--date-order", "--reverse", "-z", FORMAT, *refs, "--"])
        found = [step for item in raw.decode("utf-8", "replace").split("\0") if (step := parse_checkpoint(item))]
        return with_undone(found)

    def _last(self, session: str) -> Checkpoint | None:
        """Return the newest step of a session, without reading the others."""
        ref = f"refs/rails/{ref_name(session)}"
        status, out, _ = self._run(["log", "-1", FORMAT, ref, "--"])
        return parse_checkpoint(out.decode("utf-8", "replace")) if status == 0 else None

    def restore_point(self, step: Checkpoint) -> ChangeSet:
        """Return the change set of a step, with all bytes."""
        sides = [f"{step.commit}:{side}/{path}" for path in step.files for side in ("before", "after")]
        blobs = self._blobs(sides)
        pairs = zip(step.files, step.modes, blobs[::2], blobs[1::2], strict=True)
        return ChangeSet(tuple(FileChange(path, before, after, mode) for path, mode, before, after in pairs))

    # -- going back and forth ---------------------------------------------------------------------

    def undo(self, session: str, step: int | None = None) -> Undone:
        """Take back one step, the last one in effect by default.

        Raises WorkspaceError, with nothing changed, if there is no such step, if it is undone already, or
        if a file's same lines were changed since.
        """
        found = self._find(session, step, undone=False)
        return self._go(session, found, _reversed(self.restore_point(found)), "undo")

    def redo(self, session: str, step: int | None = None) -> Undone:
        """Do again one step that was undone, the last one undone by default. Raises like :meth:`undo`."""
        found = self._find(session, step, undone=True)
        return self._go(session, found, self.restore_point(found), "redo")

    def undo_session(self, session: str) -> tuple[Undone, ...]:
        """Take back every step of a session that is in effect, the last first. Stops at the first refusal."""
        active = [step for step in self.steps(session) if step.kind == "change" and not step.undone]
        return tuple(self.undo(session, step.step) for step in reversed(active))

    def _find(self, session: str, number: int | None, *, undone: bool) -> Checkpoint:
        steps = [step for step in self.steps(session) if step.kind == "change"]
        if number is None:
            fitting = [step for step in steps if step.undone == undone]
            if not fitting:
                raise WorkspaceError(f"There is nothing to {'redo' if undone else 'undo'} in session {session}.")
            return fitting[0] if undone else fitting[-1]
        found = next((step for step in steps if step.step == number), None)
        if found is None:
            raise WorkspaceError(f"Session {session} has no step {number}. Nothing was changed.")
        if found.undone != undone:
            raise WorkspaceError(
                f"Step {number} is {'not undone' if undone else 'undone already'}. Nothing was changed."
            )
        return found

    def _go(self, session: str, step: Checkpoint, wanted: ChangeSet, kind: CheckpointKind) -> Undone:
        changes, merged = self._onto_now(wanted, step)
        done = ChangeSet(tuple(changes))
        written = write(done, self.project, empty=step.folders if kind == "undo" else ())
        title = f"{kind} step {step.step}"
        draft = Checkpoint(session, 0, title, "", (), kind=kind, undoes=step.step, folders=written.folders)
        self._record(done, draft)
        return Undone(done, step.step, tuple(merged))

    def _onto_now(self, wanted: ChangeSet, step: Checkpoint) -> tuple[list[FileChange], list[WorkspacePath]]:
        """Turn "from these bytes to those" into "from what is there now", keeping later work."""
        changes, merged, in_the_way = [], [], []
        for change in wanted.changes:
            now = read_file(self.project, change.path)
            if now == change.after:
                continue
            if now == change.before:
                changes.append(change)
                continue
            both = self._merge(change.before, now, change.after)
            if both is None:
                in_the_way.append(str(change.path))
            elif both != now:
                changes.append(FileChange(change.path, now, both, change.mode))
                merged.append(change.path)
        if in_the_way:
            raise WorkspaceError(
                f"Step {step.step} was not undone: the same lines of {', '.join(in_the_way)} were changed since. "
                "Nothing was changed. Undo the later steps first, or put your own changes aside and try again."
            )
        return changes, merged

    def _merge(self, base: bytes | None, now: bytes | None, wanted: bytes | None) -> bytes | None:
        """Merge two changes of ``base`` that touch different lines; ``None`` where they do not."""
        if base is None or now is None or wanted is None:
            return None
        with scratch_folder("merge") as folder:
            names = []
            for name, data in (("now", now), ("base", base), ("wanted", wanted)):
                names.append(str(Path(folder) / name))
                Path(names[-1]).write_bytes(data)
            status, out, _ = self._run(["merge-file", "-p", "-q", *names])
        return out if status == 0 else None

    # -- git --------------------------------------------------------------------------------------

    def _blobs(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the content of each ``commit:path``, ``None`` where there is none."""
        data = self._git(["cat-file", "--batch"], "".join(f"{name}\n" for name in names).encode())
        found: list[bytes | None] = []
        at = 0
        for _ in names:
            line_end = data.index(b"\n", at)
            words = data[at:line_end].rsplit(b" ", 2)
            at = line_end + 1
            if words[-1] == b"missing":
                found.append(None)
                continue
            size = int(words[-1])
            found.append(data[at : at + size])
            at += size + 1
        return found

    def _open(self) -> None:
        """Make the repository where it is missing."""
        with opened(self.project) as workspace:
            state_folder(workspace)
            for parts in _FOLDERS:
                workspace.make_folder((".rails", "history.git", *parts))
        self._own()

    def _own(self) -> None:
        """Make sure that the repository's settings are ours, even if the project came with it."""
        with opened(self.project) as workspace:
            for parts in _FOLDERS:
                workspace.folder((".rails", "history.git", *parts))  # raises for a link
        for name, text in (("HEAD", "ref: refs/rails/none\n"), ("config", _CONFIG)):
            file = self.folder / name
            if file.is_symlink() or not file.is_file() or file.read_bytes() != text.encode():
                file.unlink(missing_ok=True)
                file.write_bytes(text.encode())
        for name in ("commondir", "config.worktree", "objects/info/alternates", "info/grafts", "shallow"):
            (self.folder / name).unlink(missing_ok=True)

    def _git(self, arguments: Sequence[str], data: bytes = b"") -> bytes:
        """Run git on our repository and return its output. Raises WorkspaceError."""
        status, out, err = self._run(arguments, data)
        if status != 0:
            raise WorkspaceError(f"git {arguments[0]} failed on the history: {one_line(err, 300)}")
        return out

    def _run(self, arguments: Sequence[str], data: bytes = b"") -> tuple[int, bytes, str]:
        """Run git on our repository; what a model wrote goes in through ``data`` only."""
        self._own()
        return run_git([f"--git-dir={self.folder}", *arguments], self.folder, _environment(self.folder), data)


def run_git(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], data: bytes = b""
) -> tuple[int, bytes, str]:
    """Run git in ``folder`` with everything off that a repository can make it execute.

    Returns the exit status, the output and the error text. Raises WorkspaceError if git cannot be run.
    """
    try:
        from git.cmd import Git
        from git.exc import GitError
    except ImportError as error:
        raise WorkspaceError("git is not installed, and the history needs it.") from error
    options = [word for pair in _OVERRIDES for word in ("-c", pair)]
    command = [_git_program(), *options, *arguments]
    with scratch_file() as stdin:
        stdin.write(data)
        stdin.seek(0)
        try:
            status, out, err = Git(str(folder)).execute(
                command,
                istream=stdin,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                kill_after_timeout=_GIT_SECONDS,
                env=environment,
                shell=False,
            )
        except (GitError, OSError) as error:
            raise WorkspaceError(f"git could not be run: {one_line(str(error), 300)}") from error
    return int(status), bytes(out), str(err)


@cache
def _git_program() -> str:
    """Return the absolute path of git, found once."""
    found = shutil.which("git")
    if found is None:
        raise WorkspaceError("git is not installed, and the history needs it.")
    return str(Path(found).absolute())


def _environment(folder: Path) -> dict[str, str]:
    return {
        **CLEAN,
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(folder),
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_COMMON_DIR": str(folder),
    }


def _reversed(changes: ChangeSet) -> ChangeSet:
    return ChangeSet(tuple(replace(c, before=c.after, after=c.before) for c in changes.changes))
