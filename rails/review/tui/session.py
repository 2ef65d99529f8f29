"""One session in the terminal: the timeline beside the turn, and a turn's diffs in full."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.widgets import Label
from textual.worker import get_current_worker

from rails.core.errors import RailsError
from rails.core.text import counted, one_line
from rails.projections.attempts import causes_of
from rails.projections.common import SessionView, TurnView
from rails.projections.questions import ApprovalQuestion
from rails.render.blocks import Diff
from rails.render.diffs import read_diff
from rails.render.lines import draw_each
from rails.review.reports.turn import OUTCOMES
from rails.review.session_list import SessionList
from rails.review.terminal import frame_lines, turn_lines
from rails.review.tui.pages import INK, Page
from rails.review.tui.rows import Rows

#: Terminals narrower than this have the timeline above the turn.
_NARROW: Final = 110
_FOLLOWED_BYTES: Final = 4_000_000


class SessionPage(Page):
    """The timeline of a session and its current turn. The first line of the timeline is the whole session."""

    BINDINGS: ClassVar = [
        Binding("n", "failure(1)", "next failure"),
        Binding("p", "failure(-1)", "previous failure", show=False),
        Binding("J,pagedown", "scroll_turn(10)", "down in the turn", show=False),
        Binding("K,pageup", "scroll_turn(-10)", "up in the turn", show=False),
    ]

    def __init__(self, library: SessionList, session_id: str, record: int = 0) -> None:
        super().__init__(f"Session {session_id}", pick=True)
        self._library, self._session_id, self._record = library, session_id, record
        self._log_file = library.state / "sessions" / session_id / "log.jsonl"
        self._view: SessionView | None = None
        self._bytes = -1

    def compose_rows(self) -> ComposeResult:
        """Lay out the timeline and the turn."""
        with Container(id="panes"):
            yield Rows(id="timeline")
            yield Rows(pick=False, id="turn")

    @property
    def about(self) -> str:
        """The session."""
        return self._session_id

    def show_waiting(self, waiting: tuple[ApprovalQuestion, ...]) -> None:
        """Say whether this session waits, else how many do."""
        if any(question.session_id == self._session_id for question in waiting):
            self.banner("This session waits for your answer: w shows what it asks.")
        else:
            super().show_waiting(waiting)

    @property
    def rows(self) -> Rows:
        """The timeline."""
        return self.query_one("#timeline", Rows)

    def on_mount(self) -> None:
        """Begin to read; look again for what a running session adds."""
        self.say("Reading the session …")
        self._read()
        self.set_interval(1.0, self._follow)

    def on_resize(self, event: events.Resize) -> None:
        """Put the timeline above the turn where there is no room beside it."""
        self.set_class(event.size.width < _NARROW, "narrow")
        self.call_after_refresh(self._draw_turn)

    def _read(self) -> None:
        self.run_worker(self._work, thread=True, exclusive=True)

    def _work(self) -> None:
        worker = get_current_worker()
        try:
            self._bytes = self._log_file.stat().st_size
            view = self._library.view(self._session_id)
        except (RailsError, OSError) as error:
            self.app.call_from_thread(self.say, str(error))
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, view)

    def _follow(self) -> None:
        """Read again when the log has grown; a very long one is read again only when it is opened again."""
        grown = self._view is not None and not self._view.outcome and self._log_file.stat().st_size != self._bytes
        if grown and self._bytes < _FOLLOWED_BYTES:
            self._read()

    def _show(self, view: SessionView) -> None:
        fresh, self._view = self._view is None, view
        index = self.rows.index
        if fresh:
            after = (n for n, turn in enumerate(view.turns, start=1) if turn.last_seq >= self._record)
            index = next(after, 0) if self._record else 0
        self.rows.show(len(view.turns) + 1, self._row, index=index, width=200)
        self.query_one("#title", Label).update(one_line(view.task or self._title, 300))
        failed = sum(turn.failed for turn in view.turns)
        self.say(f"{counted(len(view.turns), 'turn')}, {failed} failed; n next failure, Enter its diff, ? keys")
        self._draw_turn()

    def _row(self, at: int) -> Text:
        assert self._view is not None, "there are rows only once there is a view"
        if at == 0:
            return Text(f"The session: {self._view.outcome or 'unfinished'}", "bold")
        turn = self._view.turns[at - 1]
        ended = OUTCOMES[turn.outcome]
        asked = ", ".join(dict.fromkeys(request.tool for request in turn.requests)) or "text"
        why = ", ".join(causes_of(turn)) or turn.outcome
        text = Text(f"{turn.number:>4} ")
        text.append(f"{ended.mark} ", INK[ended.tone])
        text.append(f"{one_line(asked, 22):<14} ")
        text.append(one_line(why, 40), INK[ended.tone])
        text.append(f"  {one_line(turn.agent, 30)}", "dim")
        return text

    def _draw_turn(self) -> None:
        if self._view is None or not self.is_mounted:
            return
        pane = self.query_one("#turn", Rows)
        width = max(40, pane.size.width - 2)
        turn = self._turn
        pane.show_text(turn_lines(turn, True, width=width) if turn else frame_lines(self._view, True, width=width))

    @property
    def _turn(self) -> TurnView | None:
        at = self.rows.index
        return self._view.turns[at - 1] if self._view and at else None

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Show the turn that is the current one now."""
        if event.rows.id == "timeline":
            self._draw_turn()

    def on_rows_chosen(self) -> None:
        """Open the diffs of the turn."""
        turn = self._turn
        text = next((a.diff for a in turn.approvals if a.diff), "") or next(
            (g.diff for g in turn.gates[::-1] if g.diff), "") if turn else ""  # fmt: skip
        if turn and text:
            findings = turn.gates[-1].verdict.findings if turn.gates else ()
            self.app.push_screen(Diffs(f"Turn {turn.number}: {self._title}", read_diff(text, findings)))
        else:
            self.say("This turn has no diff.")

    def action_failure(self, by: int) -> None:
        """Go to the next failed turn."""
        turns = self._view.turns if self._view else ()
        at = self.rows.index + by
        while 1 <= at <= len(turns) and not turns[at - 1].failed:
            at += by
        if 1 <= at <= len(turns):
            self.rows.go(at)
        else:
            self.say("There is no other failure in this direction.")

    def action_scroll_turn(self, by: int) -> None:
        """Scroll the turn."""
        self.query_one("#turn", Rows).move(by)


