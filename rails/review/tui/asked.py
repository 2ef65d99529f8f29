"""A question that waits, in the terminal: what is asked, and the answer to it. The rules are those of the page.

No key works until it was quiet for a moment after the question was drawn. Enter, Space, Escape and y never
approve. The answer carries the digest of what is shown; the run checks it, and records the decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.worker import get_current_worker

from rails.approval.answer import AnswerAction, PageAnswer
from rails.approval.terminal.screen import ApprovalScreen, Look, draw_request
from rails.core import limits
from rails.core.errors import RailsError
from rails.core.events.approval import ApprovalOpened, GrantOffer
from rails.core.text import counted, one_line
from rails.projections.questions import ApprovalQuestion
from rails.render.lines import styled
from rails.render.terminal import wrap
from rails.review.inbox import AnswerState, Inbox
from rails.review.tui.dialogs import Ask
from rails.review.tui.pages import Page

#: How long it has to be quiet before a key counts.
QUIET_S: Final = 0.35
_FOLLOW_S: Final = 0.3
_ANSWERS: Final = ("a", "A", "d", "S")
_EDITING: Final = "To edit it, use the run's own terminal or the page (ai-rails serve)."
_LISTED: Final = 6


class Quiet:
    """Whether it was quiet for a moment. Times are those that events carry."""

    def __init__(self) -> None:
        self._since = float("inf")

    def restart(self) -> None:
        """Begin to wait now."""
        self._since = Message().time

    def takes(self, event: events.Key) -> bool:
        """Whether a key counts; one that came too early begins the wait again."""
        if event.time - self._since >= QUIET_S:
            return True
        self._since = max(event.time, self._since)
        return False


class QuestionPage(Page):
    """One question; it stays on the screen when it is over, and shows the result."""

    BINDINGS: ClassVar = [
        Binding("a", "approve", "approve"),
        Binding("d", "deny", "deny"),
        Binding("A", "grant", "grant"),
        Binding("S", "stop", "stop session"),
        Binding("v", "everything", "view everything"),
        Binding("y", "never('y')", show=False),
        Binding("enter", "never('Enter')", show=False),
    ]

    def __init__(self, inbox: Inbox, question: ApprovalQuestion, only_looks: str = "") -> None:
        super().__init__(f"Waiting for you: session {question.session_id}")
        self.question = question
        self._inbox, self._only_looks = inbox, only_looks
        self._opened: ApprovalOpened | None = None
        self._listening = True
        self._sending = self._following = False
        self._outcome: AnswerState | None = None
        self._others = 0
        self._full = self._drawn = False
        self._quiet = Quiet()

    def on_mount(self) -> None:
        """Read what is asked, draw it, and follow what becomes of it."""
        self.say("Reading what is asked …")
        self._draw()
        self.set_interval(_FOLLOW_S, self._follow)

    def on_screen_resume(self) -> None:
        """Ask what waits, and wait for quiet again."""
        super().on_screen_resume()
        self.rearm()

    def rearm(self) -> None:
        """Wait for quiet again, unless that has not begun yet: whoever comes back may be typing for something else."""
        if self._drawn:
            self._quiet.restart()

    def on_key(self, event: events.Key) -> None:
        """Let no answer through that was typed before it was quiet."""
        if not self._quiet.takes(event) and event.key in _ANSWERS:
            event.stop()
            self.say("Too quick: keys work after a moment of quiet.")

    def show_waiting(self, waiting: tuple[ApprovalQuestion, ...]) -> None:
        """Say where this question stands, and how many others wait."""
        here = (self.about, self.question.number)
        self._others = sum((one.session_id, one.number) != here for one in waiting)
        self._tell()

    def _tell(self) -> None:
        more = f" {self._others} more: w shows the next." if self._others else ""
        self.banner(f"{self._state_line()}{more}")

    def action_approve(self) -> None:
        """Approve; where there are risks, once the word is typed."""
        if not self._can_answer():
            return
        if risks := self._opened.careful if self._opened else ():
            more = [f"and {len(risks) - _LISTED} more"] if len(risks) > _LISTED else []
            lines = (*(one_line(risk, 300) for risk in risks[:_LISTED]), *more)
            self._typed("approve", "There are risks:", lines, lambda: self._send("approve"))
        else:
            self._send("approve")

    def action_deny(self) -> None:
        """Ask why not, and deny."""

        def take(reason: str | None) -> None:
            if reason and self._can_answer():
                self._send("deny", reason=reason.strip())

        if self._can_answer():
            words = "Why not? The agent reads this word for word. Enter denies, Escape goes back."
            self.app.push_screen(Ask(words, "no reason", most=limits.REASON_CHARS), take)

    def action_grant(self) -> None:
        """Show the rule and what it would have let through; approve and give it once the word is typed."""
        if not self._can_answer():
            return
        if not self._grant.rule:
            self.say(self._grant.why_not or "This run gives no grants.")
            return
        self.say("Trying the rule on past sessions …")
        self.run_worker(self._offer, thread=True, group="rule", exclusive=True)

    def action_stop(self) -> None:
        """Stop the session, once the word is typed."""
        if self._can_answer():
            lines = ("Nothing is written, and the run ends.",)
            self._typed("stop", "Stop the whole session?", lines, lambda: self._send("abort"))

    def action_everything(self) -> None:
        """Draw every line, and the parameters as the agent sent them."""
        self._full = not self._full
        self._draw()

    def action_never(self, key: str) -> None:
        """Say that a key is no answer."""
        self.say(f"{key} is no answer here: a approves, d denies with a reason.")

    @property
    def about(self) -> str:
        """The session."""
        return self.question.session_id

    def _draw(self) -> None:
        self._quiet, self._drawn = Quiet(), False  # no key counts until it is drawn
        self.run_worker(self._work, thread=True, group="draw", exclusive=True)

    def _work(self) -> None:
        worker = get_current_worker()
        width = max(40, self.app.size.width - 2)
        try:
            opened, lines = self._lines(width)
            listening = self._inbox.listening(self.about)
        except RailsError as error:
            self.app.call_from_thread(self.say, str(error))
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, opened, lines, listening)

    @property
    def _grant(self) -> GrantOffer:
        return (self._opened.grant if self._opened else None) or GrantOffer()

    def _lines(self, width: int) -> tuple[ApprovalOpened, list[str]]:
        opened = self._inbox.asked(self.question)
        drawn: ApprovalScreen = draw_request(opened, Look(True, width), full=self._full)
        left_out = [f"Not shown: {counted(drawn.hidden, 'line')}. v shows everything."] if drawn.hidden else []
        above = [one_line(line, 600) for line in (opened.note, *left_out, *opened.unseen) if line]
        return opened, [*(styled(piece, "risk", True) for line in above for piece in wrap(line, width)), *drawn.lines]

    def _show(self, opened: ApprovalOpened, lines: list[str], listening: bool) -> None:
        self._opened, self._listening = opened, listening
        self.rows.show_text(lines)
        self.say("" if self._why_not() else _EDITING)
        self._tell()
        self.call_after_refresh(self._begin_quiet)

    def _begin_quiet(self) -> None:
        self._drawn = True
        self._quiet.restart()

    def _follow(self) -> None:
        if not self._following:
            self._following = True
            self.run_worker(self._ask_again, thread=True, group="follow")

    def _ask_again(self) -> None:
        worker = get_current_worker()
        try:
            question = self._inbox.find(self.about, self.question.number)
            listening = self._inbox.listening(self.about)
        except RailsError:
            return
        finally:
            self._following = False
        if question and not worker.is_cancelled:
            self.app.call_from_thread(self._told, question, listening)

    def _told(self, question: ApprovalQuestion, listening: bool) -> None:
        if (question.state, listening) != (self.question.state, self._listening):
            self.question, self._listening = question, listening
            self._tell()

    def _state_line(self) -> str:
        """Say where the question stands."""
        if self._why_not():
            return self._why_not()
        if self._sending:
            return "Your answer is on its way."
        return "Your answer is left for the run." if self._outcome and self._outcome.mine else self.question.words

    def _why_not(self) -> str:
        """Say why nothing can be answered any more, or here; empty: it can."""
        if self.question.state != "open":
            by_us = self._outcome is not None and self._outcome.mine
            answered = self.question.state in ("approved", "denied", "stopped")
            return f"{'' if by_us or not answered else 'Answered elsewhere: '}{self.question.words}"
        if self._only_looks:
            return f"This application can only look: {self._only_looks}"
        if not self._listening:
            return "The run is not running, so nobody would take an answer. ai-rails run --resume asks again."
        return ""

    def _can_answer(self) -> bool:
        """Whether an answer can be given now; else say why not."""
        words = self._why_not() or ("Your answer is on its way." if self._sending else "")
        if not words and not self._opened:
            words = "What is asked could not be read, so it cannot be answered here."
        if words:
            self.say(words)
        return not words

    def _typed(self, word: str, question: str, lines: tuple[str, ...], then: Callable[[], None]) -> None:
        """Do ``then`` once ``word`` is typed, and nothing for anything else."""

        def take(typed: str | None) -> None:
            if (typed or "").strip() != word:
                self.say("That decides nothing.")
            elif self._can_answer():
                then()

        words = (*lines, "", f'Type "{word}" and Enter; anything else does nothing.')
        self.app.push_screen(Ask(question, "", lines=words), take)

    def _offer(self) -> None:
        worker = get_current_worker()
        try:
            tried = self._inbox.rule_words(self._opened) if self._opened else ""
        except RailsError as error:
            tried = str(error)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_rule, tried)

    def _show_rule(self, tried: str) -> None:
        if not self.is_current or not self._can_answer():
            return
        rule, uses, minutes = self._grant.rule, self._grant.uses, self._grant.minutes
        question = f"Approve, and let this rule hold for {uses} approvals and {minutes} minutes?"
        lines = (*rule.strip().split("\n"), "", *tried.split("\n"))
        send = lambda: self._send("grant", rule=rule, uses=uses, minutes=minutes)  # noqa: E731
        self._typed("grant", question, lines, send)

    def _send(self, do: AnswerAction, reason: str = "", **grant: str | int) -> None:
        answer = PageAnswer(do, self.question.digest, reason, place="review", **grant)  # type: ignore[arg-type]
        self._sending = True
        self._tell()
        self.run_worker(lambda: self._leave(answer), thread=True, group="send")

    def _leave(self, answer: PageAnswer) -> None:
        try:
            outcome = self._inbox.decide(self.about, self.question.number, answer)
        except RailsError as error:
            outcome = AnswerState("unknown", f"Nothing was decided: {error}")
        self.app.call_from_thread(self._answered, outcome)

    def _answered(self, outcome: AnswerState) -> None:
        self._sending, self._outcome = False, outcome
        self.say(outcome.words)
        self._follow()
