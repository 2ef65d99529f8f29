"""Reading a session log: strictly for replay and undo, leniently for people, or as it grows.

Text after the last ``\\n`` is in flight; every other line is a record or :class:`Damage`. LOG_RECOVERED *explains* a
torn line by place, length and hash; strict reading accepts no other damage.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from rails.core import limits
from rails.core.errors import LogError
from rails.core.events.record import Record
from rails.core.events.session import LogRecovered, WorkflowEnd, WorkflowStart
from rails.core.text import sha256
from rails.log import blobs, event_codec, files

LOG_NAME: Final = "log.jsonl"
_PIECE: Final = 1 << 16


class Damage(msgspec.Struct, frozen=True):
    """A line not as written. ``line`` is 1-based; ``offset``, ``length``: bytes."""

    line: int
    offset: int
    length: int
    reason: str
    sha256: str

    @property
    def is_newer(self) -> bool:
        """Whether a later version wrote it, so that nothing is wrong."""
        return event_codec.NEWER in self.reason

    def __str__(self) -> str:
        return f"line {self.line} (byte {self.offset}, {self.length} bytes): {self.reason}"


class LogRow(msgspec.Struct, frozen=True):
    """A record and its line's place in bytes, without the newline."""

    offset: int
    length: int
    record: Record


class Position(msgspec.Struct, frozen=True):
    """A position in a log: bytes, lines, the last record's number and hash."""

    offset: int = 0
    line: int = 0
    seq: int = 0
    hash: str = ""


class Verification(msgspec.Struct, frozen=True):
    """``damage`` is unexplained, ``recovered`` explained. A noted hash of ``end`` shows later cuts. ``last_offset``:
    the last record's (-1: none). ``in_flight``: bytes after the last newline.
    """

    records: int
    damage: tuple[Damage, ...]
    recovered: tuple[Damage, ...]
    end: Position
    last_offset: int
    in_flight: int

    @property
    def ok(self) -> bool:
        """Whether every byte is accounted for."""
        return not self.damage

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        newer = [item for item in self.damage if item.is_newer]
        verdict = "whole" if self.ok else "NEWER" if len(newer) == len(self.damage) else "DAMAGED"
        lines = [f"{verdict}: {self.records} records, the last has the hash {self.end.hash or 'none'}"]
        lines += [f"damage at {item}" for item in self.damage if not item.is_newer]
        lines += damage_in_words(newer)
        lines += [f"torn by a crash and marked as such: {item}" for item in self.recovered]
        if self.in_flight:
            lines.append(
                f"{self.in_flight} bytes after the last record are not complete (a crash, or a running writer)"
            )
        return "\n".join(lines)


class SessionSummary(msgspec.Struct, frozen=True):
    """A session by its first and last record. ``outcome``: closing message, ``""`` if running or broken off;
    ``records``: last number; ``size``: bytes.
    """

    session_id: str
    path: Path
    started: str
    last: str
    task: str
    outcome: str
    records: int
    size: int


class Tail:
    """Reads on from a :class:`Position`; each call gives what is new."""

    def __init__(self, path: Path, position: Position | None = None) -> None:
        self.path = path
        self.position = position or Position()

    def read(self, limit: int | None = None) -> Iterator[LogRow | Damage]:
        """Yield at most ``limit`` lines, moving the position. Damage precedes a record with wrong hash or link,
        replaces one repeating a number. Raises LogError.
        """
        with opened_log(self.path) as file:
            file.seek(self.position.offset)
            for count, (raw, length, digest) in enumerate(whole_lines(file)):
                if count == limit:
                    return
                yield from self.judge(raw, length, digest)

    def judge(self, raw: bytes | None, length: int, digest: str) -> Iterator[LogRow | Damage]:
        """Yield what a line is (``None``: too long to hold, with its hash)."""
        at = self.position
        self.position = Position(at.offset + length + 1, at.line + 1, at.seq, at.hash)

        def damage(reason: str) -> Damage:
            return Damage(at.line + 1, at.offset, length, reason, digest or sha256(raw or b""))

        decoded = "it is longer than any record" if raw is None else event_codec.decode_record(raw)
        if isinstance(decoded, str):
            yield damage(decoded)
            return
        record, proved = decoded
        if record.seq <= at.seq:
            yield damage(f"it repeats record {record.seq}")
            return
        if not proved:
            yield damage(f"record {record.seq} was changed: its hash does not match its content")
        elif record.seq != at.seq + 1:
            yield damage(f"{record.seq - at.seq - 1} records before record {record.seq} are missing")
        elif record.prev != at.hash:
            yield damage(f"record {record.seq} does not follow record {at.seq}: the chain is broken")
        self.position = Position(at.offset + length + 1, at.line + 1, record.seq, record.hash)
        yield LogRow(at.offset, length, record)


def read_strict(path: Path, *, whole: bool = True) -> tuple[Record, ...]:
    """Return all records, ``whole`` with blobs. Raises LogError at the first unexplained damage."""
    records, damage = read_lenient(path)
    if bad := unexplained(records, damage):
        raise LogError(
            f"The session log {path} is damaged at {bad[0]}. Nothing was changed. "
            "Review it with `ai-rails log verify`, and start a new session to go on."
        )
    if not whole:
        return records
    state = path.parent.parent.parent
    return tuple(full(record, state) for record in records)


def read_lenient(path: Path) -> tuple[tuple[Record, ...], tuple[Damage, ...]]:
    """Return the readable records and all damage. Raises LogError for an unreadable file."""
    found = list(Tail(path).read())
    return (
        tuple(item.record for item in found if isinstance(item, LogRow)),
        tuple(item for item in found if isinstance(item, Damage)),
    )


