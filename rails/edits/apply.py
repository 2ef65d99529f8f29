"""Write a change set, undoably: all of it or none of it, even if the power fails.

Order: lock; check every file; sync the journal; write and sync new files beside their targets; swap them in; read back;
remove the displaced; rename the journal to "applied" (now the change stays); record the step; close the journal. If the
history cannot be written, the next write or start does it. Bytes neither old nor new are never overwritten.

Not covered: disks that lie about ``fsync``; a program that writes on into a file it opened before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core import limits, lock, paths
from rails.core.changes import Approved, ChangeSet, FileChange
from rails.core.errors import RailsError, StaleError, WorkspaceError
from rails.core.lazy_pattern import lazy
from rails.core.paths import WorkspacePath
from rails.core.text import one_line
from rails.edits import journal as journals
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.journal import Entry, Journal, close_journal, mark_applied
from rails.edits.project_lock import JOURNAL, STATE, locked, state_folder
from rails.edits.rollback import clear, file_states, is_complete, left_alone, roll_back
from rails.edits.safe_files import DISK, Disk, Snapshot, Workspace, write_new
from rails.edits.swap import AFTER, BEFORE, GONE, OTHER, PART, State, put_forward, tidy, write_slot

#: A journal holds the bytes of every file before and after, and its own facts.
_JOURNAL_BYTES: Final = 3 * limits.CHANGE_BYTES
_OTHER_VERSION: Final = (
    "Another version of AI-Rails was interrupted at a change, which .rails/journal/{} has. Start that version once, or "
    "look at the files and remove it."
)
_UNFINISHED: Final = lazy(r"\..+\.[0-9a-f]{12}")


class Applied(Struct, frozen=True):
    """What is on disk now, synced and read back.

    ``step``: its number in the session's history; 0 if not asked for, or ``unrecorded`` says why.
    """

    changes: ChangeSet
    step: int = 0
    unrecorded: str = ""


def apply(
    approved: Approved[ChangeSet],
    project: Path,
    *,
    step: StepFacts | None = None,
    on_intent: Callable[[], object] | None = None,
    disk: Disk = DISK,
) -> Applied:
    """Write an approved change set, and record it as ``step``.

    ``on_intent`` is called once the journal is durable; if it raises, nothing is written. Raises StaleError for what is
    not as approved, WorkspaceError if the disk refuses; nothing is changed then.
    """
    if approved.value.digest() != approved.digest:
        raise StaleError("The change set differs from the approved one. Nothing was changed; ask again.")
    return write(approved.value, project, step=step, on_intent=on_intent, disk=disk)


def write(
    changes: ChangeSet,
    project: Path,
    *,
    step: StepFacts | None = None,
    on_intent: Callable[[], object] | None = None,
    disk: Disk = DISK,
) -> Applied:
    """Write a change set that is checked, or needs no approval."""
    _check_bounds(changes, project)
    if not changes:
        return Applied(changes)
    with sole_writer(project, disk) as workspace:
        return write_held(workspace, _with_modes_of_now(workspace, changes), step=step, on_intent=on_intent)


@contextmanager
def sole_writer(project: Path, disk: Disk = DISK) -> Iterator[Workspace]:
    """Hold the project as its only writer, after :func:`recover`."""
    with _told(), Workspace(project, disk) as workspace, locked(workspace):
        _recover(workspace)
        yield workspace


def write_held(
    workspace: Workspace,
    changes: ChangeSet,
    *,
    step: StepFacts | None = None,
    on_intent: Callable[[], object] | None = None,
    empty: Sequence[str] = (),
) -> Applied:
    """Write a change set to a held project; one without changes is still a step.

    ``empty``: folders, outer ones first, to remove if nothing is left in them.
    """
    _check_bounds(changes, workspace.project)
    seen = {change.path: _as_it_was(workspace, change) for change in changes.changes}
    modes = {path: found.mode for path, found in seen.items() if found}
    planned = _journal(workspace, changes, modes, _missing_folders(workspace, changes))
    journal = replace(planned, step=step, empty=tuple(tuple(folder.split("/")) for folder in empty))
    try:
        _write_journal(workspace, journal)
        if on_intent:
            on_intent()
        for entry in journal.entries:
            _prepare(workspace, entry, seen[entry.path])
        for entry in journal.entries:
            _swap(workspace, entry)
        clear(workspace, _read_back(workspace, journal))
    except BaseException as error:
        _undo(workspace, journal, error)
        raise
    return Applied(changes, *_finish(workspace, journal))


def record_written(changes: ChangeSet, project: Path, step: StepFacts, *, disk: Disk = DISK) -> Applied:
    """Record as ``step`` what somebody else has written. Raises StaleError if a file is not so, WorkspaceError."""
    _check_bounds(changes)
    with sole_writer(project, disk) as workspace:
        modes = {}
        for change in changes.changes:
            found = workspace.read(change.path)
            if (None if found is None else found.data) != change.after:
                raise StaleError(f"{change.path} was changed since it was looked at. This step was not recorded.")
            modes[change.path] = change.mode if found is None else found.mode
        journal = replace(_journal(workspace, changes, modes, ()), step=step)
        _write_journal(workspace, journal)
        return Applied(changes, *_finish(workspace, journal))


def _with_modes_of_now(workspace: Workspace, changes: ChangeSet) -> ChangeSet:
    kept = []
    for change in changes.changes:
        found = workspace.read(change.path)
        kept.append(change if found is None or found.mode == change.mode else replace(change, mode=found.mode))
    return ChangeSet(tuple(kept))


def read_file(project: Path, path: WorkspacePath) -> bytes | None:
    """Return a file's bytes, or None if it does not exist. Raises WorkspaceError for a link."""
    with _told(), Workspace(project) as workspace:
        found = workspace.read(path)
    return None if found is None else found.data


