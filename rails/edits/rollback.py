"""What an interrupted change set left behind, file by file, and how every file is put back as it was.

Bytes that are neither the old nor the new ones are somebody else's work and are never overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.text import sha256
from rails.edits.journal import Entry, Journal
from rails.edits.safe_files import UnsafeFileError, Workspace, write_new

_KEPT: Final = (".rails", "recovered")


@dataclass(frozen=True, slots=True)
class _State:
    """One file of the journal as it is now, with what waits in its slot."""

    entry: Entry
    folder: int | None
    now: str | None
    mode: int
    slot: str | None  # hash of the slot's bytes, "" if there is no slot

    @property
    def is_after(self) -> bool:
        if self.entry.same_bytes and self.entry.mode != self.entry.before_mode:
            return self.now == self.entry.after_sha256 and self.mode == self.entry.mode
        return self.now == self.entry.after_sha256

    @property
    def is_foreign(self) -> bool:
        return self.now not in (self.entry.before_sha256, self.entry.after_sha256)

    @property
    def was_after(self) -> bool:
        """Whether our bytes were in place before somebody else wrote others.

        The old ones then wait in the slot, or the slot of a new file is that very file; once all files are
        in place the slots are removed.
        """
        if not self.is_foreign:
            return False
        own = self.now if self.entry.before is None else self.entry.before_sha256
        return self.slot in ("", own) and not (self.slot and self.entry.same_bytes)

    @property
    def holds_foreign(self) -> bool:
        """Whether our bytes displaced somebody else's, which now wait in the slot."""
        ours = ("", self.entry.before_sha256, self.entry.after_sha256)
        return self.is_after and self.slot not in ours


def file_states(workspace: Workspace, journal: Journal) -> list[_State]:
    """Return what is there now for each file. Raises OSError if that cannot be said."""
    return [_state(workspace, entry) for entry in journal.entries]


def is_complete(found: Sequence[_State]) -> bool:
    """Whether the whole change set is on disk, apart from what somebody else wrote over it since."""
    ours = [state for state in found if state.is_after and not state.holds_foreign]
    later = [state for state in found if state.was_after]
    return len(ours) + len(later) == len(found) and (bool(ours) or any(state.slot for state in later) or not found)


def roll_back(workspace: Workspace, journal: Journal) -> list[str]:
    """Put every file of ``journal`` back as it was. Raises OSError if the disk refuses.

    Files that hold neither the old nor the new bytes are left alone. Returns what a person should know.
    """
    found = file_states(workspace, journal)
    said = keep_foreign(workspace, journal, found)
    for state in reversed(found):
        if state.folder is not None:
            _restore(workspace, state, state.folder)
    clear(workspace, journal)
    _remove_folders(workspace, journal)
    if any(state.is_after for state in found):
        names = ", ".join(str(entry.path) for entry in journal.entries)
        said.insert(0, f"An interrupted change was taken back: {names}.")
    return said


def clear(workspace: Workspace, journal: Journal) -> None:
    """Remove what waits beside the files, and sync their folders. Raises OSError."""
    touched = set()
    for state in file_states(workspace, journal):
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
        return _State(entry, None, None, 0, "")
    now, mode = _file_hash(workspace, entry.path.name, folder)
    slot, _ = _file_hash(workspace, entry.slot, folder)
    return _State(entry, folder, now, mode, slot or "")


def _file_hash(workspace: Workspace, name: str, folder: int) -> tuple[str | None, int]:
    """Return hash and mode of what is there now. Raises OSError if that cannot be said: then nothing is decided."""
    try:
        found = workspace.read_name(name, folder)
    except UnsafeFileError:
        return "not a plain file", 0
    return (None, 0) if found is None else (sha256(found.data), found.mode)


def _restore(workspace: Workspace, state: _State, folder: int) -> None:
    entry, disk = state.entry, workspace.disk
    if state.holds_foreign or (state.is_after and state.slot == entry.before_sha256):
        disk.rename(entry.slot, entry.path.name, folder)
    elif not state.is_after or (entry.same_bytes and entry.mode == entry.before_mode):
        return
    elif entry.before is None:
        disk.unlink(entry.path.name, folder)
    else:
        if state.slot:
            disk.unlink(entry.slot, folder)
        write_new(disk, entry.slot, folder, entry.before, entry.before_mode)
        disk.rename(entry.slot, entry.path.name, folder)


def _remove_folders(workspace: Workspace, journal: Journal) -> None:
    for parts in reversed(journal.folders):
        with suppress(OSError, UnsafeFileError):  # not made yet, or no longer empty
            workspace.remove_folder(parts)


def keep_foreign(workspace: Workspace, journal: Journal, found: Sequence[_State]) -> list[str]:
    """Return a sentence for each file that holds somebody else's bytes; what they lie over is kept for a person."""
    return [_keep(workspace, journal, state) for state in found if state.is_foreign]


def _keep(workspace: Workspace, journal: Journal, state: _State) -> str:
    """Leave somebody else's bytes alone; where ours displaced older ones, keep those for a person."""
    said = f"{state.entry.path} was changed by someone else meanwhile and is left as it is."
    if state.slot != state.entry.before_sha256 or state.entry.before is None:
        return said
    kept = f"{journal.id}-{state.entry.path.name}"[-200:]
    with suppress(FileExistsError):
        write_new(workspace.disk, kept, workspace.make_folder(_KEPT), state.entry.before, 0o600)
    return f"{said} What it was before is in {'/'.join(_KEPT)}/{kept}."
