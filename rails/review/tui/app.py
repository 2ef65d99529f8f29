"""The terminal application: list of sessions, timeline, diffs, search, reports. The keys are the page's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from textual.app import App
from textual.worker import get_current_worker

from rails.core.errors import RailsError
from rails.core.text import one_line, sha256
from rails.log.index.index import Index
from rails.render.text import TextRenderer
from rails.review.reports.line_history import line_history_as_text as story_text
from rails.review.reports.report_list import ReviewReport
from rails.review.session_list import SessionList
from rails.review.tui.asked import QuestionPage
from rails.review.tui.dialogs import Ask, Help
from rails.review.tui.listing import Sessions
from rails.review.tui.pages import Compare, Hits, Open, Page, Switch, TextPage
from rails.review.tui.waiting import Waiting

_HITS: Final = 200
#: How often it looks what waits.
_LOOK_S: Final = 1.0


class ReviewApp(App[None]):
    """The review of a project's sessions; opens ``session_id`` at once if one is given."""

    TITLE = "AI-Rails review"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #waiting { background: $warning; color: $text; width: 100%; padding: 0 1; text-style: bold; display: none; }
    #title { background: $primary; color: $text; width: 100%; padding: 0 1; text-style: bold; }
    #status { color: $text-muted; width: 100%; padding: 0 1; }
    Rows { height: 1fr; padding: 0; background: $background; scrollbar-size-horizontal: 0; }
    Rows > .rows--current { background: $primary 40%; text-style: bold; }
    #timeline { width: 46; border-right: solid $primary; }
    .narrow #timeline { width: 100%; height: 9; border: none; border-bottom: solid $primary; }
    #panes { height: 1fr; layout: horizontal; } .narrow #panes { layout: vertical; }
    Help, Ask { align: center middle; }
    #dialog { width: auto; max-width: 96%; min-width: 76; height: auto; padding: 1 2; }
    #dialog { background: $surface; border: round $primary; }
    #dialog { max-height: 90%; overflow-y: auto; }
    #dialog .title { text-style: bold; margin-bottom: 1; } Input { width: 100%; }
    """

    def __init__(
        self, library: SessionList, session_id: str | None = None, *, key: bytes | None = None, only_looks: str = ""
    ) -> None:
        super().__init__()
        self.library, self._first = library, session_id
        self._waiting = Waiting(library.state, key)
        self._only_looks = only_looks or ("" if key else "it has no key for answers.")

    def on_mount(self) -> None:
        """Show the list, and the session that is asked for."""
        self.push_screen(Sessions(self.library))
        if self._first:
            self.open_session(self._first)
        self._look()
        self.set_interval(_LOOK_S, self._look)

    def on_unmount(self) -> None:
        """Close what was opened."""
        self._waiting.close()

    def _look(self) -> None:
        """Look in a thread what waits, and show it on every page."""
        self.run_worker(self._look_now, thread=True, group="waiting")

    def _look_now(self) -> None:
        if self._waiting.look() and not get_current_worker().is_cancelled:
            self.call_from_thread(self._show_waiting)

    def _show_waiting(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, Page) and screen.is_mounted:
                screen.show_waiting(self._waiting.questions)

    def on_app_focus(self) -> None:
        """Let no key answer at once: whoever comes back to this terminal may still be typing for another."""
        for screen in self.screen_stack:
            if isinstance(screen, QuestionPage):
                screen.rearm()

    def on_resumed(self) -> None:
        """Show a page what waits."""
        self._show_waiting()

    def action_waiting(self) -> None:
        """Go to what waits: in the session that is shown, else the next of them."""
        shown = next((screen for screen in self.screen_stack[::-1] if isinstance(screen, Page)), None)
        here = shown.question if isinstance(shown, QuestionPage) else None
        if (inbox := self._waiting.inbox) is None or (
            found := self._waiting.next(shown.about if shown else "", here)
        ) is None:
            if shown:
                shown.say("Nothing else waits for you." if here else "Nothing waits for you.")
            return
        if isinstance(shown, QuestionPage):
            self.pop_screen()
        self.push_screen(QuestionPage(inbox, found, self._only_looks))

    def on_open(self, event: Open) -> None:
        """Show a session that was chosen."""
        self.open_session(event.session_id, event.record)

    def on_switch(self, event: Switch) -> None:
        """Show another report."""
        self.pop_screen()
        self.action_report(event.name)

    def open_session(self, session_id: str, record: int = 0) -> None:
        """Show a session, at a record if one is given."""
        from rails.review.tui.session import SessionPage

        self.push_screen(SessionPage(self.library, session_id, record))

    def on_compare(self, event: Compare) -> None:
        """Show what differs in two sessions."""
        title = f"{event.first} compared with {event.second}"
        self.push_screen(TextPage(title, lambda width: _drawn(self.library.compare(event.first, event.second), width)))

    def action_report(self, name: str) -> None:
        """Show a report over all sessions."""
        self.push_screen(
            TextPage(f"Report: {name}", lambda width: _drawn(self.library.report(name), width), numbers=True)
        )

    def action_search(self) -> None:
        """Ask what to look for, in all sessions."""

        def take(line: str | None) -> None:
            if line and line.strip():
                self._search(line)

        self.push_screen(
            Ask("Search all sessions:", 'words "phrases" tool: rule: path: is:denied text:"rse_req"'), take
        )

    def _search(self, line: str) -> None:
        def look() -> None:
            try:
                with Index(self.library.state) as index:
                    hits = index.search(line, limit=_HITS).hits
            except RailsError as error:
                words = one_line(str(error), 300)
                self.call_from_thread(self.notify, words, severity="error", markup=False)
                return
            self.call_from_thread(self.push_screen, Hits(line, hits))

        self.run_worker(look, thread=True, exclusive=True)

    def action_why(self) -> None:
        """Ask for a line, and show its history."""

        def take(place: str | None) -> None:
            name, _, number = (place or "").strip().rpartition(":")
            if name and number.isdecimal() and int(number):
                self.push_screen(TextPage(f"Why is {name}:{number} so?", lambda _: [self._story(name, int(number))]))
            elif place and place.strip():
                self.notify("Name a file and a line, for example src/app.py:12.", severity="error", markup=False)

        self.push_screen(Ask("Why is this line so?", "src/app.py:12"), take)

    def _story(self, name: str, number: int) -> str:
        file = (self.library.state.parent / name).resolve()
        inside = file.is_relative_to(self.library.state.parent.resolve()) and file.is_file()
        current = sha256(file.read_bytes()) if inside else None
        return story_text(self.library.why(Path(name).as_posix(), number, current))

    def action_home(self) -> None:
        """Go back to the list."""
        while len(self.screen_stack) > 2:
            self.pop_screen()

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Help())


def _drawn(report: ReviewReport, width: int) -> list[str]:
    """Return a report as lines."""
    pen = TextRenderer(True, width)
    return [line for block in report.blocks for line in (*pen.draw(block), "")]
