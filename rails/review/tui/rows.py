"""A list of lines, any number of them: only those on the screen are ever made."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Rows(ScrollView, can_focus=True):
    """Lines that a function gives by their number. With ``pick``, one of them is the current one.

    Printable texts only: what is shown goes through ``rails.core.text`` before it gets here.
    """

    COMPONENT_CLASSES: ClassVar = {"rows--current"}

    class Moved(Message):
        """Another line is the current one."""

        def __init__(self, rows: Rows, index: int) -> None:
            self.rows, self.index = rows, index
            super().__init__()

        @property
        def control(self) -> Rows:
            """The list."""
            return self.rows

    class Chosen(Moved):
        """The current line was chosen, with Enter or a click."""

    def __init__(self, *, pick: bool = True, id: str | None = None) -> None:
        super().__init__(id=id)
        self.pick = pick
        self.index = 0
        self.count = 0
        self._row: Callable[[int], Text] = lambda _: Text()

    def show(self, count: int, row: Callable[[int], Text], *, index: int = 0, width: int = 400) -> None:
        """Show ``count`` lines; ``index`` is the current one."""
        self.count, self._row = count, row
        self.virtual_size = Size(width, count)
        self.index = max(0, min(index, count - 1))
        self.refresh()
        self._reveal()

    def show_text(self, lines: list[str]) -> None:
        """Show lines that carry our own colours."""
        drawn = [Text.from_ansi(line) for line in lines]
        self.show(len(drawn), drawn.__getitem__)
        self.scroll_to(0, 0, animate=False, force=True, immediate=True)

    def move(self, by: int) -> None:
        """Go so many lines on, or scroll where no line is the current one."""
        if self.pick:
            self.go(self.index + by)
        else:
            self.scroll_relative(y=by, animate=False, force=True, immediate=True)

    def go(self, index: int) -> None:
        """Make a line the current one."""
        if not self.pick:
            self.scroll_to(y=index, animate=False, force=True, immediate=True)
            return
        before, self.index = self.index, max(0, min(index, self.count - 1))
        self.refresh()
        self._reveal()
        if before != self.index:
            self.post_message(self.Moved(self, self.index))

    def choose(self) -> None:
        """Choose the current line."""
        if self.pick and self.count:
            self.post_message(self.Chosen(self, self.index))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        left, top = self.scroll_offset
        width, at = self.size.width, top + y
        if at >= self.count:
            return Strip.blank(width, self.rich_style)
        current = self.pick and at == self.index
        style = self.get_component_rich_style("rows--current") if current else self.rich_style
        strip = Strip(self._row(at).render(self.app.console))
        return strip.crop_extend(left, left + width, style).apply_style(style)

    def on_click(self, event: events.Click) -> None:
        """Make the clicked line the current one; choose it when it is that already."""
        at = self.scroll_offset.y + event.y
        if self.pick and at < self.count:
            if at == self.index:
                self.choose()
            else:
                self.go(at)

    def _reveal(self) -> None:
        if self.pick:
            self.scroll_to_region(Region(0, self.index, 1, 1), animate=False, force=True, immediate=True)
