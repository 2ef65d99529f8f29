"""A literal match that begins or ends inside a line.

A search text that ends in a line ending means whole lines. If it begins within a line's blanks, its further lines are
as far left as that (``shifted``) or as sent: the reading laid out like code is taken, if only one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rails.core.diff import line_diff
from rails.edits.indent import OPENERS
from rails.edits.strategies import LinePlaces, TextPlaces, map_at
from rails.edits.text_view import View, indent

#: From where to where in the flat text, and what takes its place.
Piece = tuple[int, int, str]


def piece_at(view: View, found: TextPlaces, start: int) -> Piece | None:
    """Return what to write at ``start``; None if its indentation is unclear."""
    old, new, end = found.old, found.new, start + len(found.old)
    begin = view.flat.rfind("\n", 0, start) + 1
    before = view.flat[begin:start]
    if not old.strip("\n"):
        return start, end, new
    if old.endswith("\n") and not new.endswith("\n"):
        if not new and not before.strip():
            return begin, end, new
        if new.endswith((" ", "\t")) and before.strip():
            return start, end, new  # it joins two lines
        old = old[:-1]
        end -= 1
    if old.startswith("\n") and before and new and not new.startswith("\n"):
        return start + 1, end, new
    further = any(line.strip() for line in new.split("\n")[1:])
    if before.strip() or not before or not further or not old.split("\n", 1)[0].strip():
        return start, end, new
    if "\n" in old and not indent(old):
        return (start, end, new) if _is_shown(before, old, new) else None
    return _of_two(view, (start, end, new), begin)


def _is_shown(before: str, old: str, new: str) -> bool:
    were = old.split("\n")
    lines = new.split("\n")
    shown = (before + indent(were[0]), *(indent(line) for line in were[1:] if line.strip()))
    added = (n for block in line_diff(were, lines).changed for n in range(max(1, block.new_start), block.new_end))
    return all(lines[n].startswith(shown) for n in added if lines[n].strip())


def _of_two(view: View, sent: Piece, begin: int) -> Piece | None:
    start, end, new = sent
    line_end = view.flat.find("\n", end)
    tail = view.flat[end : line_end if line_end >= 0 else None]
    old = f"{view.flat[start:end]}{tail}"
    block = LinePlaces(5, (), tuple(old.split("\n")), tuple(f"{new}{tail}".split("\n")))
    at = view.line_of(begin) - 1
    literal = f"{view.flat[begin:start]}{new}{tail}".split("\n")
    shifted = _shifted(view, block, at)
    if shifted == literal:
        return sent
    faults = _faults(literal) + sum(not line.startswith(indent(literal[0])) for line in literal[1:] if line.strip())
    if shifted is None:
        return None if faults else sent
    if faults == _faults(shifted):
        return None
    return sent if faults < _faults(shifted) else (begin, end, "\n".join(shifted).removesuffix(tail))


def _shifted(view: View, block: LinePlaces, at: int) -> list[str] | None:
    known = map_at(view, at, block)
    if known is None or block.new is None:
        return None
    there = [known.translate(indent(line)) if line.strip() else "" for line in block.new]
    if None in there:
        return None
    return [f"{blanks}{line.lstrip()}" for blanks, line in zip(there, block.new, strict=True)]


def _faults(lines: Sequence[str]) -> int:
    """Count lines needlessly deeper than the one above, or not deeper below one that opens a block."""
    full = [line for line in lines if line.strip()]
    return sum((len(indent(low)) < len(indent(high))) != low.rstrip().endswith(OPENERS) for low, high in pairwise(full))
