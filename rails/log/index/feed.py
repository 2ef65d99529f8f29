"""Feeding the index: tables, watermarks, and the way of a record into them. See :mod:`rails.log.index.index`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rails.core.dataclass import dataclass
from rails.log import files
from rails.log.index.matching import blob_text, with_large_values
from rails.log.index.query import EVERY_RECORD, facet_word
from rails.log.index.terms import searchable_words
from rails.log.index.turns import TurnMarks
from rails.log.reader import LOG_NAME, Damage, LogRow, Position, Tail, session_ids
from rails.log.session_stats import SessionStats

#: Changes with every change of the tables, of the stats or of what is searchable; another version is built again.
VERSION: Final = 5
#: A row's number is its session's number, shifted by so many bits, and its record's number.
SHIFT: Final = 32
_BATCH: Final = 1_000
_TABLES: Final = """
CREATE TABLE sessions (number INTEGER PRIMARY KEY, session_id TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,
  offset INTEGER NOT NULL, line INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, card TEXT NOT NULL);
CREATE TABLE records (id INTEGER PRIMARY KEY, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  clock INTEGER NOT NULL, failed INTEGER NOT NULL);
CREATE INDEX failed ON records (id) WHERE failed;
CREATE TABLE turns (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, flags TEXT NOT NULL);
"""
_WORDS: Final = (
    "CREATE VIRTUAL TABLE words USING fts5(body, parts, facets, content='', columnsize=0, "
    "tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\")"
)


class StaleIndexError(Exception):
    """A log was replaced or removed, or the index is of another version: it has to be built again."""


@dataclass(slots=True)
class _Session:
    number: int
    session_id: str
    inode: int
    position: Position
    card: SessionStats


def open_index(path: Path | None, *, words: bool) -> sqlite3.Connection:
    """Open the index file, or one in memory for ``None``; make its tables if it is new.

    Raises StaleIndexError for another version's file, OSError where a link stands in its place, and
    sqlite3.DatabaseError for a damaged one.
    """
    if path is not None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
    db = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False, timeout=5)
    try:
        # Not synced: after a power cut the file may be damaged, and is then built again.
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA mmap_size = 268435456;")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            _make_tables(db, words=words)
        elif version != VERSION or has_words(db) is not (words and _fts_exists()):
            raise StaleIndexError
    except BaseException:
        db.close()
        raise
    return db


def has_words(db: sqlite3.Connection) -> bool:
    """Whether this index has the full-text table."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone() is not None


def clock(timestamp: str) -> int:
    """Return a record's time, or the beginning of one, as a number that sorts: its digits without the century."""
    return int(re.sub(r"\D", "", timestamp)[2:20].ljust(18, "0") or "0")


def feed(db: sqlite3.Connection, state: Path, deadline: float) -> bool:
    """Take in what the logs have got since the last time; return whether all of it is in.

    Raises StaleIndexError, LogError and sqlite3.DatabaseError.
    """
    known = {session.session_id: session for session in _sessions(db)}
    current = session_ids(state)
    if not known.keys() <= set(current) or any(_replaced(state, session) for session in known.values()):
        raise StaleIndexError
    feeder = _Feeder(db, state)
    for session_id in current:
        if session_id not in known:
            inode = _log(state, session_id).stat().st_ino
            known[session_id] = _Session(len(known) + 1, session_id, inode, Position(), SessionStats(session_id))
            feeder.record_session(known[session_id])
    db.commit()
    # The newest first: that is what is looked at. ``all`` stops where the time is over.
    return all(feeder.feed(known[session_id], deadline) for session_id in reversed(current))


def _make_tables(db: sqlite3.Connection, *, words: bool) -> None:
    db.executescript(_TABLES)
    if words:
        with contextlib.suppress(sqlite3.OperationalError):  # this SQLite has no FTS5
            db.execute(_WORDS)
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.commit()


def _fts_exists() -> bool:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute(_WORDS)
        except sqlite3.OperationalError:
            return False
    return True


def _sessions(db: sqlite3.Connection) -> list[_Session]:
    rows = db.execute("SELECT number, session_id, inode, offset, line, seq, hash, card FROM sessions").fetchall()
    return [
        _Session(number, name, inode, Position(offset, line, seq, digest), SessionStats(**json.loads(card)))
        for number, name, inode, offset, line, seq, digest, card in rows
    ]


def _log(state: Path, session_id: str) -> Path:
    return state / "sessions" / session_id / LOG_NAME


def _replaced(state: Path, session: _Session) -> bool:
    found = _log(state, session.session_id).stat()
    return found.st_ino != session.inode or found.st_size < session.position.offset


class _Feeder:
    """Takes records in, in batches that are committed together with the place up to which they go."""

    def __init__(self, db: sqlite3.Connection, state: Path) -> None:
        self._db, self._state = db, state
        self._with_words = has_words(db)
        self._load = blob_text(state)

    def feed(self, session: _Session, deadline: float) -> bool:
        """Take in the new records of one log; return whether all are in."""
        log = _log(self._state, session.session_id)
        while log.stat().st_size > session.position.offset:
            if time.monotonic() > deadline:
                return False
            tail = Tail(log, session.position)
            batch = list(tail.read(_BATCH))
            if tail.position == session.position:
                break  # the last line is still being written
            session.position = tail.position
            self._store(session, batch)
        return True

    def record_session(self, session: _Session) -> None:
        """Store how far a session is taken in; at first, that gives it its number."""
        at, card = session.position, json.dumps(session.card.to_json())
        own = (session.number, session.session_id, session.inode, at.offset, at.line, at.seq, at.hash, card)
        self._db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", own)

    def _store(self, session: _Session, batch: Sequence[LogRow | Damage]) -> None:
        rows, words, base = [], [], session.number << SHIFT
        turns = TurnMarks(self._last_turn(base), base)
        for item in batch:
            if isinstance(item, Damage):
                session.card.damage += not item.is_newer
                session.card.newer += item.is_newer
                continue
            record = with_large_values(item.record, self._state)
            found = searchable_words(record, self._load)
            number = session.number << SHIFT | record.seq
            failed = ("is", "failed") in found.facets
            rows.append((number, item.offset, item.length, clock(record.timestamp), failed))
            facets = " ".join([EVERY_RECORD, *sorted(facet_word(*facet) for facet in found.facets)])
            words.append((number, found.body, found.parts, facets))
            session.card.add(record)
            turns.add(record)
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO turns VALUES (?, ?, ?)", turns.rows())
            self._db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", rows)
            if self._with_words:
                self._db.executemany("INSERT INTO words (rowid, body, parts, facets) VALUES (?, ?, ?, ?)", words)
            self.record_session(session)

    def _last_turn(self, base: int) -> tuple[int, int, str] | None:
        sql = "SELECT id, number, flags FROM turns WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1"
        found: tuple[int, int, str] | None = self._db.execute(sql, (base, base + (1 << SHIFT))).fetchone()
        return found


def remove(path: Path) -> None:
    """Remove an index file and what SQLite keeps beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with contextlib.suppress(FileNotFoundError), files.folder(path.parent) as folder:
            os.unlink(name, dir_fd=folder)
