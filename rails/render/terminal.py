"""A terminal's width, and text wrapped to it. Imports little: every ``--help`` needs it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata
from typing import Final, TextIO

#: What a line of a list begins with; what is said of it is kept to the right of it.
_LEAD: Final = re.compile(r"\A(?: +\S+(?: \S+)* {2,}(?=\S)| *)")
_SET_IN: Final = 6
#: Stands for a blank at which no line is broken.
_KEPT_BLANK: Final = "\xa0"


def columns(usual: int = 80) -> int:
    """Return ``shutil.get_terminal_size``'s width, without its compression imports."""
    with contextlib.suppress(ValueError):
        if (named := int(os.environ.get("COLUMNS", ""))) > 0:
            return named
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or usual  # type: ignore[union-attr]
    return usual


def wants_colour(stream: TextIO) -> bool:
    """Return whether a terminal takes colours, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def unbroken(words: str) -> str:
    """Return ``words`` so that ``fitted`` keeps them together."""
    return words.replace(" ", _KEPT_BLANK)


def fitted(text: str, stream: TextIO) -> str:
    """Return ``text`` wrapped between words, with its indent.

    Lines stay unbroken if coloured, or if ``stream`` is no terminal.
    """
    if not stream.isatty():
        return text.replace(_KEPT_BLANK, " ")
    width = max(20, columns())  # narrower terminals break lines themselves
    return "\n".join(_broken(line, width) for line in text.split("\n")).replace(_KEPT_BLANK, " ")


def _broken(line: str, width: int) -> str:
    if "\x1b" in line or len(wrap(line, width)) == 1:
        return line
    lead = "".join(_LEAD.findall(line))
    rest = line[len(lead) :]
    ended = line[len(line.rstrip(" ")) :]
    taken = sum(map(_cells, lead))
    if taken > width // 2:  # what is said of a long name stands below it
        name = lead.rstrip(" ")
        below = _broken(" " * _SET_IN + rest, width)
        return f"{_broken(name, width)}\n{below}" if name else below
    pieces = filter(None, (piece.strip(" ") for piece in wrap(rest, width - taken, half=False)))
    return lead + f"\n{' ' * taken}".join(pieces) + ended


def wrap(text: str, width: int, *, half: bool = True) -> list[str]:
    """Cut printable ``text`` into at least one piece of at most ``width`` columns.

    Cuts between words; within one only if longer than ``half`` a line, or a line. Cuts after the first of several
    spaces, so that the rest shows. Joined pieces are ``text``.
    """
    if len(text) * 2 <= width or (text.isascii() and len(text) <= width):
        return [text]
    pieces = []
    start = used = 0
    for position, char in enumerate(text):
        cells = _cells(char)
        if used + cells > width:
            space = text.rfind(" ", start + (position - start) // 2 * half, position)
            while space > start and text[space - 1] == " " and position - space < width // 2:
                space -= 1
            cut = space + 1 if space >= 0 else position
            pieces.append(text[start:cut])
            used = sum(map(_cells, text[cut:position]))
            start = cut
        used += cells
    return [*pieces, text[start:]]


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")
