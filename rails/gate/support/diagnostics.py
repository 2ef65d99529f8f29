"""What a linter says about a text, and the edits that it offers, put into the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from rails.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FixEdit:
    """Replace the text from one 1-based (line, column) to another with ``content``."""

    start: tuple[int, int]
    end: tuple[int, int]
    content: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of ruff's. ``edits`` is its fix, ``safe`` whether ruff calls that fix safe."""

    rule: str
    message: str
    start: tuple[int, int]
    end: tuple[int, int]
    edits: tuple[FixEdit, ...] = ()
    safe: bool = False
    remedy: str = ""


_LINE_END: Final = re.compile(r"\r\n|\r|\n")


SYNTAX: Final = "invalid-syntax"


def apply_fixes(text: str, chosen: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply the fixes of ``chosen`` that don't overlap, first come first served; return what was applied.

    Several findings can share one fix (two unused names of one import line): it is applied once and
    counts for each of them.
    """
    starts = _line_starts(text)
    taken: list[tuple[int, int, str]] = []
    applied: list[Diagnostic] = []
    for diagnostic in sorted(chosen, key=lambda d: (d.edits[0].start, d.rule) if d.edits else (d.start, d.rule)):
        spans = [
            (_offset(starts, e.start, len(text)), _offset(starts, e.end, len(text)), e.content)
            for e in diagnostic.edits
        ]
        if not spans:
            continue
        if all(span in taken for span in spans):
            applied.append(diagnostic)
        elif not any(_overlap(span, other) for span in spans for other in taken):
            taken += spans
            applied.append(diagnostic)
    for begin, end, content in sorted(taken, reverse=True):
        text = text[:begin] + content + text[end:]
    return text, applied


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    # Touching insertions count as an overlap too: their order would be a guess.
    return one[0] <= other[1] and other[0] <= one[1]


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(found.end() for found in _LINE_END.finditer(text))]
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]


def _offset(starts: Sequence[int], place: tuple[int, int], size: int) -> int:
    line, column = place
    return min(starts[line - 1] + column - 1, size) if line <= len(starts) else size
