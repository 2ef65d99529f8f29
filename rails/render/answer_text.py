"""A streamed answer in paragraphs of Markdown, without its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rails.core.lazy_pattern import lazy

#: How a line begins that may be a call; from there on nothing is shown before the whole answer was read.
_MAY_BE_CALL: Final = lazy(r"\s*(```|~~~|<|\{|\[)")


class AnswerText:
    """Gives ``show`` each paragraph of a streamed answer once, when it is whole."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self.begin()

    def begin(self) -> None:
        """Start a new answer."""
        self._line = ""
        self._part = list[str]()
        self._held = False
        self._told: list[str] = []

    @property
    def tail(self) -> str:
        """The beginning of the unfinished paragraph."""
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
        """Show the rest of ``prose``, the whole answer without its calls."""
        lines = prose.replace("\r\n", "\n").split("\n")
        told = self._told[::-1]
        at = 0
        while at < len(lines) and told and lines[at].strip() in ("", told[-1]):
            if lines[at].strip():
                told.pop()
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
