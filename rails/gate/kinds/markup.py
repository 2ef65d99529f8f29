"""HTML and CSS: whether all elements, blocks, comments and strings are closed.

Not covered: meaning; templates, reported as unchecked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import line_column
from rails.core.verdict import CheckRun, Finding
from rails.gate.kinds.text import marker_findings
from rails.gate.support.check import (
    CheckContext,
    CheckJob,
    CheckReport,
    CheckResult,
    Kind,
    NotNeededError,
    text_to_check,
)

_TEMPLATE: Final = lazy(r"\{%|\{\{|<%|<\?(?!xml)|\$\{")
_CSS: Final = lazy(
    r"(?P<skip>/\*.*?\*/|\\.|url\(\s*[^\"'()\s][^()]*\)|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')"
    r"|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<broken>/\*|[\"']).*",
    re.DOTALL,
)
_PAIRS: Final = {"{": "}", "(": ")", "[": "]"}
_REMEDY: Final = "Close what is open, or take out what closes nothing."


def run_check(jobs: Sequence[CheckJob], _context: CheckContext) -> CheckReport:
    """Check each file before and after."""
    run = CheckRun("markup", "", 0, "structure")
    return CheckReport.of_files(run, jobs, lambda job: CheckResult.of_look(job, "markup", _look))


def _look(path: str, data: bytes) -> Iterator[Finding]:
    text = text_to_check(data)
    if _TEMPLATE.search(text):
        raise NotNeededError("it is a template")
    yield from marker_findings(path, text)
    faults = _css(text) if path.lower().endswith(".css") else Elements(text).faults
    for line, column, words in faults:
        yield Finding(path, line, column, "syntax-error", words, "markup", end_line=line, remedy=_REMEDY)


def _css(text: str) -> Iterator[tuple[int, int, str]]:
    waiting: list[tuple[str, int]] = []
    for found in _CSS.finditer(text):
        if opened := found["open"]:
            waiting.append((opened, found.start()))
        elif found["broken"]:
            what = "This comment" if found["broken"] == "/*" else "This string"
            yield *line_column(text, found.start()), f"{what} is never closed."
            return
        elif found["close"] and waiting and _PAIRS[waiting[-1][0]] == found["close"]:
            waiting.pop()
        elif found["close"]:
            yield *line_column(text, found.start()), f"{found[0]} closes nothing."
            return
    for opened, start in waiting[:1]:
        yield *line_column(text, start), f"{opened} is never closed."


KIND = Kind(
    "markup",
    suffixes=frozenset({".html", ".htm", ".css"}),
    place=50,
)


_VOID: Final = r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
#: Elements whose end may be left out.
_OPTIONAL: Final = r"html|head|body|p|li|dt|dd|rt|rp|optgroup|option|colgroup|caption|thead|tbody|tfoot|tr|td|th"

#: Line, column and words of a mistake.
MarkupFault = tuple[int, int, str]


class Elements(HTMLParser):
    """Reads a page; ``faults`` are unclosed elements and stray closing tags."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[MarkupFault] = []
        self._open: list[tuple[str, int, int]] = []
        self._names: Counter[str] = Counter()  # of what is open
        self.feed(text)
        self.close()
        self._close_until("")
        if (start := text.rfind("<!--")) > text.rfind("-->"):
            self.faults.append(
                (
                    text.count("\n", 0, start) + 1,
                    1,
                    "This comment is never closed.",
                )
            )
        self.faults.sort()

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        """Open an element."""
        if not re.fullmatch(_VOID, tag):
            self._open.append((tag, *self.getpos()))
            self._names[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and those within it that may end with it."""
        if self._names[tag]:
            self._close_until(tag)
        elif not re.fullmatch(f"{_VOID}|{_OPTIONAL}", tag):
            self._fault(
                *self.getpos(),
                f"</{tag[:40]}> closes nothing.",
            )

    def _close_until(self, tag: str) -> None:
        while self._open:
            name, line, column = self._open.pop()
            self._names[name] -= 1
            if name == tag:
                return
            if not re.fullmatch(_OPTIONAL, name):
                self._fault(line, column, f"<{name[:40]}> is never closed.")

    def _fault(self, line: int, column: int, words: str) -> None:
        self.faults.append((line, column + 1, words))