class Diffs(Page):
    """The diffs of a turn in full, findings at their lines."""

    BINDINGS: ClassVar = [
        Binding("left_square_bracket", "jump('files', -1)", "file back", show=False),
        Binding("right_square_bracket", "jump('files', 1)", "next file"),
        Binding("left_curly_bracket", "jump('hunks', -1)", "hunk back", show=False),
        Binding("right_curly_bracket", "jump('hunks', 1)", "next hunk"),
        Binding("n", "jump('findings', 1)", "next finding"),
        Binding("p", "jump('findings', -1)", show=False),
    ]

    def __init__(self, title: str, diffs: tuple[Diff, ...]) -> None:
        super().__init__(title)
        self._diffs = diffs
        self._places: dict[str, list[int]] = {"files": [], "hunks": [], "findings": []}

    def on_mount(self) -> None:
        """Draw the diffs."""
        lines: list[str] = []
        width = max(40, self.app.size.width - 2)
        for diff in self._diffs:
            self._places["files"].append(len(lines))
            lines.append(f"\x1b[1m{one_line(diff.path, 300)}\x1b[0m  {diff.kind} +{diff.added} -{diff.removed}")
            for line, drawn in zip(diff.lines, draw_each(diff, True, width), strict=True):
                for style, key in (("hunk", "hunks"), ("finding", "findings")):
                    if line.style == style:
                        self._places[key].append(len(lines))
                lines += drawn
            lines.append("")
        self.rows.show_text(lines)
        self.say(
            f"{counted(len(self._diffs), 'file')}, {counted(len(self._places['findings']), 'finding')} at their lines"
        )

    def action_jump(self, what: str, by: int) -> None:
        """Go to the next or previous file, hunk or finding."""
        here = self.rows.scroll_offset.y
        places = self._places[what]
        further = [place for place in places if place > here] if by > 0 else [p for p in places if p < here][::-1]
        if further:
            self.rows.go(further[0])
