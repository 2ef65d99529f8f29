"""The write-ahead journal: what is about to change and how it was, synced before it changes.

One file per change set, ``.rails/journal/<id>.journal``, renamed to ``<id>.applied`` once only its step in the history
is missing. Ids rise. Format, version 5:

    AI-RAILS-JOURNAL 5 <SHA-256 of this line's beginning and the rest> LF
    <MessagePack of :class:`Journal`, with the bytes before and after of every file>

Under a journal that is not as its hash says, nothing was changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.lazy_pattern import lazy
from rails.core.paths import WorkspacePath
from rails.core.text import sha256
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.project_lock import JOURNAL
from rails.edits.safe_files import Workspace

_BEGINNING: Final = b"AI-RAILS-JOURNAL "
_MAGIC: Final = _BEGINNING + b"5 "
SUFFIX: Final = ".journal"
APPLIED: Final = ".applied"
_WAITING: Final = lazy(r"([0-9a-f]{4})[0-9a-f]{12}\.applied")


class Entry(FileChange, frozen=True):
    """A file's bytes before and after, and its modes. ``slot``: beside the file, where new or displaced bytes wait."""

    slot: str = ""
    before_mode: Annotated[int, msgspec.Meta(ge=0, le=0o777)] = 0


class Journal(msgspec.Struct, frozen=True):
    """One change set. ``applied``: entirely on disk, by the file's name."""

    id: str
    entries: tuple[Entry, ...]
    folders: tuple[tuple[str, ...], ...]
    step: StepFacts | None = None
    empty: tuple[tuple[str, ...], ...] = ()
    applied: bool = False

    @property
    def changes(self) -> ChangeSet:
        """Return the change set."""
        return ChangeSet(self.entries)

    @property
    def file_name(self) -> str:
        """Return the journal's file name."""
        return self.id + (APPLIED if self.applied else SUFFIX)


def next_id(names: Iterable[str]) -> str:
    """Return an id that sorts after ``names``."""
    known = [int(found[1], 16) for found in map(_WAITING.fullmatch, names) if found]
    return f"{min(max(known, default=-1) + 1, 0xFFFF):04x}{os.urandom(6).hex()}"


def for_changes(
    identity: str, changes: ChangeSet, modes: Mapping[WorkspacePath, int], folders: Sequence[tuple[str, ...]]
) -> Journal:
    """Return the journal of ``changes``; ``modes`` of existing files, ``folders`` to make."""
    entries = []
    for number, change in enumerate(changes.changes):
        before_mode = modes.get(change.path, change.mode) & 0o777
        mode = change.mode & 0o777
        slot = _slot(identity, number)
        entries.append(Entry(change.path, change.before, change.after, mode, slot=slot, before_mode=before_mode))
    return Journal(identity, tuple(entries), tuple(folders))


def encode_journal(journal: Journal) -> bytes:
    """Return the journal file's bytes."""
    rest = msgspec.msgpack.encode(journal)
    return _first_line(rest) + rest


def _first_line(rest: bytes) -> bytes:
    return _MAGIC + sha256(_MAGIC + rest).encode() + b"\n"


def decode_journal(file_name: str, data: bytes) -> Journal | None:
    """Read a journal file. Return None if it was never complete, or is not ours."""
    identity, _, suffix = file_name.rpartition(".")
    first, end, rest = data.partition(b"\n")
    if first + end != _first_line(rest):
        return None
    try:
        journal = msgspec.msgpack.decode(rest, type=Journal)
    except ValueError:
        return None
    return replace(journal, applied=f".{suffix}" == APPLIED) if _is_sound(journal, identity) else None


def is_of_another_version(data: bytes) -> bool:
    """Say whether another version wrote it: what it changed is not known."""
    return data.startswith(_BEGINNING) and len(data) >= len(_MAGIC) and not data.startswith(_MAGIC)


def _is_sound(journal: Journal, identity: str) -> bool:
    slots = [_slot(identity, number) for number in range(len(journal.entries))]
    if journal.id != identity or [entry.slot for entry in journal.entries] != slots:
        return False
    if any(entry.mode & ~0o777 for entry in journal.entries):
        return False
    parts = [entry.path.parts for entry in journal.entries]
    return all(map(_is_allowed, (*parts, *journal.folders, *journal.empty)))


def _is_allowed(parts: tuple[str, ...]) -> bool:
    path = paths.exact_path("/".join(parts))
    return isinstance(path, WorkspacePath) and path.parts == parts and not paths.forbidden(path)


def _slot(identity: str, number: int) -> str:
    return f".ai-rails-{identity}-{number}"


# -- its file --------------------------------------------------------------------------------------


def mark_applied(workspace: Workspace, journal: Journal) -> Journal:
    """Rename the journal: the change is never rolled back from now on.

    Not synced: recovery also looks at the bytes.
    """
    if journal.step is None or journal.applied:
        return journal
    applied = replace(journal, applied=True)
    try:
        workspace.disk.rename(journal.file_name, applied.file_name, workspace.make_folder(JOURNAL))
    except OSError:
        return journal
    return applied


def close_journal(workspace: Workspace, journal: Journal) -> None:
    """Close a journal that is done. If the disk refuses, the next start does it."""
    folder = workspace.make_folder(JOURNAL)
    with suppress(OSError):
        workspace.disk.unlink(journal.file_name, folder)
        workspace.disk.sync(folder)
