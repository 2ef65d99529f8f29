"""The sessions of a project, opened on demand; views are cached while their log is unchanged."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.approval.pending import is_being_written
from rails.config.prices import Prices, load_price_file
from rails.core.errors import LogError, UsageError
from rails.core.events.record import Record
from rails.core.text import one_line
from rails.log.files import SESSION_ID
from rails.log.reader import LOG_NAME, Damage, LogRow, Tail, damage_in_words, full, session_ids, verify
from rails.log.session_stats import SessionStats
from rails.log.summaries import Summaries
from rails.projections.common import SessionView, TurnView
from rails.projections.session import SessionFold, outline, session_view
from rails.review.reports.grouped import GROUPS, REPORT_SESSIONS, ReviewReport, count_sessions
from rails.review.reports.line_history import LineHistory, line_history, writes
from rails.review.reports.morning import denied_answers, morning
from rails.review.reports.sessions import chosen

#: Records of all views that are kept, roughly: a view holds the texts of its session.
_KEPT_BYTES: Final = 64_000_000
_CARDS: Final = 5_000


class SessionList:
    """The sessions below ``state``. Thread-safe. ``prices`` is the user's file."""

    def __init__(self, state: Path, prices: Path | None = None) -> None:
        self.state = state
        self.summaries = Summaries(state)
        self._prices = prices
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[int, SessionView]] = OrderedDict()

    def prices(self) -> Prices:
        """Return the prices. Raises UsageError for a bad file."""
        return load_price_file(self._prices) if self._prices else Prices()

    def view(self, session_id: str) -> SessionView:
        """Return a session's view. Raises UsageError for an unknown one, LogError."""
        log = self._log(session_id)
        size = log.stat().st_size
        with self._lock:
            known = self._kept.get(session_id)
        if known and known[0] == size:
            return known[1]
        view = self._fold(log)
        self._keep(session_id, size, view)
        return view

    def denied(self, session_id: str) -> list[tuple[str, str]]:
        """Return agents and the calls denied because nobody was there, as answers. Raises UsageError for none."""
        answers = denied_answers(self.view(session_id))
        if not answers:
            raise UsageError(f"Nothing was denied in session {session_id} because nobody was there.")
        return answers

    def outlined(self, session_id: str) -> SessionView:
        """Return a session of any length, turns without texts. Raises UsageError, LogError."""
        return self._fold(self._log(session_id), outline)

    def turns(self, session_id: str) -> Iterator[TurnView]:
        """Yield whole turns one by one. Raises UsageError, LogError."""
        yield from SessionFold(self._whole).turns(_Reading(self._log(session_id)))

    def _fold(self, log: Path, keep: Callable[[TurnView], TurnView | None] | None = None) -> SessionView:
        reading = _Reading(log)
        view = session_view(reading, load=self._whole, keep=keep)
        return replace(view, damage=damage_in_words(reading.damage)) if reading.damage else view

    def views(self, names: Sequence[str]) -> Iterator[SessionView]:
        """Yield sessions one at a time, without unreadable ones."""
        for name in names:
            try:
                yield self.view(name)
            except (LogError, UsageError):
                continue

    def cards(self, line: str = "") -> tuple[SessionStats, ...]:
        """Return the stats that a line matches, newest first. Raises UsageError."""
        return chosen(self.summaries.newest(_CARDS), line)

    def report(self, name: str, line: str = "") -> ReviewReport:
        """Return a report over the newest sessions that a line matches. Raises UsageError."""
        names = [card.session_id for card in self.cards(line)] if line.strip() else session_ids(self.state)[::-1]
        return self.report_of(name, names[:REPORT_SESSIONS][::-1])

    def report_of(self, name: str, names: Iterable[str]) -> ReviewReport:
        """Return a report over these sessions, in order. Raises UsageError."""
        if name not in GROUPS:
            raise UsageError(f"Sessions cannot be counted by {one_line(name)!r}, only by {', '.join(GROUPS)}.")
        return count_sessions(name, self.views(list(names)), self.prices())

    def morning(self, line: str) -> ReviewReport:
        """Return the morning report. Raises UsageError."""
        cards = self.cards(line)[:REPORT_SESSIONS]
        names = [card.session_id for card in cards]
        whole = {name: self._verifies(name) for name in names}
        running = [name for name in names if is_being_written(self.state, name)]
        return morning(cards, self.prices(), whole, running, line)

    def _verifies(self, session_id: str) -> bool:
        try:
            return bool(verify(self._log(session_id)))
        except (LogError, UsageError):
            return False

    def why(self, path: str, line: int, current_sha256: str | None = None) -> LineHistory:
        """Return where a line of a file comes from."""
        views = []
        for name in session_ids(self.state):
            with contextlib.suppress(LogError):
                views.append(self._fold(self._log(name), lambda turn: turn if writes(turn, path) else None))
        return line_history(views, path, line, current_sha256)

    def _log(self, session_id: str) -> Path:
        log = self.state / "sessions" / session_id / LOG_NAME
        if not SESSION_ID.fullmatch(session_id) or not log.is_file():
            raise UsageError(f"There is no session {one_line(session_id)!r}. ai-rails review lists them.")
        return log

    def _whole(self, record: Record) -> Record:
        try:
            return full(record, self.state)
        except LogError:
            return record

    def _keep(self, session_id: str, size: int, view: SessionView) -> None:
        with self._lock:
            self._kept[session_id] = (size, view)
            self._kept.move_to_end(session_id)
            while len(self._kept) > 1 and sum(kept for kept, _ in self._kept.values()) > _KEPT_BYTES:
                self._kept.popitem(last=False)


class _Reading:
    """The records of a log, read lazily; ``damage`` so far."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.damage = list[Damage]()

    def __iter__(self) -> Iterator[Record]:
        for item in Tail(self._log).read():
            if isinstance(item, LogRow):
                yield item.record
            else:
                self.damage.append(item)
