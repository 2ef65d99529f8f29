"""Which lines are the same on both sides: like ``difflib``, with a bound on time. Pure.

``difflib`` needs time in the square of the number of differing lines when many small blocks differ.
Here equal heads and tails are set aside first, and large rests are cut at lines that occur exactly once
on both sides (the anchors of patience diff), so that ``difflib`` only sees small pieces.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

#: Lines of a piece, both sides together, that difflib may pair (about 20 ms at worst).
PAIRED_LINES: Final = 1_000


class DiffBlock(NamedTuple):
    """Lines ``old_start:old_end`` of one side against ``new_start:new_end`` of the other."""

    equal: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def diff_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffBlock]:
    """Yield blocks in order that together cover both sides. A piece too large to pair is one difference."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    if head:
        yield DiffBlock(True, 0, head, 0, head)
    yield from _middle(old[: len(old) - tail], new[: len(new) - tail], head)
    if tail:
        yield DiffBlock(True, len(old) - tail, len(old), len(new) - tail, len(new))


def changed_lines(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the added and removed lines."""
    return sum(b.old_end - b.old_start + b.new_end - b.new_start for b in diff_blocks(old, new) if not b.equal)


def _middle(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[DiffBlock]:
    i = j = start
    large = len(old) + len(new) - 2 * start > PAIRED_LINES
    for anchor_i, anchor_j in _anchors(old, new, start) if large else ():
        yield from _piece(old, new, (i, anchor_i), (j, anchor_j))
        yield DiffBlock(True, anchor_i, anchor_i + 1, anchor_j, anchor_j + 1)
        i, j = anchor_i + 1, anchor_j + 1
    yield from _piece(old, new, (i, len(old)), (j, len(new)))


def _piece(
    old: Sequence[str], new: Sequence[str], old_range: tuple[int, int], new_range: tuple[int, int]
) -> Iterator[DiffBlock]:
    (i1, i2), (j1, j2) = old_range, new_range
    if i2 - i1 + j2 - j1 > PAIRED_LINES:
        yield DiffBlock(False, i1, i2, j1, j2)
        return
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, old[i1:i2], new[j1:j2], autojunk=False).get_opcodes():
        yield DiffBlock(tag == "equal", i1 + a1, i1 + a2, j1 + b1, j1 + b2)


def _anchors(old: Sequence[str], new: Sequence[str], start: int) -> list[tuple[int, int]]:
    """Return the longest rising chain of lines that occur once on each side (patience sorting)."""
    once_old = _once(old, start)
    once_new = _once(new, start)
    pairs = [(i, once_new[line]) for line, i in once_old.items() if line in once_new]
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for position, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        previous.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        ends[pile : pile + 1] = [position]
    chain = []
    position = ends[-1] if ends else -1
    while position >= 0:
        chain.append(pairs[position])
        position = previous[position]
    return chain[::-1]


def _once(lines: Sequence[str], start: int) -> dict[str, int]:
    """Return the lines that occur once from ``start`` on, with their places, in order."""
    counts = Counter(lines[start:])
    return {line: i for i, line in enumerate(lines[start:], start) if counts[line] == 1}


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
