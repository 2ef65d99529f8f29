"""One queue for terminal and page: the first valid answer decides, exactly once.

A question is logged (APPROVAL_OPENED); all answers compete for its one place in the box. Answers that are not genuine,
or for other bytes, are dropped. An edit leads to a new question with its own digest. A question that expires is no
denial: the run pauses.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from rails.approval.answer import PageAnswer, read_answer
from rails.approval.audit import audit_of
from rails.approval.decision import NO_HUMAN, ApprovalRequest, Approver, Decision, attended
from rails.approval.edit import Contents, HumanEditError, Judge, edited, without_hunks
from rails.approval.policy.grants import Grants, as_toml, propose
from rails.approval.terminal.console import Elsewhere
from rails.core.changes import FileChange
from rails.core.errors import RailsError, UnansweredError, UsageError
from rails.core.events.approval import ApprovalClosed, ApprovalOpened
from rails.core.events.base import Event
from rails.core.events.record import Record
from rails.core.paths import WorkspacePath
from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json

T = TypeVar("T")
#: Who decided, in the log, when it was not at the run's own terminal.
IN_PAGE: Final = "human in the page"
IN_REVIEW: Final = "human in the review"
#: Who did not really answer: the terminal went away, nobody refused.
_GONE: Final = ("end of input", "error")
_POLL_S: Final = 0.03


class AnswerBox(Protocol):
    """Answers that other processes leave (``rails.approval.pending``)."""

    def place(self, question: int, answer: Mapping[str, Json]) -> bool:
        """Leave an answer; False if there is one."""
        ...

    def waiting(self, question: int) -> bool:
        """Return whether there is an answer."""
        ...

    def read(self, question: int) -> Mapping[str, Json] | None:
        """Return the answer; ``{}`` if not genuine."""
        ...

    def discard(self, question: int) -> None:
        """Remove the answer."""
        ...


class _Asked(msgspec.Struct, frozen=True):
    """An open question: record number, request, the agent's proposal, files masked in the log."""

    number: int
    request: ApprovalRequest
    original: ApprovalRequest
    masked: frozenset[str]


