"""Undo a change set that did not get through, from its journal. Used at once, and at the next start."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.text import sha256
from rails.edits import journal as journals
from rails.edits.journal import Entry, Journal
from rails.edits.safe_files import Disk, UnsafeFileError, Workspace

_JOURNAL: Final = (".rails", "journal")
_KEPT: Final = (".rails", "recovered")


@dataclass(frozen=True, slots=True)
class _State:
    """One file of the journal as it is now, with what waits in its slot."""

    entry: Entry
    folder: int | None
    now: str | None
    slot: str | None  # hash of the slot's bytes, "" if there is no slot

    @property
    def is_after(self) -> bool:
        return self.now == self.entry.after_sha256

    @property
    def is_foreign(self) -> bool:
        return self.now not in (self.entry.before_sha256, self.entry.after_sha256)

    @property
    def holds_foreign(self) -> bool:
        """Whether our bytes displaced somebody else's, which now wait in the slot."""
        ours = ("", self.entry.before_sha256, self.entry.after_sha256)
        return self.is_after and self.slot not in ours


def roll_back(workspace: Workspace, journal: Journal, *, forward: bool = False) -> list[str]:
    """Put every file of ``journal`` back as it was. Raises OSError if the disk refuses.

    With ``forward``, a change set that is complete on disk is left so. Files that hold neither the old
    nor the new bytes are left alone. Returns what a person should know, in sentences.
    """
    states = [_state(workspace, entry) for entry in journal.entries]
    names = ", ".join(str(entry.path) for entry in journal.entries)
    foreign = [state for state in states if state.is_foreign]
    complete = [state for state in states if state.is_after and not state.holds_foreign]
    said = [_keep(workspace, journal, state) for state in foreign]
    if forward and complete and len(complete) + len(foreign) == len(states):
        clear(workspace, journal)
        return [f"An interrupted change was already complete: {names}.", *said]
    for state in reversed(states):
        if state.folder is not None:
            _restore(workspace, state, state.folder)
    clear(workspace, journal)
    _remove_folders(workspace, journal)
    if any(state.is_after for state in states):
        said.insert(0, f"An interrupted change was taken back: {names}.")
    return said


def settle(workspace: Workspace, journal: Journal) -> None:
    """Close the journal of a change set that is wholly there, or wholly taken back.

    A disk that refuses leaves the journal for the next start, which will find nothing to do.
    """
    folder = workspace.make_folder(_JOURNAL)
    with suppress(OSError):
        workspace.disk.unlink(journal.id + journals.SUFFIX, folder)
        workspace.disk.sync(folder)


def clear(workspace: Workspace, journal: Journal) -> None:
    """Remove what waits beside the files, and sync their folders. Raises OSError."""
    touched = set()
    for state in (_state(workspace, entry) for entry in journal.entries):
        if state.folder is not None:
            touched.add(state.folder)
            if state.slot and not state.holds_foreign:
                workspace.disk.unlink(state.entry.slot, state.folder)
    for folder in touched:
        workspace.disk.sync(folder)


def _state(workspace: Workspace, entry: Entry) -> _State:
    try:
        folder = workspace.folder(entry.path.parts[:-1])
    except UnsafeFileError:
        folder = None
    if folder is None:
        return _State(entry, None, None, "")
    now, slot = (_hash(workspace, name, folder) for name in (entry.path.name, entry.slot))
    return _State(entry, folder, now, slot or "")


def _hash(workspace: Workspace, name: str, folder: int) -> str | None:
    """Return the hash of what is there now. Raises OSError if that cannot be said: then nothing is decided."""
    try:
        found = workspace.read_name(name, folder)
    except UnsafeFileError:
        return "not a plain file"
    return None if found is None else sha256(found.data)


def _restore(workspace: Workspace, state: _State, folder: int) -> None:
    entry, disk = state.entry, workspace.disk
    if state.holds_foreign or (state.is_after and state.slot and state.slot == entry.before_sha256):
        disk.rename(entry.slot, entry.path.name, folder)
    elif not state.is_after or entry.before_sha256 == entry.after_sha256:
        return
    elif entry.before is None:
        disk.unlink(entry.path.name, folder)
    else:
        if state.slot:
            disk.unlink(entry.slot, folder)
        write_new(disk, entry.slot, folder, entry.before, entry.mode)
        disk.rename(entry.slot, entry.path.name, folder)


def _remove_folders(workspace: Workspace, journal: Journal) -> None:
    for parts in reversed(journal.folders):
        with suppress(OSError, UnsafeFileError):  # not made yet, or no longer empty
            workspace.remove_folder(parts)


def _keep(workspace: Workspace, journal: Journal, state: _State) -> str:
    """Leave somebody else's bytes alone; where ours displaced older ones, keep those for a person."""
    said = f"{state.entry.path} was changed by someone else meanwhile and is left as it is."
    if state.slot != state.entry.before_sha256 or state.entry.before is None:
        return said
    kept = f"{journal.id}-{state.entry.path.name}"[-200:]
    with suppress(FileExistsError):
        write_new(workspace.disk, kept, workspace.make_folder(_KEPT), state.entry.before, 0o600)
    return f"{said} What it was before is in {'/'.join(_KEPT)}/{kept}."


def write_new(disk: Disk, name: str, folder: int, data: bytes, mode: int = 0o600) -> None:
    """Create a file with all of ``data``, synced. Raises OSError; FileExistsError if the name is taken."""
    descriptor = disk.create(name, folder)
    try:
        disk.write(descriptor, data)
        disk.set_mode(descriptor, mode)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)
