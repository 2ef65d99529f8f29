"""Write a change set: all of it or none of it, at whatever instant the power goes.

The order is the promise. Lock the project; look at every file again; write the journal and sync it;
write each new file beside its target and sync it; swap them in; read everything back; sync the folders;
close the journal. :func:`recover` finds an open journal at the next start and rolls back, or forward if
every file is already as it should be. Bytes that are neither the old nor the new ones are somebody
else's work and are never overwritten.

Covered: kill -9 and power loss at any instant, a full disk, an I/O error at any call, a second process,
a human saving one of the files in between, links and folders swapped under our feet. Not covered: disks
that lie about ``fsync``; a program that keeps writing into a file it opened before we replaced it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rails.core import limits, lock, paths
from rails.core.changes import Approved, ChangeSet, FileChange
from rails.core.dataclass import dataclass
from rails.core.errors import StaleError, WorkspaceError
from rails.core.paths import WorkspacePath
from rails.edits import journal as journals
from rails.edits.journal import Journal, clear, close_journal, roll_back, write_new
from rails.edits.safe_files import DISK, Disk, Snapshot, Workspace, opened

STATE: Final = (".rails",)
JOURNAL: Final = (".rails", "journal")
_LOCK_SECONDS: Final = limits.PROJECT_LOCK_SECONDS


@dataclass(frozen=True, slots=True)
class Applied:
    """What is on disk now, synced and read back, and the folders that had to be made for it."""

    changes: ChangeSet
    folders: tuple[str, ...] = ()


def apply(
    approved: Approved[ChangeSet],
    project: Path,
    *,
    on_intent: Callable[[], None] | None = None,
    disk: Disk = DISK,
) -> Applied:
    """Write an approved change set.

    ``on_intent`` is called once, when everything is checked and the journal is durable, before the first
    byte changes; if it raises, nothing is written. Raises StaleError if a file or the change set is not
    what was approved, WorkspaceError if the disk refuses; nothing is changed then.
    """
    if approved.value.digest() != approved.digest:
        raise StaleError("The change set is not the one that was approved. Nothing was changed; ask again.")
    return write(approved.value, project, on_intent=on_intent, disk=disk)


def write(
    changes: ChangeSet,
    project: Path,
    *,
    on_intent: Callable[[], None] | None = None,
    disk: Disk = DISK,
    empty: Sequence[str] = (),
) -> Applied:
    """Write a change set that a person asked for directly (undo), or that :func:`apply` has checked.

    ``empty`` names folders, outer ones first, that go too if nothing is left in them afterwards.
    """
    _check_bounds(changes)
    if not changes:
        return Applied(changes)
    with _told(), opened(project, disk) as workspace, _locked(workspace):
        _recover(workspace)
        transaction = _Transaction(workspace, changes)
        transaction.run(on_intent)
        for folder in reversed(empty):
            with suppress(OSError, WorkspaceError):
                workspace.remove_folder(tuple(folder.split("/")))
    return Applied(changes, tuple("/".join(parts) for parts in transaction.journal.folders))


def read_file(project: Path, path: WorkspacePath) -> bytes | None:
    """Return a file's bytes, or ``None`` if it does not exist. Links are not followed (WorkspaceError)."""
    with _told(), opened(project) as workspace:
        found = workspace.read(path)
    return None if found is None else found.data


def recover(project: Path, *, disk: Disk = DISK) -> tuple[str, ...]:
    """Finish or undo changes that were interrupted. Returns what was done, in sentences; usually nothing."""
    with _told(), opened(project, disk) as workspace:
        if set(workspace.names(JOURNAL)) <= {"lock"}:
            return ()
        with _locked(workspace):
            return tuple(_recover(workspace))


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the disk refuses into words for the operator."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"The disk refused: {error}. Nothing is half written; try again.") from error


