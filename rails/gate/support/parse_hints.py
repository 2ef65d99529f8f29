"""Causes of code that does not parse: markers, fences, chat around it, a cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.gate.baseline import split_lines

_OPEN: Final = lazy(r"<{7}(?: .*)?$")
_MIDDLE: Final = lazy(r"={7}$")
_CLOSE: Final = lazy(r">{7}(?: .*)?$")
_FENCE: Final = lazy(r"\s*`{3,}[\w+.-]*\s*$")
_PROSE_START: Final = lazy(
    r"(?:sure|certainly|of course|here(?:'s| is| are)|below is|i(?:'ll| will|'ve| have)|this (?:is|code|script|file)|"
    r"note|let me|explanation|the (?:following|code|above|updated|complete)|in this|to (?:run|use|fix)|okay|great)\b"
    r"[^=(){}\[\]]*[.:,!]?",
    re.I,
)
_STATEMENT: Final = lazy(r"(?:def|class|import|from|return|if|for|while|with|try|raise|async|@)\b|[\w.\[\]'\"]+ ?=[^=]")
_CURLY: Final = lazy("[\u2018\u2019\u201c\u201d\u00ab\u00bb\u2032\u2033]")


def marker_blocks(lines: Sequence[str], *, skip_fenced: bool) -> Iterator[tuple[int, str]]:
    """Yield the first line of each complete conflict or edit block."""
    start = middle = 0
    fenced = False
    for number, line in enumerate(lines, 1):
        if skip_fenced and _FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        if _OPEN.match(line):
            start = number
            middle = 0
        elif start and _MIDDLE.match(line):
            middle = number
        elif start and middle and _CLOSE.match(line):
            kind = "a search/replace block" if "REPLACE" in line else "a merge conflict"
            yield start, f"The markers of {kind} are left in the file (lines {start} to {number})."
            start = middle = 0


def wrapping_fence(lines: Sequence[str]) -> int:
    """Return the line of a fence around the whole file, or 0."""
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    if filled and _FENCE.match(lines[filled[0] - 1]):
        return filled[0]
    if len(filled) > 1 and _FENCE.match(lines[filled[-1] - 1]):
        return filled[-1]
    return 0


def cause(text: str, line: int, message: str = "", column: int = 0) -> tuple[str, str]:
    """Return why code does not parse and what to do, or two empty strings.

    ``line`` and ``column`` are the parser's place (1-based, 0: unknown), ``message`` is its message.
    """
    lines = split_lines(text)
    if found := next(marker_blocks(lines, skip_fenced=False), None):
        return found[1], "Write the file as it should be, without the marker lines."
    if any(_OPEN.match(text) or _CLOSE.match(text) for text in lines):
        return "A line of conflict or edit markers is left in the file.", "Leave the marker lines out."
    filled = [number for number, text in enumerate(lines, 1) if text.strip()]
    if not filled:
        return "", ""
    first = filled[0]
    last = filled[-1]
    if fence := next((number for number in (first, line, last) if _is_fence(lines, number)), 0):
        return f"A Markdown code fence is left in the file (line {fence}).", "Send the code only, without fence lines."
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    if _PROSE_START.fullmatch(here.strip()) or (line == first and _is_prose(here)):
        return f"Line {line} is prose, not code.", "Send the code only; put remarks in comments."
    if _CURLY.search(here):
        return f"Line {line} has typographic quotation marks.", "Use plain ' and \" quotation marks."
    at_end = lines[-1] != "" and line >= last and column >= len(here.rstrip())
    if at_end or _is_cut_off(lines, last, line, message):
        return "The file ends in the middle of a statement: it may have been cut off.", "Send the whole file again."
    return "", ""


def _is_fence(lines: Sequence[str], number: int) -> bool:
    return 0 < number <= len(lines) and _FENCE.match(lines[number - 1]) is not None


def _is_cut_off(lines: Sequence[str], last: int, line: int, message: str) -> bool:
    if "never closed" in message:
        # Statements after the bracket, no deeper than its line, say that a bracket was forgotten there.
        indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
        after = (text for text in lines[line:last] if text.strip())
        return not any(len(text) - len(text.lstrip()) <= indent and _STATEMENT.match(text.strip()) for text in after)
    if "unterminated" in message:
        return "triple" in message or (line >= last and lines[-1] != "")
    if "expected an indented block" in message or "EOF" in message or "expected 'except'" in message:
        return line >= last
    return line > last


def _is_prose(line: str) -> bool:
    words = line.split()
    plain = sum(1 for word in words if re.fullmatch(r"[A-Za-z][A-Za-z'’-]*[.,:;!?]?", word))
    return len(words) >= 4 and plain >= 0.8 * len(words)
