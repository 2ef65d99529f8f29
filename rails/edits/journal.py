"""The write-ahead journal: what is about to change and how it was, on stable storage before it changes.

One file per change set, ``.rails/journal/<id>.journal``. Format, version 1:

    AI-RAILS-JOURNAL 1 <length of the rest> <SHA-256 of the rest> LF
    <JSON object on one line> LF
    <the bytes before of every file, one after the other>

The JSON object has ``entries`` (``path``, ``mode``, ``before`` and ``after`` hash or null, ``length`` of the
bytes before) and ``folders`` (those that will be made). A journal whose rest is shorter than it says was
never complete, so nothing was changed under it. The bytes before are in the journal and nowhere else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rails.core import paths
from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass
from rails.core.paths import WorkspacePath
from rails.core.text import sha256
from rails.edits.safe_files import Disk, UnsafeFileError, Workspace

_MAGIC: Final = b"AI-RAILS-JOURNAL 1 "
SUFFIX: Final = ".journal"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a change set: its bytes before, and the hashes before and after (``None``: absent)."""

    path: WorkspacePath
    mode: int
    before: bytes | None
    before_sha256: str | None
    after_sha256: str | None
    #: The name beside the file under which new or displaced bytes wait.
    slot: str


@dataclass(frozen=True, slots=True)
class Journal:
    """What one change set is about to do."""

    id: str
    entries: tuple[Entry, ...]
    folders: tuple[tuple[str, ...], ...]


def for_changes(identity: str, changes: ChangeSet, folders: Sequence[tuple[str, ...]]) -> Journal:
    """Return the journal of ``changes``; ``folders`` are the ones that will be made, outer ones first."""
    entries = (
        Entry(c.path, c.mode, c.before, c.before_sha256, c.after_sha256, _slot(identity, number))
        for number, c in enumerate(changes.changes)
    )
    return Journal(identity, tuple(entries), tuple(folders))


def encode_journal(journal: Journal) -> bytes:
    """Return the journal file's bytes."""
    entries = [
        {
            "path": str(entry.path),
            "mode": entry.mode,
            "before": entry.before_sha256,
            "after": entry.after_sha256,
            "length": len(entry.before or b""),
        }
        for entry in journal.entries
    ]
    head = json.dumps({"entries": entries, "folders": ["/".join(parts) for parts in journal.folders]})
    rest = head.encode() + b"\n" + b"".join(entry.before or b"" for entry in journal.entries)
    return _MAGIC + f"{len(rest)} {sha256(rest)}\n".encode() + rest


def decode_journal(identity: str, data: bytes) -> Journal | None:
    """Read a journal file. Returns ``None`` for one that was never complete, or is not ours."""
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_MAGIC):
        return None
    length, _, digest = first[len(_MAGIC) :].decode("ascii", "replace").partition(" ")
    if length != str(len(rest)) or digest != sha256(rest):
        return None
    head, _, body = rest.partition(b"\n")
    try:
        return _from_json(identity, json.loads(head), body)
    except (KeyError, TypeError, ValueError):
        return None


def _from_json(identity: str, value: dict[str, list[dict[str, object]]], body: bytes) -> Journal:
    entries, offset = [], 0
    for number, item in enumerate(value["entries"]):
        length, mode = item["length"], item["mode"]
        if not isinstance(length, int) or not isinstance(mode, int):
            raise TypeError
        before = None if item["before"] is None else body[offset : offset + length]
        offset += length
        entries.append(
            Entry(
                _path(item["path"]),
                mode & 0o777,
                before,
                _hash(item["before"]),
                _hash(item["after"]),
                _slot(identity, number),
            )
        )
        if before is not None and sha256(before) != item["before"]:
            raise ValueError
    return Journal(identity, tuple(entries), tuple(_path(folder).parts for folder in value["folders"]))


def _path(raw: object) -> WorkspacePath:
    path = paths.parse_path(raw)
    if not isinstance(path, WorkspacePath) or paths.forbidden(path):
        raise ValueError
    return path


def _hash(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _slot(identity: str, number: int) -> str:
    return f".ai-rails-{identity}-{number}"


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


def close_journal(workspace: Workspace, journal: Journal) -> None:
    """Close the journal of a change set that is wholly there, or wholly taken back.

    A disk that refuses leaves the journal for the next start, which will find nothing to do.
    """
    folder = workspace.make_folder(_JOURNAL)
    with suppress(OSError):
        workspace.disk.unlink(journal.id + SUFFIX, folder)
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
    now, slot = (_file_hash(workspace, name, folder) for name in (entry.path.name, entry.slot))
    return _State(entry, folder, now, slot or "")


def _file_hash(workspace: Workspace, name: str, folder: int) -> str | None:
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
