"""Causes of code that does not parse: markers, fences, chat around it, a cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.gate.baseline import split_lines

_OPEN: Final = lazy(r"<{7}(?: .*)?$")
_MIDDLE: Final = lazy(r"={7}$")
_CLOSE: Final = lazy(r">{7}(?: .*)?$")
_FENCE: Final = lazy(r"\s*`{3,}[\w+.-]*\s*$")
#: Three words or more, the first with a capital: no line of code.
_PROSE: Final = lazy(r"\s*[A-Z][\w'’]*[,:]?(?: [\w'’-]+[.,:;!?]?){2,}\s*$")
_CURLY: Final = lazy("[\u2018\u2019\u201c\u201d\u00ab\u00bb\u2032\u2033]")
#: What parsers say of a text that ends too early.
_WANTS_MORE: Final = lazy(r"EOF|expected (?:an indented block|'except')")


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
    return next((number for number in (*filled[:1], *filled[-1:]) if _FENCE.match(lines[number - 1])), 0)


def with_cause(text: str, line: int, message: str, column: int = 0) -> tuple[str, str]:
    """Return a parser's message with the cause, where it is known, and what to do, or "".

    ``line`` and ``column`` are the parser's place (1-based, 0: unknown).
    """
    why, remedy = _cause(text, line, message, column)
    return f"{message.rstrip('.')}. {why}" if why else message, remedy


def _cause(text: str, line: int, message: str, column: int) -> tuple[str, str]:
    lines = split_lines(text)
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    if found := next(marker_blocks(lines, skip_fenced=False), None):
        return found[1], "Write the file as it should be, without the marker lines."
    if any(_OPEN.match(text) or _CLOSE.match(text) for text in lines):
        return "A line of conflict or edit markers is left in the file.", "Leave the marker lines out."
    if fence := wrapping_fence(lines) or (line if _FENCE.match(here) else 0):
        return f"A Markdown code fence is left in the file (line {fence}).", "Send the code only, without fence lines."
    if _PROSE.match(here):
        return f"Line {line} is prose, not code.", "Send the code only; put remarks in comments."
    if _CURLY.search(here):
        return f"Line {line} has typographic quotation marks.", "Use plain ' and \" quotation marks."
    if text.strip() and _is_cut_off(lines, line, here, message, column):
        return "The file ends in the middle of a statement: it may have been cut off.", "Send the whole file again."
    return "", ""


def _is_cut_off(lines: Sequence[str], line: int, here: str, message: str, column: int) -> bool:
    rest = [text for text in lines[line:] if text.strip()]
    if "never closed" in message:
        # A line no deeper than that of a bracket says that the bracket was forgotten.
        return not any(_indent(text) <= _indent(here) for text in rest)
    if "unterminated triple" in message:
        return True
    if rest or _WANTS_MORE.search(message) or not here.strip():
        return not rest
    return lines[-1] != "" and ("unterminated" in message or column >= len(here.rstrip()))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
