"""What waits for an answer in the sessions that run, as it was when somebody last looked."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from rails.core.errors import RailsError
from rails.log.index.index import Index
from rails.projections.questions import ApprovalQuestion
from rails.review.inbox import Inbox


class Waiting:
    """The open questions below ``state``, which need not be there yet. Without ``key`` none can be answered."""

    def __init__(self, state: Path, key: bytes | None) -> None:
        self._state, self._key = state, key
        self._index: Index | None = None
        self.inbox: Inbox | None = None
        self.questions: tuple[ApprovalQuestion, ...] = ()
        self._lock = threading.Lock()
        self._closed = False

    def look(self) -> bool:
        """Look again, unless somebody is at it in another thread; return whether anything has changed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return not self._closed and self._look()
        finally:
            self._lock.release()

    def _look(self) -> bool:
        before = self.questions
        try:
            if self.inbox is None and self._state.is_dir():
                self._index = Index(self._state)
                self.inbox = Inbox(self._state, self._index, self._key)
            self.questions = tuple(self.inbox.waiting()) if self.inbox else ()
        except (RailsError, OSError, sqlite3.Error):  # not now; the next look may be luckier
            self.questions = ()
        return _names(before) != _names(self.questions)

    def next(self, session_id: str, shown: ApprovalQuestion | None) -> ApprovalQuestion | None:
        """Return what the session waits for, else the question behind the one that is shown, if any waits."""
        found = [one for one in self.questions if shown is None or _names((one,)) != _names((shown,))]
        behind = [one for one in found if shown and one.session_id < shown.session_id]
        here = [one for one in found if one.session_id == session_id]
        return next(iter(here or behind or found), None)

    def close(self) -> None:
        """Close the index, once nobody is looking."""
        with self._lock:
            self._closed = True
            if self._index:
                self._index.close()


def _names(questions: tuple[ApprovalQuestion, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((question.session_id, question.number) for question in questions)
