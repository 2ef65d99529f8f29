"""A disposable index over all session logs: search by word, session stats, and windows of a session.

Everything in it follows from the logs. It is fed incrementally, from where it stopped in each log;
deleting the file changes nothing but speed, and whatever is wrong with it (another version, a log that
was replaced, a damaged file) is answered by building it again. It is never migrated, and what a search
or a window shows is read from the log itself.

Rows are numbered ``session << 32 | record``, so that "newest first" is the order of the rows and a
session is a range of them. The full-text table keeps no text (FTS5 "contentless"): it is about as large
as the log. Ranking is left out on purpose; at a million records it takes seconds where the order of the
rows takes none. Where the disk refuses the file, the index lives in memory. What it cannot say (a piece of text,
words where SQLite has no FTS5, records that are not taken in yet) is read from the logs and judged one by one
(:mod:`rails.log.index.matching`).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rails.core import limits, lock
from rails.core.closing import Closing
from rails.core.dataclass import dataclass, replace
from rails.log import event_codec, files
from rails.log.files import SESSION_ID
from rails.log.index import feed, seek
from rails.log.index.lines import LogLines, SearchHit
from rails.log.index.matching import RecordMatcher
from rails.log.index.query import Query, parse_query, to_fts
from rails.log.index.turns import TurnSpan
from rails.log.reader import LOG_NAME, LogRow, Position, Tail, session_ids, session_summary
from rails.log.session_stats import SessionStats

INDEX_NAME: Final = "index.db"
_LOCK: Final = "index.lock"
#: How long to wait for a process that makes or replaces the index, in seconds; that takes it a moment.
_MAKING_SECONDS: Final = 10.0
_MAKING: Final = "index.making"
_LAST: Final = 1 << 62
#: Rows, and bytes of a log, that are read at once where each record has to be looked at.
_READ: Final = 2_000
_BLOCK: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of a search. ``next`` is what to pass as ``before`` for the page after it, "" at the end."""

    hits: tuple[SearchHit, ...]
    next: str


