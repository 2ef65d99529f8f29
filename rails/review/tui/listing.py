"""The list of sessions."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding
from textual.worker import get_current_worker

from rails.core.errors import RailsError
from rails.core.text import counted, one_line
from rails.log.session_stats import SessionStats
from rails.projections.questions import ApprovalQuestion
from rails.review.reports.sessions import SPARK, outcome_words
from rails.review.session_list import SessionList
from rails.review.tui.dialogs import Ask
from rails.review.tui.pages import INK, Compare, Open, Page
from rails.review.tui.rows import Rows

#: How long the first look at the index may take, and each further one.
_FIRST_S: Final = 0.1
_STEP_S: Final = 1.0
#: Columns from which on a row has room for the sparkline beside the task.
_WIDE: Final = 90


class Sessions(Page):
    """The list of sessions, the newest first."""

    BINDINGS: ClassVar = [
        Binding("i", "filter", "filter"),
        Binding("x", "mark", "mark"),
        Binding("n", "failed(1)", "next failure", show=False),
        Binding("p", "failed(-1)", "previous failure", show=False),
    ]

    def __init__(self, library: SessionList) -> None:
        super().__init__("AI-Rails review", pick=True)
        self._library, self._line, self._marked = library, "", ""
        self._cards: tuple[SessionStats, ...] = ()
        self._waiting: frozenset[str] = frozenset()

    def on_mount(self) -> None:
        """Read the list; what the index has not taken in yet is added as it comes."""
        self._read(within_s=_FIRST_S)
        if not self._library.complete:
            self.say("Reading the logs …")
            self.run_worker(self._take_in, thread=True)

    def _take_in(self) -> None:
        worker = get_current_worker()
        while not worker.is_cancelled:
            self._library.cards(within_s=_STEP_S)
            self.app.call_from_thread(self._read, within_s=0)
            if self._library.complete:
                return

    def _read(self, within_s: float = float("inf")) -> bool:
        current = self.about
        try:
            self._cards = self._library.cards(self._line, within_s)
        except RailsError as error:
            self.say(str(error))
            return False
        names = [card.session_id for card in self._cards]
        index = names.index(current) if current in names else self.rows.index
        self.rows.show(len(self._cards), self._row, index=index)
        words = counted(len(self._cards), "session") + (f" for {self._line}" if self._line else "")
        self.say(
            words if self._cards or self._line else "No session yet. Start one with ai-rails run or ai-rails apply."
        )
        return True

    def _row(self, at: int) -> Text:
        card = self._cards[at]
        style = "green" if card.outcome == "done" else "yellow" if not card.outcome else "red"
        text = Text(f"{'x' if card.session_id == self._marked else ' '} ")
        wide = self.app.size.width >= _WIDE
        text.append(f"{card.started[0 if wide else 5 : 16].replace('T', ' ')}  ", "dim")
        if card.session_id in self._waiting:
            text.append(f"{'waits for you: w':<16} ", "bold yellow")
        else:
            text.append(f"{outcome_words(card.outcome)[:16]:<16} ", style)
        for letter in card.spark[-16:].rjust(16) if wide else "":
            mark, ink, _ = SPARK.get(letter, (" ", "", ""))
            text.append(mark, INK[ink])
        text.append(f"  {one_line(card.task, 200) or card.session_id}")
        text.append(f"  {one_line(card.session_id, 64)}", "dim")
        return text

    def show_waiting(self, waiting: tuple[ApprovalQuestion, ...]) -> None:
        """Mark the sessions that wait; read the list again when they are others than before."""
        super().show_waiting(waiting)
        before, self._waiting = self._waiting, frozenset(question.session_id for question in waiting)
        if before != self._waiting:
            self._read(within_s=_FIRST_S)

    @property
    def about(self) -> str:
        """The current session."""
        return self._cards[self.rows.index].session_id if self._cards else ""

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Open the session."""
        self.post_message(Open(self._cards[event.index].session_id))

    def action_failed(self, by: int) -> None:
        """Go to the next session that did not end well."""
        at = self.rows.index + by
        while 0 <= at < len(self._cards) and self._cards[at].outcome in ("", "done"):
            at += by
        if 0 <= at < len(self._cards):
            self.rows.go(at)
        else:
            self.say("There is no other session that failed in this direction.")

    def action_filter(self) -> None:
        """Ask which sessions to show."""
        before = self._line

        def take(line: str | None) -> None:
            if line:
                self._line = line.strip()
                if not self._read():
                    self._line = before

        self.app.push_screen(
            Ask("Only sessions that match:", "is:failed rule:F821 role:coder after:2026-11-20", before), take
        )

    def action_mark(self) -> None:
        """Mark a session; compare with the one that is marked already."""
        if not self._cards:
            return
        chosen = self._cards[self.rows.index].session_id
        if self._marked and self._marked != chosen:
            self.post_message(Compare(self._marked, chosen))
            self._marked = ""
        else:
            self._marked = "" if self._marked == chosen else chosen
            self.say("This session is marked; press x on another one to compare the two." if self._marked else "")
        self.rows.refresh()
