"""An answer on the screen while it comes: paragraph by paragraph, as Markdown, without the calls in it.

What the model writes is data: it is made printable first, HTML in it stays text, and no link can be followed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rails.core.lazy_pattern import lazy
from rails.core.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

#: How a line begins that may be a call; from there on nothing is shown before the whole answer was read.
_MAY_BE_CALL: Final = lazy(r"\s*(```|~~~|<|\{|\[)")


class AnswerText:
    """Takes an answer in pieces and gives ``show`` each paragraph once, as soon as it is whole."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self.begin()

    def begin(self) -> None:
        """Forget what came: another answer begins."""
        self._line, self._part, self._held = "", list[str](), False
        self._told: list[str] = []

    @property
    def tail(self) -> str:
        """The beginning of the paragraph that is being written."""
        return "" if self._held else " ".join([*self._part, self._line]).strip()

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        if self._held:
            return
        *lines, self._line = f"{self._line}{piece}".split("\n")
        for line in lines:
            if not self._held:
                self._take(line.rstrip("\r"))

    def end(self, prose: str) -> None:
        """Show what is left of the ``prose`` of the whole answer, which is its text without the calls."""
        lines, told = prose.replace("\r\n", "\n").split("\n"), iter(self._told)
        at, expected = 0, next(told, None)
        while at < len(lines) and expected is not None and lines[at].strip() in ("", expected):
            expected = next(told, None) if lines[at].strip() else expected
            at += 1
        self._tell(lines[at:])
        self.begin()

    def _take(self, line: str) -> None:
        self._held = bool(_MAY_BE_CALL.match(line))
        if not self._held and line.strip():
            self._part.append(line)
        elif not self._held and self._part:
            self._told += [one.strip() for one in self._part]
            self._tell(self._part)
            self._part = []

    def _tell(self, lines: list[str]) -> None:
        if text := "\n".join(lines).strip("\n").rstrip():
            self._show(text)


def as_markdown(text: str) -> RenderableType:
    """Return text of a model, drawn: HTML in it stays text, and what is a link is not one here."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown
    from rich.padding import Padding

    drawn = Markdown(printable(text), hyperlinks=False, code_theme="ansi_dark")
    drawn.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(printable(text))
    return Padding(drawn, (0, 0, 0, 2))