class ApprovalQueue:
    """Asks at the terminal (``here``) and in the page at once; before :meth:`open` only at the terminal.

    ``page_waits``: the page alone is enough to wait. ``patience_s``: when a question expires.
    """

    def __init__(
        self,
        *,
        judge: Judge | None = None,
        grants: Grants | None = None,
        from_project: Collection[str] = (),
        page_waits: bool = False,
        patience_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.here: Approver | None = None
        self._judge = judge
        self.grants = grants
        self._from_project = from_project
        self.page_waits = page_waits
        self._patience_s = patience_s
        self._clock = clock
        self._box: AnswerBox | None = None
        self._publish: Callable[[Event, str], Record] | None = None
        self._asked: _Asked | None = None
        self._number = 0
        self._until: float | None = None

    def open(self, box: AnswerBox, publish: Callable[[Event, str], Record]) -> None:
        """Take answers from ``box`` too; ``publish`` logs an agent's event."""
        self._box = box
        self._publish = publish

    def answered_elsewhere(self) -> bool:
        """Return whether the page answered, or time is up."""
        number = self._asked.number if self._asked else self._number
        return self._box is not None and number > 0 and (self._box.waiting(number) or self._is_late())

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask until there is a decision. Raises UnansweredError on timeout."""
        if self._box is None:
            return self.here.decide(request) if self.here else Decision("deny", NO_HUMAN, "headless", of=request.digest)
        started = self._clock()
        self._until = started + self._patience_s if self._patience_s else None
        asked = self._put(request, request)
        try:
            while True:
                found = self._answer(asked)
                if isinstance(found, Decision):
                    return replace(found, seconds=round(self._clock() - started, 3))
                replaces = asked.number if found.do == "edit" else 0
                asked = self._put(*self._edited(asked, found), replaces=replaces)
        finally:
            self._asked = None

    @property
    def attended(self) -> bool:
        """Whether somebody is at the terminal, or may be at the page."""
        return attended(self.here) or self._page_alone

    @property
    def _page_alone(self) -> bool:
        return self.page_waits and self._box is not None

    def pick(
        self, question: ApprovalOpened, here: Callable[[], T] | None, wrong: Callable[[PageAnswer], str] = lambda _: ""
    ) -> T | PageAnswer | None:
        """Ask a question with options at the terminal (``here``) and on the page; return the first answer.

        ``wrong`` returns why a page's answer is invalid; the question is asked again with that. None: timeout, or
        nobody there.
        """
        if self._publish is None or (here is None and not self.page_waits):
            return here() if here else None
        self._until = self._clock() + self._patience_s if self._patience_s else None
        number = 0
        try:
            while True:
                number = self._publish(msgspec.structs.replace(question, replaces=number), question.agent).seq
                self._number = number
                found = self._picked(question, number, here)
                if not isinstance(found, PageAnswer) or not (why := wrong(found)):
                    self._close(question, number, found)
                    return found
                question = msgspec.structs.replace(question, note=why)
        finally:
            self._number = 0

    def _picked(self, question: ApprovalOpened, number: int, here: Callable[[], T] | None) -> T | PageAnswer | None:
        assert self._box is not None, "the queue is open"
        words = [option.word for option in question.options]
        while True:
            if here is not None:
                mine = here()
                if self._box.place(number, {"do": "choose", "digest": question.digest}):
                    return mine
            while not self.answered_elsewhere():
                time.sleep(_POLL_S)
            with contextlib.suppress(UsageError):
                answer = read_answer(self._box.read(number))
                if answer.do == "choose" and answer.digest == question.digest and answer.choice in words:
                    return answer
            self._box.discard(number)
            if self._is_late():
                return None

    def _close(self, question: ApprovalOpened, number: int, found: object) -> None:
        assert self._publish is not None, "the queue is open"
        said = f"{found.choice}, in the page" if isinstance(found, PageAnswer) else "at the terminal"
        words, state = (f"answered: {said}", "answered") if found is not None else ("Nobody answered.", "expired")
        self._publish(ApprovalClosed(words, question.id, question.digest, number, state), question.agent)

    def _put(self, request: ApprovalRequest, original: ApprovalRequest, note: str = "", *, replaces: int = 0) -> _Asked:
        assert self._publish is not None, "the queue is open"
        left = None if self._until is None else timedelta(seconds=max(0.0, self._until - self._clock()))
        opened = audit_of(
            request,
            from_project=self._from_project,
            grants=self.grants,
            can_edit=self._judge is not None,
            replaces=replaces,
            note=note,
            expires="" if left is None else (datetime.now(UTC) + left).isoformat(timespec="seconds"),
        )
        record = self._publish(opened, request.agent)
        self._asked = _Asked(record.seq, request, original, _masked(request, record))
        return self._asked

    def _answer(self, asked: _Asked) -> Decision | PageAnswer:
        assert self._box is not None, "the queue is open"
        while True:
            mine = self._here_or_wait(asked)
            if mine is not None and self._box.place(asked.number, {"do": mine.answer, "digest": mine.of}):
                as_edited = mine.answer == "approve" and mine.edited is None and asked.request is not asked.original
                return replace(mine, edited=asked.request) if as_edited else mine
            if (found := self._from_page(asked)) is not None:
                return found
            if self._is_late():
                self._expire(asked)

    def _here_or_wait(self, asked: _Asked) -> Decision | None:
        if self.here is not None:
            decision = self.here.decide(asked.request)
            if decision.by == Elsewhere.by:
                return None
            if decision.by not in _GONE or not self.page_waits:
                return decision
            self.here = None  # the terminal went away; whoever has the page open is still there
        elif not self.page_waits:
            return Decision("deny", NO_HUMAN, "headless", of=asked.request.digest)
        while not self.answered_elsewhere():
            time.sleep(_POLL_S)
        return None

    def _from_page(self, asked: _Asked) -> Decision | PageAnswer | None:
        assert self._box is not None, "the queue is open"
        left = self._box.read(asked.number)
        if left is None:
            return None
        try:
            answer = read_answer(left)
            if answer.digest != asked.request.digest:
                raise UsageError("It was given to another version of the change.")
            return answer if answer.do in ("edit", "revoke") else self._decision(asked, answer)
        except UsageError:
            self._box.discard(asked.number)
            return None

    def _decision(self, asked: _Asked, answer: PageAnswer) -> Decision:
        edit = asked.request if asked.request is not asked.original else None
        by = IN_REVIEW if answer.place == "review" else IN_PAGE
        if answer.do in ("deny", "abort"):
            return Decision("deny" if answer.do == "deny" else "abort", answer.reason, by, of=answer.digest)
        scope = "once" if answer.do == "approve" else self._granted(asked.request, answer)
        return Decision("approve", "", by, scope=scope, edited=edit, of=answer.digest)

    def _granted(self, request: ApprovalRequest, answer: PageAnswer) -> str:
        """Grant the rule that the human was shown, no other. Raises UsageError."""
        if answer.do == "widen" and self.grants is not None and (scope := self.grants.widen(request)):
            return scope
        rule = propose(request)
        if self.grants is None or isinstance(rule, str) or as_toml(rule) != answer.rule:
            raise UsageError("The rule differs from the one shown.")
        return str(self.grants.add(rule, uses=answer.uses, minutes=answer.minutes))

    def _edited(self, asked: _Asked, answer: PageAnswer) -> tuple[ApprovalRequest, ApprovalRequest, str]:
        if answer.do == "revoke":
            if self.grants:
                self.grants.revoke_all()
            return asked.request, asked.original, ""
        if answer.original:
            return asked.original, asked.original, ""
        try:
            if self._judge is None:
                raise HumanEditError("Edits cannot be checked here, so none is accepted.")
            again = edited(asked.request, _contents(asked, answer), self._judge, self._from_project)
        except RailsError as error:
            return asked.request, asked.original, str(error)
        return again, asked.original, ""

    def _is_late(self) -> bool:
        return self._until is not None and self._clock() >= self._until

    def _expire(self, asked: _Asked) -> None:
        assert self._box is not None, "the queue is open"
        assert self._publish is not None, "the queue is open"
        if not self._box.place(asked.number, {"do": "expired"}):
            return
        message = f"Nobody answered within {(self._patience_s or 0) / 60:g} minutes; nothing was changed."
        closed = ApprovalClosed(message, asked.request.id, asked.request.digest, asked.number, "expired")
        self._publish(closed, asked.request.agent)
        raise UnansweredError(message)


def _masked(request: ApprovalRequest, record: Record) -> frozenset[str]:
    files = record.event.files if isinstance(record.event, ApprovalOpened) else ()
    shown = {file.path: file.after for file in files}
    changes = request.changes.changes
    return frozenset(str(c.path) for c in changes if c.after is not None and shown.get(str(c.path)) != _text(c.after))


def _contents(asked: _Asked, answer: PageAnswer) -> Contents:
    """Return the new bytes by path. Raises HumanEditError for files not proposed, or unsafe."""
    changes = {str(change.path): change for change in asked.request.changes.changes}
    contents: dict[WorkspacePath, bytes | None] = {}
    for path in (*answer.files, *answer.left_out):
        if path not in changes or changes[path].path in contents:
            raise HumanEditError("The edit names a file that is not in the proposal, or one file twice.")
        change = changes[path]
        if path in answer.left_out:
            contents[change.path] = without_hunks(change, answer.left_out[path])
        elif path in asked.masked:
            raise HumanEditError(f"A secret is masked in {path} as the page shows it. Edit it at the terminal.")
        else:
            contents[change.path] = _bytes(change, answer.files[path])
    return contents


def _bytes(change: FileChange, text: str) -> bytes:
    """Return text from a page as bytes, with the file's own line endings."""
    form = decode_text(change.after) if change.after is not None else None
    if form is None or form.mixed_eol or form.eol == "\r":
        raise HumanEditError(f"The line endings of {change.path} would not survive the page. Edit it at the terminal.")
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        return form.encode(plain.replace("\n", form.eol))
    except UnicodeEncodeError as error:
        wrong = one_line(error.object[error.start : error.end], 20)
        raise HumanEditError(f"{change.path} is in {form.label}, which does not have {wrong!r}.") from error


def _text(data: bytes) -> str | None:
    decoded = decode_text(data)
    return decoded.whole if decoded else None
