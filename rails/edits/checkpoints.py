"""Undo and redo: one stack of steps over all sessions of a project.

A step's bytes, absence, modes and folders are restored. A file that changed since is merged, or refused if the same
lines changed; a mode set since is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import WorkspaceError
from rails.core.paths import WorkspacePath
from rails.core.text import one_line
from rails.edits.apply import sole_writer, write_held
from rails.edits.checkpoint_commits import Checkpoint, CheckpointKind, StepFacts
from rails.edits.checkpoint_store import CheckpointStore
from rails.edits.journal import Entry
from rails.edits.merge import merge3
from rails.edits.safe_files import DISK, Disk, UnsafeFileError, Workspace


class Undone(Struct, frozen=True):
    """The files that an undo or redo of ``step`` of ``session`` wrote.

    ``unrecorded``: why the history lacks it, or "".
    """

    changes: ChangeSet
    session: str
    step: int
    title: str
    #: Files where somebody's later changes were kept and merged.
    merged: tuple[WorkspacePath, ...] = ()
    unrecorded: str = ""


class History(CheckpointStore):
    """The steps of one project, and the ways back and forth over ``disk``."""

    def __init__(self, project: Path, disk: Disk = DISK) -> None:
        super().__init__(project)
        self.disk = disk

    def undo(self, session: str | None = None, step: int | None = None) -> Undone:
        """Undo a step, by default the last in effect, of ``session`` or of all.

        Raises WorkspaceError, with nothing changed, if there is none, it is undone, or the same lines were changed
        since.
        """
        return self._go(session, step, "undo")

    def undo_file(self, path: str, session: str | None = None, step: int | None = None) -> Undone:
        """Undo a step (by default the last) for one file, as a new step. Raises like :meth:`undo`.

        Once more goes one version further back.
        """
        with sole_writer(self.project, self.disk) as workspace:
            found, changes, merged = self._taken_back(workspace, path, session, step)
            facts = StepFacts(found.session, f"{_TAKES_BACK}{found.step} of {path}")
            done = write_held(workspace, changes, step=facts)
        return Undone(changes, found.session, done.step, facts.title, tuple(merged), done.unrecorded)

    def back_one(self, workspace: Workspace, path: str) -> Sequence[FileChange]:
        """Return what :meth:`undo_file` would write."""
        return self._taken_back(workspace, path, None, None)[1].changes

    def _taken_back(
        self, workspace: Workspace, path: str, session: str | None, number: int | None
    ) -> tuple[Checkpoint, ChangeSet, list[WorkspacePath]]:
        found = self._step_of(path, session, number)
        sides = [side for side in self._way_back(found.last or found) if str(side.path) == path]
        return found, *self._onto_now(workspace, sides, found, "undo")

    def _step_of(self, path: str, session: str | None, number: int | None) -> Checkpoint:
        gone: set[tuple[str, str]] = set()
        for step in reversed(in_effect(self.steps(session), undone=False)):
            taken_back = step.title.removeprefix(_TAKES_BACK)
            if path not in map(str, step.files) or number not in (None, step.step):
                continue
            if taken_back != step.title and number is None:
                gone.add((step.session, taken_back.partition(" ")[0]))
            elif (step.session, str(step.step)) not in gone:
                return step
        where = f"step {number}" if number else _named(session)
        raise WorkspaceError(f"Nothing that {where} did to {one_line(path, 200)} is left to undo. Nothing was changed.")

    def redo(self, session: str | None = None, step: int | None = None) -> Undone:
        """Redo a step, by default the last undone. Raises like :meth:`undo`."""
        return self._go(session, step, "redo")

    def undo_session(self, session: str) -> tuple[Undone, ...]:
        """Undo a session's steps, last first, until the first refusal."""
        return self._whole(session, "undo")

    def redo_session(self, session: str) -> tuple[Undone, ...]:
        """Redo a session's undone steps until the first refusal."""
        return self._whole(session, "redo")

    def _whole(self, session: str, kind: CheckpointKind) -> tuple[Undone, ...]:
        steps = in_effect(self.steps(session), undone=kind == "redo")
        return tuple(self._go(session, step.step, kind) for step in reversed(steps))

    def _go(self, session: str | None, number: int | None, kind: CheckpointKind) -> Undone:
        with sole_writer(self.project, self.disk) as workspace:
            step = self._find(session, number, undone=kind == "redo")
            last = step.last or step
            changes, merged = self._onto_now(workspace, self._way_back(last), step, kind)
            facts = StepFacts(step.session, f"{kind} step {step.step}", kind, step.step)
            done = write_held(workspace, changes, step=facts, empty=last.folders)
        return Undone(changes, step.session, step.step, step.title, tuple(merged), done.unrecorded)

    def _find(self, session: str | None, number: int | None, *, undone: bool) -> Checkpoint:
        steps = self.steps(session)
        fitting = in_effect(steps, undone=undone)
        if number is None and fitting:
            return fitting[-1]
        if number is None:
            raise WorkspaceError(f"There is nothing to {'redo' if undone else 'undo'} in {_named(session)}.")
        for step in steps:
            if step.kind == "change" and step.step == number:
                if step in fitting:
                    return step
                state = "not undone" if undone else "undone already"
                raise WorkspaceError(f"Step {number} is {state}. Nothing was changed.")
        raise WorkspaceError(f"Session {session} has no step {number} of its own. Nothing was changed.")

    def _way_back(self, record: Checkpoint) -> list[Entry]:
        sides = []
        for change, file in zip(self.restore_point(record).changes, record.held, strict=True):
            mode = change.mode if file.before_mode is None else file.before_mode & 0o777
            sides.append(Entry(change.path, change.after, change.before, mode, before_mode=change.mode))
        return sides

    def _onto_now(
        self, workspace: Workspace, sides: Sequence[Entry], step: Checkpoint, kind: CheckpointKind
    ) -> tuple[ChangeSet, list[WorkspacePath]]:
        changes = []
        merged = []
        in_the_way = []
        for side in sides:
            try:
                found = workspace.read(side.path)
            except UnsafeFileError as error:
                in_the_way.append(str(error).rstrip("."))
                continue
            now = None if found is None else found.data
            is_foreign = now not in (side.before, side.after)
            wanted = _merged(side.before, now, side.after) if is_foreign else side.after
            if is_foreign and wanted is None:
                in_the_way.append(_obstacle(side, now))
                continue
            mode = side.mode
            if found is not None and side.before is not None and found.mode != side.before_mode:
                mode = found.mode  # set since, and kept
            if wanted != now or (found is not None and found.mode != mode):
                changes.append(FileChange(side.path, now, wanted, mode))
                merged += [side.path] if is_foreign else []
        if in_the_way:
            raise WorkspaceError(
                f"Step {step.step} of session {step.session} was not {'undone' if kind == 'undo' else 'done again'}: "
                f"{'; '.join(in_the_way)}. Nothing was changed. "
                "Undo the later steps first, or put your own changes aside and try again."
            )
        return ChangeSet(tuple(changes)), merged


def _obstacle(side: Entry, now: bytes | None) -> str:
    if now is None:
        return f"{side.path} is not there any more"
    if side.before is None:
        return f"{side.path} was created again"
    return f"the same lines of {side.path}, or some just like them, were changed since"


def _named(session: str | None) -> str:
    return "this project" if session is None else f"session {one_line(session, 100)}"


def _merged(base: bytes | None, now: bytes | None, wanted: bytes | None) -> bytes | None:
    """Return the merged text; None if changes touch, or a text is missing.

    Text after the last line ending is a line.
    """
    if base is None or now is None or wanted is None:
        return None
    found = merge3(base + b"\n", now + b"\n", wanted + b"\n")
    return found[:-1] if isinstance(found, bytes) else None


#: How the title of a step begins that is all about one file; the store may shorten the path after it.
_TAKES_BACK: Final = "take back step "


def in_effect(steps: Sequence[Checkpoint], *, undone: bool) -> list[Checkpoint]:
    """Return the changes in effect (or undone), by when they became so."""
    found = [step for step in steps if step.kind == "change" and step.undone == undone]
    return sorted(found, key=lambda step: (step.last or step).seq)
