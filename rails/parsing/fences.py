"""What a fence line looks like, and which languages are JSON."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = re.compile(r"[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(`{3,}|~{3,})[ \t]*(.*)", re.S)
JSON_INFO: Final = re.compile(r"(?:\{\.)?(?:json5?|jsonc)(?![\w.+#-])[ \t]*", re.IGNORECASE)
#: JSON on the line of its fence, told from attributes such as {1,3} or {.numbered}.
INLINE: Final = re.compile(r"[{\[]\s*(?:[\"'“{\[\]}/#]|\Z|[A-Za-z_$][\w$-]*\s*:)")
BARE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t\r]*\n?\Z")
_BARE_LINE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t\r]*(?:\n|\Z)")
#: How far a fence may be indented for the shortcut to see it.
INDENT: Final = 100


def closing_line(text: str, pos: int, end: int, mark: str) -> re.Match[str] | None:
    """Return the first line in ``text[pos:end]`` that can close a fence that ``mark`` opened."""
    found = max(text.find(mark[0], pos, end), pos)  # one character is found much sooner than three
    while (found := text.find(mark, found, end)) >= 0:
        start = text.rfind("\n", max(pos - 1, found - INDENT), found) + 1 or pos
        line = _BARE_LINE.match(text, start, end)
        if line and line.end(1) - line.start(1) >= len(mark):
            return line
        found += len(mark)
    return None
