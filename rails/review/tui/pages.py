"""The screens of lines, and what they ask of the application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Label
from textual.worker import get_current_worker

from rails.core.errors import RailsError
from rails.core.text import counted, one_line
from rails.log.index.lines import SearchHit
from rails.projections.questions import ApprovalQuestion
from rails.review.tui.rows import Rows

#: The styles of a table as Rich knows them.
INK: Final = {"good": "green", "bad": "red", "open": "yellow", "dim": "dim", "head": "bold", "": ""}
REPORT_NAMES: Final = ("models", "rules", "weeks", "drift", "decisions")


class Open(Message):
    """A session is to be shown, at a record if one is given."""

    def __init__(self, session_id: str, record: int = 0) -> None:
        self.session_id, self.record = session_id, record
        super().__init__()


class Compare(Message):
    """Two sessions are to be compared."""

    def __init__(self, first: str, second: str) -> None:
        self.first, self.second = first, second
        super().__init__()


class Switch(Message):
    """Another report is to be shown in place of this one."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__()


class Resumed(Message):
    """A page is on the screen, and wants to know what waits."""


class Page(Screen[None]):
    """A screen with a title, lines, and a status."""

    BINDINGS: ClassVar = [
        Binding("j,down", "move(1)", "next", show=False),
        Binding("k,up", "move(-1)", "previous", show=False),
        Binding("pagedown,space", "move(20)", show=False),
        Binding("pageup", "move(-20)", show=False),
        Binding("g,home", "edge(0)", show=False),
        Binding("G,end", "edge(1)", show=False),
        Binding("enter", "choose", "open"),
        Binding("slash", "app.search", "search"),
        Binding("r", "app.report('models')", "reports"),
        Binding("w", "app.waiting", show=False),
        Binding("y", "app.why", "why", show=False),
        Binding("l", "app.home", "list", show=False),
        Binding("escape,backspace", "back", "back"),
        Binding("question_mark", "app.help", "keys"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, title: str, *, pick: bool = False) -> None:
        super().__init__()
        self._title, self._pick = title, pick

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Label(one_line(self._title, 300), id="title", markup=False)
        yield Label("", id="waiting", markup=False)
        yield from self.compose_rows()
        yield Label("", id="status", markup=False)
        yield Footer(show_command_palette=False)

    def compose_rows(self) -> ComposeResult:
        """Lay out what is between the title and the status."""
        yield Rows(pick=self._pick, id="rows")

    @property
    def rows(self) -> Rows:
        """The lines."""
        return self.query_one("#rows", Rows)

    def say(self, words: str) -> None:
        """Show a sentence at the bottom."""
        self.query_one("#status", Label).update(one_line(words, 300))

    def on_screen_resume(self) -> None:
        """Ask what waits."""
        self.post_message(Resumed())

    @property
    def about(self) -> str:
        """The session that this page shows or points at; empty: none."""
        return ""

    def show_waiting(self, waiting: tuple[ApprovalQuestion, ...]) -> None:
        """Say how many questions wait."""
        count = len(waiting)
        self.banner(f"{counted(count, 'question waits', 'questions wait')} for you: w" if count else "")

    def banner(self, words: str) -> None:
        """Show a sentence below the title, or nothing."""
        label = self.query_one("#waiting", Label)
        label.update(one_line(words, 600))
        label.display = bool(words)

    def action_move(self, by: int) -> None:
        """Go so many lines on."""
        self.rows.move(by)

    def action_edge(self, end: int) -> None:
        """Go to the top, or the end."""
        self.rows.go(end * self.rows.count)

    def action_choose(self) -> None:
        """Choose the current line."""
        self.rows.choose()

    def action_back(self) -> None:
        """Go back to where one came from."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()


class TextPage(Page):
    """Lines of text: a report, a comparison, a line's history. ``tell`` makes them for a width, in a thread."""

    BINDINGS: ClassVar = [Binding(str(at + 1), f"switch({at})", show=False) for at in range(len(REPORT_NAMES))]

    def __init__(self, title: str, tell: Callable[[int], Sequence[str]], *, numbers: bool = False) -> None:
        super().__init__(title)
        self._tell, self._numbers = tell, numbers

    def on_mount(self) -> None:
        """Begin to make the lines."""
        self.say("Reading the sessions …")
        self.run_worker(self._work, thread=True, exclusive=True)

    def _work(self) -> None:
        worker = get_current_worker()
        words = ""
        try:
            lines = [piece for line in self._tell(max(40, self.app.size.width - 2)) for piece in line.split("\n")]
        except RailsError as error:
            lines, words = [], str(error)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, lines, words)

    def _show(self, lines: list[str], words: str) -> None:
        self.rows.show_text(lines)
        self.say(words or ("1 models  2 rules  3 weeks  4 drift  5 decisions" if self._numbers else ""))

    def action_switch(self, at: int) -> None:
        """Show another report."""
        if self._numbers:
            self.post_message(Switch(REPORT_NAMES[at]))


class Hits(Page):
    """What a search found; Enter opens the session at that place."""

    def __init__(self, line: str, hits: Sequence[SearchHit]) -> None:
        super().__init__(f"Search: {line}", pick=True)
        self._hits = hits

    def on_mount(self) -> None:
        """Show the hits."""
        self.rows.show(len(self._hits), self._row)
        self.say(f"{counted(len(self._hits), 'record')}, the newest first" if self._hits else "Nothing found.")

    def _row(self, at: int) -> Text:
        record = self._hits[at].record
        place = f"{self._hits[at].place:<26} {record.timestamp[:16].replace('T', ' ')}  "
        return Text.assemble((place, "dim"), (f"{record.event_type:<24} ", "bold"), one_line(record.message, 300))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Open the session."""
        record = self._hits[event.index].record
        self.post_message(Open(record.session_id, record.seq))
