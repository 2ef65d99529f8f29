"""HTML elements: whether all are closed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_VOID: Final = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
#: Elements whose end may be left out.
_OPTIONAL: Final = re.compile(
    r"html|head|body|p|li|dt|dd|rt|rp|optgroup|option|colgroup|caption|thead|tbody|tfoot|tr|td|th"
)

#: Line, column and words of a mistake.
MarkupFault = tuple[int, int, str]


class Elements(HTMLParser):
    """Reads a page; ``faults`` are unclosed elements and stray closing tags."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[MarkupFault] = []
        self._open: list[tuple[str, int, int]] = []
        self._places: dict[str, list[int]] = {}  # of each name in what is open
        self.feed(text)
        self.close()
        self._unclosed(0)
        if (start := text.rfind("<!--")) > text.rfind("-->"):
            self.faults.append((text.count("\n", 0, start) + 1, 1, "This comment is never closed."))
        self.faults.sort()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open an element."""
        del attrs
        line, column = self.getpos()
        if not _VOID.fullmatch(tag):
            self._places.setdefault(tag, []).append(len(self._open))
            self._open.append((tag, line, column + 1))

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Take ``<path/>`` as opened and closed."""

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and those within it that may end with it."""
        if places := self._places.get(tag):
            at = places[-1]
            self._unclosed(at + 1)
            for name, _, _ in self._open[at:]:
                self._places[name].pop()
            del self._open[at:]
        elif not (_VOID.fullmatch(tag) or _OPTIONAL.fullmatch(tag)):
            line, column = self.getpos()
            self.faults.append((line, column + 1, f"</{tag[:40]}> closes nothing."))

    def _unclosed(self, since: int) -> None:
        left = (one for one in self._open[since:] if not _OPTIONAL.fullmatch(one[0]))
        self.faults += [(line, column, f"<{tag[:40]}> is never closed.") for tag, line, column in left]