class Index(Closing):
    """The index of the project whose ``.rails`` folder is ``state``; use it in ``with``, from any thread.

    ``words=False`` does without full-text search even where SQLite has it.
    """

    def __init__(self, state: Path, *, words: bool = True) -> None:
        self.state = state
        self.complete = False
        #: Whether the last refresh left something to be taken in because its time was over.
        self.behind = False
        self._path: Path | None = state / INDEX_NAME
        self._words = words
        self._lock = threading.RLock()
        self._inode = 0
        self._db = self._open()

    @property
    def has_words(self) -> bool:
        """Whether search by word uses the index."""
        with self._lock:
            return feed.has_words(self._db)

    def refresh(self, budget_s: float = float("inf")) -> bool:
        """Take in what the logs have got since the last time, for about ``budget_s`` seconds.

        Returns, and keeps in ``complete``, whether everything is in. Where another process is at it,
        nothing is done. Raises LogError for a log that cannot be read.
        """
        with self._lock, self._only_one() as mine:
            deadline = time.monotonic() + budget_s
            try:
                if mine and self._replaced():
                    self._db.close()
                    self._db = self._open()
                self.complete = mine and feed.feed(self._db, self.state, deadline)
            except (feed.StaleIndexError, FileNotFoundError, sqlite3.DatabaseError):
                self.complete = self._fed_anew(deadline)
            self.behind = mine and not self.complete
            return self.complete

    def _replaced(self) -> bool:
        """Whether somebody has built the index again, so that the file that is open here is no longer it."""
        return self._path is not None and self._path.stat().st_ino != self._inode

    def _fed_anew(self, deadline: float) -> bool:
        try:
            self._rebuild()
            return feed.feed(self._db, self.state, deadline)
        except (OSError, sqlite3.DatabaseError):  # the disk refuses
            self._db = self._in_memory()
            return feed.feed(self._db, self.state, deadline)

    def cards(self, limit: int = limits.PAGE_ROWS) -> tuple[SessionStats, ...]:
        """Return the stats of the newest sessions, the newest first.

        A session that is not taken in yet has stats with its task, times and outcome only.
        """
        newest = session_ids(self.state)[::-1][:limit]
        known = dict(self._rows("SELECT session_id, card FROM sessions WHERE offset"))
        return tuple(
            SessionStats(**json.loads(known[session_id])) if session_id in known else self._bare_card(session_id)
            for session_id in newest
        )

    def card(self, session_id: str) -> SessionStats | None:
        """Return the stats of one session."""
        rows = self._rows("SELECT card FROM sessions WHERE session_id = ?", session_id)
        return SessionStats(**json.loads(rows[0][0])) if rows else None

    def standing(self, session_id: str) -> tuple[SessionStats, float] | None:
        """Return the stats of a session and the share of its log that they are of; ``records`` is right at once."""
        log = self._log_path(session_id)
        if not SESSION_ID.fullmatch(session_id) or not log.is_file():
            return None
        rows = self._rows("SELECT card, offset FROM sessions WHERE session_id = ?", session_id)
        card = SessionStats(**json.loads(rows[0][0])) if rows else SessionStats(session_id)
        taken, size = rows[0][1] if rows else 0, log.stat().st_size
        if taken >= size:
            return card, 1.0
        whole = self._bare_card(session_id)
        if whole.records <= card.records:
            return card, 1.0  # the last line is still being written
        card.task = card.task or whole.task
        card.records, card.outcome = whole.records, whole.outcome
        return card, taken / size

    def turns(self, session_id: str, most: int = 200) -> tuple[TurnSpan, ...]:
        """Return the turns of a session in order, in at most ``most`` groups of about the same length."""
        base = self._base(session_id)
        if base is None:
            return ()
        inside = base, base + (1 << feed.SHIFT)
        ((low, high),) = self._rows("SELECT min(number), max(number) FROM turns WHERE id > ? AND id < ?", *inside)
        if high is None:
            return ()
        size = max(1, -(-(high - low + 1) // most))
        sql = (
            "SELECT (number - ?) / ?, flags, count(*), min(number), max(number), min(id) FROM turns"
            " WHERE id > ? AND id < ? GROUP BY 1, 2 ORDER BY 1, 4"
        )
        return TurnSpan.of_rows(self._rows(sql, low, size, *inside), base)

    def turn_of(self, hit: SearchHit) -> int:
        """Return the number of the turn that a record belongs to, 0 for none."""
        base = self._base(hit.session_id) or 0
        sql = "SELECT number FROM turns WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1"
        rows = self._rows(sql, base, base + hit.record.seq)
        return int(rows[0][0]) if rows else 0

    def window(self, session_id: str, first: int, count: int = 200) -> tuple[SearchHit, ...]:
        """Return the records of a session from number ``first`` on, at most ``count``, large values as pointers.

        What is not taken in yet is read from the log.
        """
        first, count = max(first, 1), min(count, limits.PAGE_ROWS)
        hits: list[SearchHit] = []
        base = self._base(session_id)
        if base is not None:
            sql = "SELECT id, offset, length FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
            hits += self._hits(self._rows(sql, base + first, base + (1 << feed.SHIFT), count))
        if len(hits) < count:
            first = hits[-1].record.seq + 1 if hits else first
            hits += itertools.islice(self._beyond(session_id, first), count - len(hits))
        return tuple(hits)

    def tail(self, session_id: str, first: int) -> Tail:
        """Return a reader of a session's log that begins with record ``first``, or behind the last there is."""
        log = self._log_path(session_id)
        end = seek.end_of(log)  # before it is looked for: what comes meanwhile is read
        found = self.window(session_id, first, 1) if SESSION_ID.fullmatch(session_id) else ()
        if not found:
            return Tail(log, end)
        seq = found[0].record.seq - 1
        return Tail(log, Position(found[0].offset, seq, seq, found[0].record.prev))

    def next_failure(self, session_id: str, after: int, *, back: bool = False) -> int | None:
        """Return the number of the next record behind ``after`` in which something failed; ``back``: before it."""
        base = self._base(session_id)
        if base is None:
            return None
        low, high = (base, base + after) if back else (base + after, base + (1 << feed.SHIFT))
        order = "DESC" if back else "ASC"
        sql = f"SELECT id FROM records WHERE failed AND id > ? AND id < ? ORDER BY id {order} LIMIT 1"  # noqa: S608
        rows = self._rows(sql, low, high)
        return int(rows[0][0]) - base if rows else None

    def search(
        self, line: str, *, limit: int = 50, before: str = "", refresh_s: float = 0.2, beyond: bool = True
    ) -> SearchPage:
        """Return the newest records that match a search line (see :mod:`rails.log.index.query`), from ``before`` on.

        What is new is taken in first, for at most about ``refresh_s`` seconds; what is not in then is read
        from the logs, so that the answer is never short; without ``beyond`` it is left out. Raises UsageError
        for a line that cannot be understood.
        """
        query, limit = parse_query(line), min(limit, limits.PAGE_ROWS)
        if refresh_s > 0:
            self.refresh(refresh_s)
        try:
            hits = list(itertools.islice(self._found(query, before, limit, beyond=beyond), limit))
        except sqlite3.DatabaseError:
            with self._lock:
                self.complete = self._fed_anew(time.monotonic() + refresh_s)
            hits = list(itertools.islice(self._found(query, before, limit, beyond=beyond), limit))
        return SearchPage(tuple(hits), hits[-1].place if hits and len(hits) == limit else "")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _open(self) -> sqlite3.Connection:
        try:
            with self._making():
                try:
                    return self._connected()
                except (feed.StaleIndexError, sqlite3.DatabaseError):
                    return self._rebuilt()
        except (OSError, sqlite3.DatabaseError):  # no such folder, or no file to be had
            return self._in_memory()

    def _in_memory(self) -> sqlite3.Connection:
        self._path = None
        return feed.open_index(None, words=self._words)

    @contextlib.contextmanager
    def _making(self) -> Iterator[None]:
        """Wait until nobody else makes or replaces the file: who came second would take the first one's away."""
        with lock.held(self.state / _MAKING, _MAKING_SECONDS) as had:
            if not had:
                raise TimeoutError(f"another process is building {self._path} and does not finish")
            yield

    def _rebuilt(self) -> sqlite3.Connection:
        if self._path is not None:
            feed.remove(self._path)
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        db = feed.open_index(self._path, words=self._words)
        self._inode = self._path.stat().st_ino if self._path else 0
        return db

    def _rebuild(self) -> None:
        self._db.close()
        if self._path is None:
            self._db = self._rebuilt()
            return
        try:
            with self._making():
                self._db = self._rebuilt()
        except TimeoutError:
            self._path = None
            self._db = self._rebuilt()

    @contextlib.contextmanager
    def _only_one(self) -> Iterator[bool]:
        """Hold the feeders' lock, or say that another process does."""
        if self._path is None:
            yield True
            return
        with lock.held(self.state / _LOCK) as had:
            yield had

    def _rows(self, sql: str, *values: int | str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def _base(self, session_id: str) -> int | None:
        rows = self._rows("SELECT number FROM sessions WHERE session_id = ?", session_id)
        return int(rows[0][0]) << feed.SHIFT if rows else None

    def _found(self, query: Query, before: str, limit: int, *, beyond: bool) -> Iterator[SearchHit]:
        """Yield what matches, the newest first: from the index, and before it what a session has beyond it."""
        matcher = RecordMatcher(query, self.state)
        if self.complete or not beyond:
            yield from self._indexed(query, matcher, before, limit)
            return
        newest, _, number = before.rpartition(":")
        for session_id in reversed(session_ids(self.state)):
            if query.takes_session(session_id) and (not newest or session_id <= newest):
                below = int(number) if session_id == newest and number.isdecimal() else _LAST
                yield from self._found_in(session_id, query, matcher, below, limit)

    def _found_in(
        self, session_id: str, query: Query, matcher: RecordMatcher, below: int, limit: int
    ) -> Iterator[SearchHit]:
        """Yield what matches of one session, some of which is not in the index."""
        new: deque[SearchHit] = deque(maxlen=limit)
        edge = below  # what somebody takes into the index meanwhile is not found twice
        for hit in self._beyond(session_id, 1):
            edge = min(edge, hit.record.seq)
            if hit.record.seq >= below:
                break
            if matcher.takes(hit.record):
                new.append(hit)
        yield from reversed(new)
        yield from self._indexed(replace(query, sessions=(session_id,)), matcher, f"{session_id}:{edge}", limit)

    def _indexed(self, query: Query, matcher: RecordMatcher, before: str, limit: int) -> Iterator[SearchHit]:
        """Yield what matches of the rows in the index; what SQL cannot decide is decided by each record."""
        words = to_fts(query) if self.has_words else ""
        decided = not query.pieces and (bool(words) or not (query.phrases or query.facets))
        source, row = ("words w JOIN records r ON r.id = w.rowid", "w.rowid") if words else ("records r", "r.id")
        where: list[str] = [f"{row} < ?"]
        values: list[int | str] = [self._place(before) if before else _LAST]
        for test, value in self._tests(query, words, row):
            where.append(test)
            values += value
        # Only fixed words are put together here; every value is bound.
        sql = f"SELECT r.id, r.offset, r.length FROM {source} WHERE {' AND '.join(where)} ORDER BY {row} DESC LIMIT ?"  # noqa: S608
        count = limit if decided else _READ
        while rows := self._rows(sql, *values, count):
            yield from (
                hit for hit in self._hits(rows, None if decided else matcher) if decided or matcher.takes(hit.record)
            )
            if len(rows) < count:
                return
            values[0] = rows[-1][0]

    def _tests(self, query: Query, words: str, row: str) -> Iterator[tuple[str, list[int | str]]]:
        """Yield the conditions of a search and their values."""
        if words:
            yield "words MATCH ?", [words]
        if query.after or query.before:
            last = feed.clock(query.before) if query.before else _LAST
            yield "r.clock >= ? AND r.clock < ?", [feed.clock(query.after), last]
        for takes, sessions in (("", query.sessions), ("NOT ", query.not_sessions)):
            if sessions:
                bases = [base for session_id in sessions if (base := self._base(session_id)) is not None]
                tests = " OR ".join([f"({row} >= ? AND {row} < ?)" for _ in bases] or ["0"])
                yield f"{takes}({tests})", [edge for base in bases for edge in (base, base + (1 << feed.SHIFT))]

    def _place(self, before: str) -> int:
        session_id, _, number = before.rpartition(":")
        base = self._base(session_id)
        return min(base + int(number), _LAST) if base is not None and number.isdecimal() else _LAST

    def _hits(self, rows: Sequence[tuple[Any, ...]], matcher: RecordMatcher | None = None) -> Iterator[SearchHit]:
        """Read the records of rows (number, offset, length); what is no longer in its log is left out.

        With ``matcher``, lines in which it sees at once that they cannot match are left out, and the logs are read
        in blocks, backwards.
        """
        with contextlib.ExitStack() as stack:
            logs: dict[int, LogLines] = {}
            for number, offset, length in rows:
                base, seq = number >> feed.SHIFT, number & ((1 << feed.SHIFT) - 1)
                if base not in logs:
                    logs[base] = self._log(base, stack)
                line = logs[base].line(offset, length, _BLOCK if matcher else 0)
                if not line or (matcher and not matcher.may_take(line)):
                    continue
                decoded = event_codec.decode_record(line)
                if not isinstance(decoded, str) and decoded[0].seq == seq:
                    yield SearchHit(logs[base].session_id, offset, length, decoded[0], b'"blob":' not in line)

    def _beyond(self, session_id: str, first: int) -> Iterator[SearchHit]:
        """Yield the records from number ``first`` on that the log has and the index has not."""
        log = self._log_path(session_id)
        if not SESSION_ID.fullmatch(session_id) or not log.is_file():
            return
        rows = self._rows("SELECT offset, line, seq, hash FROM sessions WHERE session_id = ?", session_id)
        tail = Tail(log, seek.before_record(log, first, Position(*rows[0]) if rows else Position()))
        for item in tail.read():
            if isinstance(item, LogRow) and item.record.seq >= first:
                yield SearchHit(session_id, item.offset, item.length, item.record)

    def _log_path(self, session_id: str) -> Path:
        return self.state / "sessions" / session_id / LOG_NAME

    def _bare_card(self, session_id: str) -> SessionStats:
        found = session_summary(self._log_path(session_id))
        if found is None:
            return SessionStats(session_id)
        outcome = "ended" if found.outcome else ""
        return SessionStats(session_id, found.started, found.last, found.task, outcome, found.outcome, found.records)

    def _log(self, number: int, stack: contextlib.ExitStack) -> LogLines:
        session_id = str(self._rows("SELECT session_id FROM sessions WHERE number = ?", number)[0][0])
        try:
            descriptor = files.open_regular(str(self._log_path(session_id)), os.O_RDONLY)
        except OSError:
            return LogLines(session_id, -1)
        stack.callback(os.close, descriptor)
        return LogLines(session_id, descriptor)
