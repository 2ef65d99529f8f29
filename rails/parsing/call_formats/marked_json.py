"""The stretch of a JSON value that stands behind a marker of an opt-in dialect instead of in a fence."""

from __future__ import annotations

from typing import Final

from rails.core.dataclass import dataclass
from rails.parsing.blocks import BlockSpan, JsonFence
from rails.parsing.json_progress import JsonProgress

#: How many closing tags of an opt-in dialect are looked at, before the rest counts as content.
_CLOSINGS: Final = 20


@dataclass(slots=True)
class MarkedJson(JsonFence):
    """A JSON value behind a marker of an opt-in dialect, up to a closing tag or its own end."""

    end_tag: str = ""
    dialect: str = ""
    tool: str = ""

    @property
    def mark(self) -> str:
        """Any line can be the last one."""
        return ""

    def take(self, line: str) -> int:
        """End at the closing tag outside strings, or with the line on which the value is complete."""
        progress = self.progress
        found = line.find(self.end_tag) if self.end_tag else -1
        while found >= 0 and self.tries < _CLOSINGS:
            self.tries += 1
            follower = JsonProgress()
            follower.feed("".join(self.lines)[self.body_start - self.start :] + line[:found])
            if not follower.quote or follower.suspicious:
                self._follow(line)
                self.body_end = self.start + self.size + found
                used = found + len(self.end_tag)
                return used if line[used:].strip() else len(line)
            found = line.find(self.end_tag, found + 1)
        self._follow(line)
        if self.end_tag or not (progress.done or (not progress.started and line.strip())):
            return -1
        self.body_end = self.start + self.size + len(line)
        return len(line)

    def span(self, *, closed: bool) -> BlockSpan:
        """Return the finished stretch with its dialect."""
        done = JsonFence.span(self, closed=closed)
        done.dialect, done.label = self.dialect, self.tool
        return done
