"""Session stats, kept in a deletable file each and counted on from there."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from rails.core import atomic_file
from rails.core.errors import LogError
from rails.core.events.changes import GateVerdict
from rails.core.events.record import Record
from rails.log import files
from rails.log.files import SESSION_ID
from rails.log.reader import LOG_NAME, LogRow, Position, Tail, full, opened_log, session_ids, with_large_values
from rails.log.session_stats import SessionStats

SUMMARY_NAME: Final = "summary.json"
#: Changes with every change of the stats; another version is counted again.
VERSION: Final = 4
#: Records that are counted again rather than writing the file for them.
_FEW: Final = 50
#: Bytes at the end of a line that have the record's hash.
_PROOF: Final = 80


class _Counted(Struct, frozen=True):
    """Stats up to a position; ``state``: log's inode, size, change time."""

    state: tuple[int, int, int]
    position: Position
    stats: SessionStats


class Summaries:
    """The stats of the sessions below ``state``. Thread-safe; results never change."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._lock = threading.Lock()
        self._known: dict[str, _Counted] = {}

    def newest(self, limit: int) -> list[SessionStats]:
        """Return the newest sessions' stats, newest first; an unreadable one has only its name."""
        found = []
        for session_id in session_ids(self.state)[::-1][:limit]:
            try:
                found.append(self.get(session_id))
            except LogError:
                found.append(SessionStats(session_id, damage=1))
        return found

    def get(self, session_id: str) -> SessionStats:
        """Return a session's current stats. Raises LogError if there is none."""
        folder = self.state / "sessions" / session_id
        if not SESSION_ID.fullmatch(session_id):
            raise LogError(f"{session_id[:80]!r} is not the name of a session")
        with self._lock:
            known = self._known.get(session_id) or _load(folder, session_id)
            now = _count_on(folder, session_id, known)
            self._known[session_id] = now
        if now.position.seq - (known.position.seq if known else 0) > _FEW:
            _store(folder, now)
        return now.stats


def keep_summary(state: Path, session_id: str) -> None:
    """Count a session's log and keep its stats; a failing disk is ignored."""
    folder = state / "sessions" / session_id
    try:
        _store(folder, _count_on(folder, session_id, _load(folder, session_id)))
    except LogError:
        return


def _count_on(folder: Path, session_id: str, known: _Counted | None) -> _Counted:
    log = folder / LOG_NAME
    with opened_log(log) as file:
        facts = os.fstat(file.fileno())
        state = facts.st_ino, facts.st_size, facts.st_mtime_ns
        if known and known.state == state:
            return known
        if known is None or not _goes_on(file, known, facts):
            known = _Counted(state, Position(), SessionStats(session_id))
    tail = Tail(log, known.position)
    stats = copy.deepcopy(known.stats)
    for item in tail.read():
        if isinstance(item, LogRow):
            stats.add(_whole(item.record, folder.parent.parent))
        elif item.is_newer:
            stats.newer += 1
        else:
            stats.damage += 1
    return _Counted(state, tail.position, stats)


def _whole(record: Record, state: Path) -> Record:
    if record.kind is GateVerdict:
        with contextlib.suppress(LogError):
            return full(record, state)
    return with_large_values(record, state)


def _goes_on(file: BinaryIO, known: _Counted, facts: os.stat_result) -> bool:
    inode, size, _ = known.state
    if inode != facts.st_ino or size >= facts.st_size:
        return False
    file.seek(max(0, known.position.offset - _PROOF))
    return known.position.hash.encode() in file.read(_PROOF)


def _load(folder: Path, session_id: str) -> _Counted | None:
    """Return the file's stats; ``None`` for no file, another version or a damaged one."""
    try:
        with files.folder(folder) as own:
            data = files.read_regular_file(own, SUMMARY_NAME)
        version, state, offset, line, seq, digest, stats = json.loads(data)
        if version != VERSION:
            return None
        inode, size, changed = state
        return _Counted(
            (inode, size, changed),
            Position(offset, line, seq, digest),
            SessionStats(**{**stats, "session_id": session_id}),
        )
    except (OSError, ValueError, TypeError):
        return None


def _store(folder: Path, counted: _Counted) -> None:
    at = counted.position
    value = [VERSION, counted.state, at.offset, at.line, at.seq, at.hash, counted.stats.to_json()]
    try:
        with files.folder(folder):
            atomic_file.replace_file(folder / SUMMARY_NAME, json.dumps(value).encode(), durable=False)
    except OSError:
        return