def verify(path: Path) -> Verification:
    """Check every line, hash and link. Raises LogError if the file cannot be read."""
    tail = Tail(path)
    last = -1
    count = 0
    damage: list[Damage] = []
    marks: list[Record] = []
    with opened_log(path) as file:
        for raw, length, digest in whole_lines(file):
            at = tail.position
            if raw is not None and (good := event_codec.follows(raw, at.seq + 1, at.hash)):
                tail.position = Position(at.offset + length + 1, at.line + 1, at.seq + 1, good)
                last = at.offset
                count += 1
                continue
            for item in tail.judge(raw, length, digest):
                if isinstance(item, Damage):
                    damage.append(item)
                    continue
                last = item.offset
                count += 1
                if isinstance(item.record.event, LogRecovered):
                    marks.append(item.record)
    bad = unexplained(marks, damage)
    recovered = tuple(item for item in damage if item not in bad)
    return Verification(count, bad, recovered, tail.position, last, _size(path) - tail.position.offset)


def unexplained(records: Sequence[Record], damage: Sequence[Damage]) -> tuple[Damage, ...]:
    """Return the damage that no LOG_RECOVERED names by place, length and hash."""
    if not damage:
        return ()
    marks = [mark for record in records if isinstance(mark := record.event, LogRecovered)]
    known = {(mark.offset, mark.bytes, mark.sha256) for mark in marks}
    return tuple(item for item in damage if (item.offset, item.length, item.sha256) not in known)


def damage_in_words(damages: Sequence[Damage]) -> tuple[str, ...]:
    """Return the damage in sentences, one for all lines of a newer version."""
    newer = [item for item in damages if item.is_newer]
    told = tuple(str(item) for item in damages if not item.is_newer)
    if not newer:
        return told
    many = f"and {len(newer) - 1} more lines: they were" if len(newer) > 1 else "it was"
    words = newer[0].reason.removeprefix("it was ")
    return f"line {newer[0].line} {many} {words}, and not read. This version writes nothing to the log.", *told


def full(record: Record, state: Path) -> Record:
    """Return ``record`` with its blobs' values put back. Raises LogError."""
    details = blobs.expand(record.details, state)
    return record if details is record.details else msgspec.structs.replace(record, details=details)


def with_large_values(record: Record, state: Path) -> Record:
    """Return a record with whole arrays and objects, for counting; large texts stay pointers."""
    try:
        details = blobs.expand(record.details, state, texts=False)
    except LogError:
        return record
    return record if details is record.details else msgspec.structs.replace(record, details=details)


def sessions(state: Path) -> tuple[SessionSummary, ...]:
    """Return the sessions, oldest first, with unreadable records but not without a readable log."""
    found = (session_summary(state / "sessions" / name / LOG_NAME) for name in session_ids(state))
    return tuple(filter(None, found))


def session_ids(state: Path) -> list[str]:
    """Return the ids of all sessions with a log, in order."""
    try:
        with os.scandir(state / "sessions") as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if (state / "sessions" / name / LOG_NAME).is_file())


def session_summary(path: Path) -> SessionSummary | None:
    """Return the summary of the log at ``path``, ``None`` if unreadable."""
    try:
        with opened_log(path) as file:
            first = next(rows(file), None)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4 * _PIECE))
            last = deque(rows(file), maxlen=1).pop() if first else None
    except LogError:
        return None
    if first is None or last is None:
        return SessionSummary(path.parent.name, path, "", "", "", "", 0, size)
    started = first.record
    ended = last.record
    task = started.event.task if isinstance(started.event, WorkflowStart) else ""
    return SessionSummary(
        session_id=path.parent.name,
        path=path,
        started=started.timestamp,
        last=ended.timestamp,
        task=task or started.message,
        outcome=ended.message if isinstance(ended.event, WorkflowEnd) else "",
        records=ended.seq,
        size=size,
    )


def rows(file: BinaryIO, at: int = 0) -> Iterator[LogRow]:
    """Yield the records from here on, at byte ``at``; damage is skipped."""
    for raw, length, _ in whole_lines(file):
        decoded = "" if raw is None else event_codec.decode_record(raw)
        if not isinstance(decoded, str):
            yield LogRow(at, length, decoded[0])
        at += length + 1


def opened_log(path: Path) -> BinaryIO:
    """Open a log. Raises LogError."""
    try:
        return os.fdopen(files.open_regular(str(path), os.O_RDONLY), "rb")
    except OSError as error:
        raise LogError(f"The session log {path} cannot be read: {error.strerror or error}") from error


def _size(path: Path) -> int:
    with opened_log(path) as file:
        return file.seek(0, os.SEEK_END)


def whole_lines(file: BinaryIO) -> Iterator[tuple[bytes | None, int, str]]:
    """Yield complete lines without newline, length and, if too long to hold, SHA-256."""
    while raw := file.readline(limits.LOG_LINE_BYTES + 1):
        if raw.endswith(b"\n"):
            yield raw[:-1], len(raw) - 1, ""
        elif len(raw) <= limits.LOG_LINE_BYTES:
            return
        else:
            import hashlib  # which loads OpenSSL

            digest = hashlib.sha256(raw)
            length = len(raw)
            while (raw := file.readline(_PIECE)) and not raw.endswith(b"\n"):
                digest.update(raw)
                length += len(raw)
            if not raw:
                return
            digest.update(raw[:-1])
            yield None, length + len(raw) - 1, digest.hexdigest()
