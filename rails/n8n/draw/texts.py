"""A picture's texts as escaped SVG elements, cut to fit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final

from rails.core.text import printable

#: Canvas units between two lines.
LINE: Final = 20
_HEADING: Final = re.compile(r"^#{1,6}\s+")
_MARKDOWN: Final = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)|(\*\*|__|`+)")


def rows(kind: str, x: int, y: int, lines: list[str]) -> Iterator[str]:
    """Yield lines of text below each other."""
    for number, line in enumerate(lines):
        yield f'<text class="{kind}" x="{x}" y="{y + LINE * number}">{escape(line)}</text>'


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Cut printable ``text`` into at most ``most`` lines of ``width`` characters, at blanks if possible."""
    return textwrap.wrap(text, width, max_lines=most, placeholder="…")


def cut(text: str, width: int) -> str:
    """Return ``text``, ended by "…" if too long."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def note_lines(text: str, width: int, height: int) -> Iterator[str]:
    """Yield a sticky note's text, headings large, as fits."""
    y = 28
    for line in printable(text).split("\n"):
        is_heading = bool(_HEADING.match(line))
        plain = _MARKDOWN.sub(lambda match: match[1] or "", _HEADING.sub("", line))
        kind, chars = ("flow-h", (width - 28) // 9) if is_heading else ("flow-t", (width - 28) // 7)
        for part in wrapped(plain, max(8, chars), 8) or [""]:
            if y > height - 8:
                return
            yield from rows(kind, 14, y, [part] if part else [])
            y += LINE