def recover(project: Path, *, disk: Disk = DISK) -> tuple[str, ...]:
    """Complete or roll back interrupted changes. Return what was done, in sentences."""
    with _told(), Workspace(project, disk) as workspace:
        for parts in (STATE, (*STATE, "blobs")):
            _remove_unfinished(workspace, parts)
        if set(workspace.names(JOURNAL)) <= {"lock"}:
            return ()
        with locked(workspace):
            return tuple(_recover(workspace))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"The disk refused: {error}. Nothing is half written; try again.") from error


def _check_bounds(changes: ChangeSet, project: Path | None = None) -> None:
    seen = {change.path for change in changes.changes}
    if len(seen) < len(changes.changes):
        raise WorkspaceError("A change set names one file twice. Nothing was changed.")
    if len(seen) > limits.FILES_PER_CHANGE:
        raise WorkspaceError(f"{len(seen)} files in one change; {limits.FILES_PER_CHANGE} are allowed.")
    if sum(len(c.before or b"") + len(c.after or b"") for c in changes.changes) > 2 * limits.CHANGE_BYTES:
        raise WorkspaceError(f"The change is larger than {limits.CHANGE_BYTES} bytes. Nothing was changed.")
    for change in changes.changes:
        if paths.exact_path(str(change.path)) != change.path or paths.forbidden(change.path, project):
            raise WorkspaceError(f"{change.path} may not be written. Nothing was changed.")


# -- writing ---------------------------------------------------------------------------------------


def _as_it_was(workspace: Workspace, change: FileChange) -> Snapshot | None:
    found = workspace.read(change.path)
    if (None if found is None else found.data) != change.before:
        what = "was deleted" if found is None else "exists now" if change.before is None else "was changed"
        raise StaleError(f"{change.path} {what} since it was looked at. Nothing was changed; plan again.")
    return found


def _journal(
    workspace: Workspace,
    changes: ChangeSet,
    modes: Mapping[WorkspacePath, int],
    folders: Sequence[tuple[str, ...]],
) -> Journal:
    return journals.for_changes(journals.next_id(workspace.names(JOURNAL)), changes, modes, folders)


def _missing_folders(workspace: Workspace, changes: ChangeSet) -> list[tuple[str, ...]]:
    needed = {
        change.path.parts[:n]
        for change in changes.changes
        if change.after is not None
        for n in range(1, len(change.path.parts))
    }
    return sorted((parts for parts in needed if workspace.folder(parts) is None), key=lambda one: (len(one), one))


def _write_journal(workspace: Workspace, journal: Journal) -> None:
    folder = state_folder(workspace)
    write_new(workspace.disk, journal.file_name, folder, journals.encode_journal(journal))
    workspace.disk.sync(folder)


def _prepare(workspace: Workspace, entry: Entry, before: Snapshot | None) -> None:
    if entry.after is not None:
        folder = workspace.make_folder(entry.path.parts[:-1])
        owner = before.owner if before else None
        write_slot(workspace, entry, folder, entry.after, entry.mode, owner=owner)


def _swap(workspace: Workspace, entry: Entry) -> None:
    workspace.make_folder(entry.path.parts[:-1])
    if not workspace.still_there(entry.path.parts[:-1]):
        raise StaleError(f"The folder of {entry.path} was moved while we worked. Nothing was changed.")
    state = put_forward(workspace, entry)
    mode_set = state.slot == BEFORE and state.slot_mode != entry.before_mode
    if state.now != AFTER or state.slot == OTHER or mode_set:
        deleted = "was deleted" if state.now == GONE else "was changed"
        what = "appeared" if entry.before is None else deleted
        raise StaleError(f"{entry.path} {what} while we worked. Nothing was changed; plan again.")


