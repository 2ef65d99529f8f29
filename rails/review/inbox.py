"""Open questions, read from the logs of running sessions, and the way back: answers are left pending; the run rechecks
and logs them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.approval.answer import PageAnswer
from rails.approval.pending import PendingAnswers, is_being_written
from rails.approval.policy.file import read_policy
from rails.approval.queue import IN_PAGE
from rails.core import limits
from rails.core.builtin_tools import ASK_USER
from rails.core.errors import LogError
from rails.core.events.approval import ApprovalClosed, ApprovalOpened
from rails.core.events.base import type_of
from rails.core.events.changes import ToolExecutionResult
from rails.log import seek
from rails.log.actions import is_of_agent, result_of_person
from rails.log.reader import LOG_NAME, LogRow, Tail, full, read_lenient, session_ids, sessions
from rails.log.scan import tail_from
from rails.log.writer import SessionLog
from rails.projections.session import session_view
from rails.review.questions import ApprovalQuestion, ApprovalQuestions
from rails.review.reports.dry_run import rule_in_words

#: Sessions that are looked at for open questions: the newest.
_SESSIONS: Final = 50
#: Past sessions that a rule is tried on, the newest.
_TRIED: Final = 200
_POLL_S: Final = 0.03


class AnswerState(Struct, frozen=True):
    """The question's state, or "sent" (not taken yet), "taken" (another first), "stale", "unknown".
    ``mine``: the run took this answer.
    """

    state: str
    words: str
    by: str = ""
    mine: bool = False


class Inbox:
    """The questions of the project whose ``.rails`` folder is ``state``. Without ``key``, read-only."""

    def __init__(self, state: Path, key: bytes | None) -> None:
        self._state = state
        self._key = key
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Tail, ApprovalQuestions]] = {}

    def open(self, session_id: str) -> ApprovalQuestion | None:
        """Return the session's question that waits for an answer."""
        return self._questions(session_id).open

    def find(self, session_id: str, number: int) -> ApprovalQuestion | None:
        """Return a question of a session."""
        return self._questions(session_id).get(number)

    def waiting(self) -> Iterator[ApprovalQuestion]:
        """Yield the questions that wait for a person, the newest session first."""
        for session_id in session_ids(self._state)[::-1][:_SESSIONS]:
            question = self.open(session_id)
            if question and (is_being_written(self._state, session_id) or is_of_agent(self.asked(question))):
                yield question

    def listening(self, session_id: str) -> bool:
        """Return whether the run takes answers from another process."""
        return self._key is not None and PendingAnswers(self._state, session_id, self._key).listening

    def asked(self, question: ApprovalQuestion) -> ApprovalOpened:
        """Return the entire question. Raises LogError."""
        event = full(question.record, self._state).event
        assert isinstance(event, ApprovalOpened), "a question begins with this event"
        return event

    def answer(self, question: ApprovalQuestion, words: str, by: str) -> AnswerState:
        """Write the answer to an agent whose run has stopped. Raises LogError."""
        role = self.asked(question).agent
        closed = ApprovalClosed(f"answered: {words}", question.id, question.digest, question.number, "answered")
        said = result_of_person(words, by)
        result = ToolExecutionResult(
            ids=(question.id,), ok=True, text=said.text, tool=ASK_USER.name, facts=said.facts, duration_ms=0.0
        )
        with SessionLog.reopen(self._state, question.session_id) as log:
            log.append(closed, role)
            log.append(result, role)
        return AnswerState("answered", f"Saved. To continue: ai-rails run --resume {question.session_id}")

    def rule_words(self, asked: ApprovalOpened) -> str:
        """Return what the offered rule would have done in past sessions."""
        rule = asked.grant.rule if asked.grant else ""
        file = read_policy(rule.encode("utf-8", "replace"), "this session")
        if not file.rules or file.mistakes:
            return ""
        views = (
            session_view(*read_lenient(one.path), load=lambda record: full(record, self._state))
            for one in sessions(self._state)[-_TRIED:]
        )
        return rule_in_words(file.rules[0], views)

    def decide(self, session_id: str, number: int, answer: PageAnswer) -> AnswerState:
        """Leave ``answer`` for the run and wait briefly for its result."""
        question = self.find(session_id, number)
        if question is None:
            return AnswerState("unknown", "There is no such question.")
        if question.state != "open":
            return _outcome(question)
        if question.digest != answer.digest:
            return AnswerState("stale", "The question has changed. Look at it again.")
        if self._key is None or not (box := PendingAnswers(self._state, session_id, self._key)).listening:
            if self._key and is_of_agent(self.asked(question)):
                return self.answer(question, answer.reason if answer.choice == "feedback" else answer.choice, IN_PAGE)
            words = "The run has ended, so nothing was decided. ai-rails run --resume asks again."
            return AnswerState("withdrawn", words)
        if answer.do == "grant" and ((grant := self.asked(question).grant) is None or grant.rule != answer.rule):
            return AnswerState("stale", "The rule differs from the one shown.")
        if not box.place(number, answer.to_json()) and box.read(number) != answer.to_json():
            return self._settled(question, AnswerState("taken", "Somebody else answered first."))
        return self._settled(question, AnswerState("sent", "Saved; waiting for the run to pick it up.", mine=True))

    def hears(self, session_id: str) -> bool:
        """Return whether the session is a conversation waiting for a message."""
        return self._key is not None and PendingAnswers(self._state, session_id, self._key).hearing

    def say(self, session_id: str, words: str) -> AnswerState:
        """Leave a message for a conversation."""
        if self._key is None or not (box := PendingAnswers(self._state, session_id, self._key)).hearing:
            return AnswerState("withdrawn", "The conversation is not waiting for a message; nothing was sent.")
        if not box.say(words):
            return AnswerState("taken", "The last message was not picked up yet.")
        return AnswerState("sent", "Sent.", mine=True)

    def _settled(self, asked: ApprovalQuestion, so_far: AnswerState) -> AnswerState:
        deadline = time.monotonic() + limits.PAGE_DECISION_SECONDS
        while time.monotonic() < deadline:
            question = self.find(asked.session_id, asked.number)
            if question is not None and question.state != "open":
                return _outcome(question, mine=so_far.mine)
            time.sleep(_POLL_S)
        return so_far

    def _questions(self, session_id: str) -> ApprovalQuestions:
        with self._lock:
            if session_id not in self._known:
                self._known[session_id] = self._begin(session_id), ApprovalQuestions()
            tail, questions = self._known[session_id]
            try:
                for item in tail.read():
                    if isinstance(item, LogRow):
                        questions.add(item.record)
            except LogError:
                del self._known[session_id]
            return questions

    def _begin(self, session_id: str) -> Tail:
        log = self._state / "sessions" / session_id / LOG_NAME
        end = Tail(log, seek.end_of(log))  # first: what comes after it is read, whatever is not seen here
        number = seek.newest_of(log, type_of(ApprovalOpened))
        return tail_from(self._state, session_id, number) if number else end


def _outcome(question: ApprovalQuestion, *, mine: bool = False) -> AnswerState:
    return AnswerState(question.state, question.words, question.by, mine)
