"""Where the page's decisions go: the open questions of running sessions, and the way of an answer to its run.

Questions are read from the logs, so a server that was started a moment ago knows what waits, and two servers
agree. An answer is left in the session's letter box; the run takes it up, checks it again, and its log
says what became of it. Nothing here decides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rails.approval.answer import PageAnswer
from rails.core import details as d
from rails.core import limits
from rails.core.errors import LogError
from rails.core.requests import Json
from rails.log.answers import Answers, is_being_written
from rails.log.index import Index
from rails.log.reader import Row, Tail, full
from rails.log.search import session_ids
from rails.review.questions import Question, Questions

#: Sessions that are looked at for open questions: the newest.
_SESSIONS: Final = 50
_POLL_S: Final = 0.03


class Desk:
    """The questions of the project whose ``.rails`` folder is ``state``. Without ``key`` nothing can be decided."""

    def __init__(self, state: Path, index: Index, key: bytes | None) -> None:
        self._state, self._index, self._key = state, index, key
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Tail, Questions]] = {}

    def open(self, session_id: str) -> Question | None:
        """Return the question of a session that waits for an answer."""
        return self._questions(session_id).open

    def find(self, session_id: str, number: int) -> Question | None:
        """Return a question of a session."""
        return self._questions(session_id).get(number)

    def waiting(self) -> Iterator[Question]:
        """Yield what waits, in every session that is running, the newest session first."""
        for session_id in session_ids(self._state)[::-1][:_SESSIONS]:
            if is_being_written(self._state, session_id) and (question := self.open(session_id)):
                yield question

    def listening(self, session_id: str) -> bool:
        """Whether the session's run takes answers from a page."""
        return self._key is not None and Answers(self._state, session_id, self._key).listening

    def facts(self, question: Question) -> d.Details:
        """Return everything that is asked. Raises LogError."""
        return full(question.record, self._state).details

    def decide(self, session_id: str, number: int, answer: PageAnswer) -> tuple[int, dict[str, Json]]:
        """Leave ``answer`` for the run and wait for a moment what it says; return an HTTP status and the outcome."""
        question = self.find(session_id, number)
        if question is None:
            return 404, {"state": "unknown", "words": "There is no such question."}
        if question.state != "open":
            return 409, _outcome(question)
        if question.digest != answer.digest:
            return 409, {"state": "stale", "words": "What you answered is not what is asked now. Look at it again."}
        if self._key is None or not (box := Answers(self._state, session_id, self._key)).listening:
            words = "The run is not running, so nothing was decided. Go on with ai-rails run --resume; it asks again."
            return 409, {"state": "withdrawn", "words": words}
        if answer.do == "grant" and d.text(d.inner(self.facts(question), "grant"), "rule") != answer.rule:
            return 409, {"state": "stale", "words": "The rule is not the one that was shown."}
        if not box.place(number, answer.to_json()) and box.read(number) != answer.to_json():
            return 409, self._settled(session_id, number, "taken", "Somebody else answered first.")
        settled = self._settled(session_id, number, "sent", "Your answer is left for the run; it has not taken it yet.")
        return (202 if settled["state"] == "sent" else 200), settled

    def _settled(self, session_id: str, number: int, state: str, words: str) -> dict[str, Json]:
        """Wait until the log says what became of a question; else return what is given."""
        deadline = time.monotonic() + limits.PAGE_DECISION_SECONDS
        while time.monotonic() < deadline:
            question = self.find(session_id, number)
            if question is not None and question.state != "open":
                return _outcome(question)
            time.sleep(_POLL_S)
        return {"state": state, "words": words}

    def _questions(self, session_id: str) -> Questions:
        """Return the session's questions, up to the last line of its log."""
        with self._lock:
            if session_id not in self._known:
                self._known[session_id] = self._begin(session_id), Questions()
            tail, questions = self._known[session_id]
            try:
                for item in tail.read():
                    if isinstance(item, Row):
                        questions.add(item.record)
            except LogError:
                del self._known[session_id]
            return questions

    def _begin(self, session_id: str) -> Tail:
        """Return a reader that begins with the newest question, so that a long log is not read from its start."""
        # The card first: what it does not count yet is read, whatever the search has missed.
        card = self._index.card(session_id)
        found = self._index.search(f"type:APPROVAL_OPENED session:{session_id}", limit=1).hits
        return self._index.tail(session_id, found[0].record.seq if found else card.records + 1 if card else 1)


def _outcome(question: Question) -> dict[str, Json]:
    return {"state": question.state, "words": question.words, "by": question.by}