def _check_bounds(changes: ChangeSet) -> None:
    seen = {change.path for change in changes.changes}
    if len(seen) < len(changes.changes):
        raise WorkspaceError("A change set names one file twice. Nothing was changed.")
    if len(seen) > limits.FILES_PER_CHANGE:
        raise WorkspaceError(f"{len(seen)} files in one change; {limits.FILES_PER_CHANGE} are allowed.")
    if sum(len(c.before or b"") + len(c.after or b"") for c in changes.changes) > 2 * limits.CHANGE_BYTES:
        raise WorkspaceError(f"The change is larger than {limits.CHANGE_BYTES} bytes. Nothing was changed.")
    for change in changes.changes:
        if paths.parse_path(str(change.path)) != change.path or paths.forbidden(change.path):
            raise WorkspaceError(f"{change.path} may not be written. Nothing was changed.")


# -- one writer ------------------------------------------------------------------------------------


@contextmanager
def _locked(workspace: Workspace) -> Iterator[None]:
    """Hold the project's write lock; wait a while for another holder, then say who it is."""
    folder = state_folder(workspace)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open("lock", flags, 0o600, dir_fd=folder)
    except OSError as error:
        raise WorkspaceError(f"Cannot open .rails/journal/lock: {error.strerror}. Nothing was changed.") from error
    try:
        _wait_for(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    if not lock.acquire(descriptor, _LOCK_SECONDS):
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
        raise WorkspaceError(
            f"Another AI-Rails process (number {holder}) is writing to this project. "
            "Nothing was changed; try again when it is done."
        )


def state_folder(workspace: Workspace) -> int:
    """Return the open ``.rails/journal``; make it, and ``.rails/.gitignore``, where missing."""
    try:
        state = workspace.make_folder(STATE)
        if ".gitignore" not in workspace.names(STATE):
            with suppress(FileExistsError):
                write_new(workspace.disk, ".gitignore", state, b"*\n")
        return workspace.make_folder(JOURNAL)
    except OSError as error:
        raise WorkspaceError(f"Cannot make .rails/journal: {error.strerror}. Nothing was changed.") from error


# -- the transaction -------------------------------------------------------------------------------


class _Transaction:
    """One change set on its way to the disk."""

    def __init__(self, workspace: Workspace, changes: ChangeSet) -> None:
        self.workspace = workspace
        self.disk = workspace.disk
        self.changes = changes
        self.seen: dict[WorkspacePath, Snapshot | None] = {}
        self.journal = Journal(secrets.token_hex(8), (), ())

    def run(self, on_intent: Callable[[], None] | None) -> None:
        """Do it all, or undo what was done and raise."""
        for change in self.changes.changes:
            self._look(change)
        folders = sorted(set(self._missing_folders()), key=lambda parts: (len(parts), parts))
        self.journal = journals.for_changes(self.journal.id, self.changes, folders)
        try:
            self._write_journal()
            if on_intent:
                on_intent()
            self._prepare()
            for change, entry in zip(self.changes.changes, self.journal.entries, strict=True):
                self._swap(change, entry.slot)
            self._read_back()
            clear(self.workspace, self.journal)
        except BaseException as error:
            self._undo(error)
            raise
        close_journal(self.workspace, self.journal)

    def _look(self, change: FileChange) -> None:
        found = self.workspace.read(change.path)
        self.seen[change.path] = found
        if (None if found is None else found.data) != change.before:
            what = "was deleted" if found is None else "exists now" if change.before is None else "was changed"
            raise StaleError(f"{change.path} {what} since it was looked at. Nothing was changed; plan again.")

    def _missing_folders(self) -> Iterator[tuple[str, ...]]:
        for change in self.changes.changes:
            if change.after is None:
                continue
            parts = change.path.parts[:-1]
            yield from (parts[:n] for n in range(1, len(parts) + 1) if self.workspace.folder(parts[:n]) is None)

    def _write_journal(self) -> None:
        folder = state_folder(self.workspace)
        write_new(self.disk, self.journal.id + journals.SUFFIX, folder, journals.encode_journal(self.journal))
        self.disk.sync(folder)

    def _prepare(self) -> None:
        """Write every new file beside its target, complete and synced, under a name nobody uses."""
        for change, entry in zip(self.changes.changes, self.journal.entries, strict=True):
            if change.after is None:
                continue
            folder = self.workspace.make_folder(change.path.parts[:-1])
            descriptor = self.disk.create(entry.slot, folder)
            try:
                self.disk.write(descriptor, change.after)
                self._dress(descriptor, change)
                self.disk.sync(descriptor)
            finally:
                os.close(descriptor)

    def _dress(self, descriptor: int, change: FileChange) -> None:
        """Give the new file the old one's owner, where we may, and the mode of the change."""
        before = self.seen[change.path]
        if before is not None and before.owner != (os.getuid(), os.getgid()):
            with suppress(PermissionError):
                self.disk.set_owner(descriptor, before.owner)
        self.disk.set_mode(descriptor, change.mode & 0o777)

    def _swap(self, change: FileChange, slot: str) -> None:
        """Put one file in place in one step, and look at what was displaced."""
        folder = self.workspace.make_folder(change.path.parts[:-1])
        if not self.workspace.still_there(change.path.parts[:-1]):
            raise StaleError(f"The folder of {change.path} was moved while we worked. Nothing was changed.")
        if change.before is None:
            self._appear(change, slot, folder)
        elif change.after is None:
            self.disk.rename(change.path.name, slot, folder)
            self._check_displaced(change, slot, folder)
        elif self.disk.exchange(slot, change.path.name, folder):
            self._check_displaced(change, slot, folder)
        else:
            self._look(change)
            self.disk.rename(slot, change.path.name, folder)

    def _appear(self, change: FileChange, slot: str, folder: int) -> None:
        try:
            self.disk.link(slot, change.path.name, folder)
        except FileExistsError:
            raise StaleError(f"{change.path} appeared while we worked. Nothing was changed; plan again.") from None
        except PermissionError:  # a file system without hard links
            self._look(change)
            self.disk.rename(slot, change.path.name, folder)

    def _check_displaced(self, change: FileChange, slot: str, folder: int) -> None:
        displaced, seen = self.workspace.read_name(slot, folder, str(change.path)), self.seen[change.path]
        if displaced is None or seen is None or displaced.data != seen.data:
            raise StaleError(f"{change.path} was changed while we worked. Nothing was changed; plan again.")

    def _read_back(self) -> None:
        for change in self.changes.changes:
            found = self.workspace.read(change.path)
            if (None if found is None else found.data) != change.after:
                raise StaleError(f"{change.path} is not what was written to it. The change was taken back.")

    def _undo(self, error: BaseException) -> None:
        """Roll back; if even that fails, the journal stays and the next start does it."""
        try:
            roll_back(self.workspace, self.journal)
            close_journal(self.workspace, self.journal)
        except OSError as second:
            raise WorkspaceError(
                f"Writing failed ({error}), and taking it back failed too ({second}). "
                "The journal is kept: the next start of AI-Rails takes the change back, or finishes a complete one."
            ) from error
        if isinstance(error, OSError):
            raise WorkspaceError(f"Writing failed: {error}. Nothing was changed.") from error


# -- recovery --------------------------------------------------------------------------------------


def _recover(workspace: Workspace) -> list[str]:
    folder = state_folder(workspace)
    said = []
    for name in sorted(workspace.names(JOURNAL)):
        if not name.endswith(journals.SUFFIX):
            continue
        found = workspace.read_name(name, folder, f".rails/journal/{name}")
        journal = journals.decode_journal(name.removesuffix(journals.SUFFIX), found.data) if found else None
        if journal is None:
            workspace.disk.unlink(name, folder)  # never complete: nothing was changed under it
        else:
            said += roll_back(workspace, journal, forward=True)
            close_journal(workspace, journal)
    return said
