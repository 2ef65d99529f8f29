"""The write-ahead journal: what is about to change and how it was, synced before it changes.

One file per change set, ``.rails/journal/<id>.journal``, renamed to ``<id>.applied`` once only its step in the history
is missing. Ids rise. Format, version 3:

    AI-RAILS-JOURNAL 3 <length of the rest> <SHA-256 of this line's beginning and the rest> LF
    <JSON object on one line> LF
    <the bytes before and after of every file, one after the other>

The object has ``entries`` (``path``, ``mode`` and ``before_mode``, ``before`` and ``after`` hash or null, ``length``
and ``after_length`` of the bytes), ``folders`` (to be made), ``empty`` (to be removed if empty) and ``step``
(``session``, ``title``, ``kind``, ``undoes``, or null). Under a journal shorter than it says, nothing was changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.text import sha256
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.project_lock import JOURNAL
from rails.edits.safe_files import Workspace

_MAGIC: Final = b"AI-RAILS-JOURNAL 3 "
_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
SUFFIX: Final = ".journal"
APPLIED: Final = ".applied"


class Entry(msgspec.Struct, frozen=True):
    """A file's bytes before and after, hashes and modes (None: absent)."""

    path: WorkspacePath
    mode: int
    before: bytes | None
    before_sha256: str | None
    after_sha256: str | None
    #: The name beside the file under which new or displaced bytes wait.
    slot: str
    before_mode: int
    after: bytes | None = None

    @property
    def same_bytes(self) -> bool:
        """Say whether only the permission bits change."""
        return self.before_sha256 == self.after_sha256


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
        return ChangeSet(tuple(FileChange(e.path, e.before, e.after, e.mode) for e in self.entries))

    @property
    def file_name(self) -> str:
        """Return the journal's file name."""
        return self.id + (APPLIED if self.applied else SUFFIX)


def next_id(names: Iterable[str]) -> str:
    """Return an id that sorts after ``names``."""
    known = [int(name[:4], 16) for name in names if name.endswith(APPLIED) and _is_id(name.removesuffix(APPLIED))]
    return f"{min(max(known, default=-1) + 1, 0xFFFF):04x}{os.urandom(6).hex()}"


def _is_id(name: str) -> bool:
    return len(name) == 16 and all(character in "0123456789abcdef" for character in name)


def for_changes(
    identity: str, changes: ChangeSet, modes: Mapping[WorkspacePath, int], folders: Sequence[tuple[str, ...]]
) -> Journal:
    """Return the journal of ``changes``; ``modes`` of existing files, ``folders`` to make."""
    entries = (
        Entry(
            c.path,
            c.mode & 0o777,
            c.before,
            c.before_sha256,
            c.after_sha256,
            _slot(identity, number),
            modes.get(c.path, c.mode) & 0o777,
            c.after,
        )
        for number, c in enumerate(changes.changes)
    )
    return Journal(identity, tuple(entries), tuple(folders))


class _File(msgspec.Struct):
    path: str
    mode: _Number
    before_mode: _Number
    before: str | None
    after: str | None
    length: _Number
    after_length: _Number


class _Head(msgspec.Struct):
    entries: list[_File]
    folders: list[str]
    empty: list[str]
    step: StepFacts | None


def encode_journal(journal: Journal) -> bytes:
    """Return the journal file's bytes."""
    entries = [
        _File(
            str(entry.path),
            entry.mode,
            entry.before_mode,
            entry.before_sha256,
            entry.after_sha256,
            len(entry.before or b""),
            len(entry.after or b""),
        )
        for entry in journal.entries
    ]
    folders, empty = (["/".join(parts) for parts in some] for some in (journal.folders, journal.empty))
    head = msgspec.json.encode(_Head(entries, folders, empty, journal.step))
    rest = head + b"\n" + b"".join((e.before or b"") + (e.after or b"") for e in journal.entries)
    return _MAGIC + f"{len(rest)} {sha256(_MAGIC + rest)}\n".encode() + rest


def decode_journal(file_name: str, data: bytes) -> Journal | None:
    """Read a journal file. Return None if it was never complete, or is not ours."""
    identity, _, suffix = file_name.rpartition(".")
    first, _, rest = data.partition(b"\n")
    if first != f"{_MAGIC.decode()}{len(rest)} {sha256(_MAGIC + rest)}".encode():
        return None
    head, _, body = rest.partition(b"\n")
    try:
        journal = _read(identity, msgspec.json.decode(head, type=_Head), body)
    except ValueError:
        return None
    return replace(journal, applied=f".{suffix}" == APPLIED)


def _read(identity: str, head: _Head, body: bytes) -> Journal:
    """Return the journal. Raises ValueError for an invalid byte or path."""
    entries = []
    offset = 0
    for number, file in enumerate(head.entries):
        middle = offset + file.length
        before = body[offset:middle]
        after = body[middle : middle + file.after_length]
        offset = middle + file.after_length
        entries.append(
            Entry(
                _path(file.path),
                file.mode & 0o777,
                _checked(before, file.before),
                file.before,
                file.after,
                _slot(identity, number),
                file.before_mode & 0o777,
                _checked(after, file.after),
            )
        )
    folders, empty = (tuple(_path(name).parts for name in names) for names in (head.folders, head.empty))
    return Journal(identity, tuple(entries), folders, head.step, empty)


def _checked(data: bytes, digest: str | None) -> bytes | None:
    if digest is None:
        return None
    if sha256(data) != digest:
        raise ValueError
    return data


def _path(raw: str) -> WorkspacePath:
    path = paths.parse_path(raw)
    if not isinstance(path, WorkspacePath) or paths.forbidden(path):
        raise ValueError
    return path


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