def _read_back(workspace: Workspace, journal: Journal) -> list[State]:
    states = file_states(workspace, journal)
    for state in states:
        if state.now != AFTER:
            raise StaleError(f"{state.entry.path} is not what was written to it. The change was rolled back.")
    return states


def _undo(workspace: Workspace, journal: Journal, error: BaseException) -> None:
    """Roll back; if that fails, the journal stays for the next start."""
    try:
        _, kept = roll_back(workspace, journal)
        close_journal(workspace, journal)
    except OSError as second:
        raise WorkspaceError(
            f"Writing failed ({error}), and rolling it back failed too ({second}). "
            "The journal is kept: the next start of AI-Rails rolls the change back, or completes it."
        ) from error
    said = " ".join(["", *kept])
    if isinstance(error, OSError):
        slots = {entry.slot: str(entry.path) for entry in journal.entries}
        place = slots.get(str(error.filename).removesuffix(PART), "")
        what = f"Writing {place} failed" if place else "Writing failed"
        raise WorkspaceError(f"{what}: {error.strerror or error}. Nothing was changed.{said}") from error
    if kept and isinstance(error, WorkspaceError):
        raise type(error)(f"{error}{said}") from error


# -- what is on disk stays -------------------------------------------------------------------------


def _finish(workspace: Workspace, journal: Journal, *, again: bool = False) -> tuple[int, str]:
    journal = mark_applied(workspace, journal)
    for parts in reversed(journal.empty):
        with suppress(OSError, WorkspaceError):
            workspace.remove_folder(parts)
    try:
        number = _record(workspace, journal, again=again)
    except (OSError, RailsError, ValueError) as error:
        return 0, one_line(str(error), 300)
    close_journal(workspace, journal)
    return number, ""


def _record(workspace: Workspace, journal: Journal, *, again: bool) -> int:
    if journal.step is None:
        return 0
    if any(name.endswith(journals.APPLIED) and name < journal.file_name for name in workspace.names(JOURNAL)):
        raise WorkspaceError("An earlier step waits to be recorded.")
    from rails.edits.checkpoint_store import CheckpointStore  # starts programs: only where something is written

    return CheckpointStore(workspace.project).record(workspace, journal, again=again)


# -- recovery --------------------------------------------------------------------------------------


def _remove_unfinished(workspace: Workspace, parts: tuple[str, ...]) -> None:
    """Remove our own files that no writer holds: a writer locks its file within a second."""
    folder = workspace.folder(parts)
    if folder is None:
        return
    for name in filter(_UNFINISHED.fullmatch, workspace.names(parts)):
        with suppress(OSError):
            descriptor = workspace.disk.look(name, folder)
            try:
                if os.fstat(descriptor).st_mtime < time.time() - 1 and lock.acquire(descriptor):
                    workspace.disk.unlink(name, folder)
            finally:
                os.close(descriptor)


def _recover(workspace: Workspace) -> list[str]:
    folder = state_folder(workspace)
    said: list[str] = []
    for name in sorted(workspace.names(JOURNAL)):
        if not name.endswith((journals.SUFFIX, journals.APPLIED)):
            continue
        found = workspace.read_name(name, folder, f".rails/journal/{name}", _JOURNAL_BYTES)
        journal = journals.decode_journal(name, found.data) if found else None
        if found and journals.is_of_another_version(found.data):
            said.append(_OTHER_VERSION.format(name))
        elif journal is None:
            workspace.disk.unlink(name, folder)  # never complete: nothing was changed under it
        else:
            said += _settle(workspace, journal)
    return said


def _settle(workspace: Workspace, journal: Journal) -> list[str]:
    for entry in journal.entries:
        tidy(workspace, entry)
    found = file_states(workspace, journal)
    if not (journal.applied or is_complete(found)):
        said, kept = roll_back(workspace, journal)
        close_journal(workspace, journal)
        return said + kept
    without_step = journal.step is None
    kept = left_alone(found) if without_step else []
    kept += clear(workspace, found, old_too=without_step)
    number, problem = _finish(workspace, journal, again=True)
    names = ", ".join(str(entry.path) for entry in journal.entries)
    return [_told_of(journal, names, number, problem), *kept]


def _told_of(journal: Journal, names: str, number: int, problem: str) -> str:
    said = f"An interrupted change was already complete: {names}."
    if journal.step is None:
        return said
    if problem:
        return f"{said} It cannot be undone yet, because the history could not be written: {problem}"
    return f"{said} It is step {number} of session {one_line(journal.step.session, 100)} and can be undone."
