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
from collections.abc import Sequence
from typing import Final

from rails.core import paths
from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass
from rails.core.paths import WorkspacePath
from rails.core.text import sha256

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


def encode(journal: Journal) -> bytes:
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


def decode(identity: str, data: bytes) -> Journal | None:
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
    path = paths.parse(raw)
    if not isinstance(path, WorkspacePath) or paths.forbidden(path):
        raise ValueError
    return path


def _hash(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _slot(identity: str, number: int) -> str:
    return f".ai-rails-{identity}-{number}"
