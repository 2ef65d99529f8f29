"""The lines that two texts share: a longest common subsequence, exact up to a bound, and one replacement beyond it.

Pure. Every difference of lines in AI-Rails is computed here, so that the gate, the approval, the log and the page
count the same lines. What both texts begin and end with is set aside, then the lines that only one of them has (they
match nothing); rapidfuzz compares the rest, 64 lines at a time. Of several least answers the one that people expect
is taken: an insertion that can slide to the difference above it joins it, and else begins at the line that is
indented least, the last of these.

The bound ``limits.DIFF_PAIRS`` is on what rapidfuzz gets: about 20,000 by 20,000 lines that stand on both sides in
another order. They take 50 MB and, measured, 0.1 to 0.5 s. Where more is left, the lines in between are one replaced
block and the result is not ``exact``: right, but not the least.

Covered: lines of text or bytes; how a text is cut into lines is up to the caller. Not covered: moved lines (they are
removed and added), and likeness within a line.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress, count, pairwise, repeat
from typing import Final, NamedTuple, TypeAlias

from rails.core import limits

#: The bits of a line stand in whole words.
_WORD: Final = 64
#: The lengths that the header of a hunk names; a length of one is left out.
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

_Lines: TypeAlias = Sequence[str | bytes]


class DiffBlock(NamedTuple):
    """Lines ``old_start:old_end`` of one side, which are or become lines ``new_start:new_end`` of the other."""

    equal: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


class LineDiff(NamedTuple):
    """Blocks in order that together cover both sides. ``exact``: no smaller number of changed lines does it."""

    blocks: tuple[DiffBlock, ...]
    exact: bool

    @property
    def changed(self) -> tuple[DiffBlock, ...]:
        """The blocks that differ."""
        return tuple(block for block in self.blocks if not block.equal)

    @property
    def added(self) -> int:
        """Number of lines that only the new side has."""
        return sum(block.new_end - block.new_start for block in self.changed)

    @property
    def removed(self) -> int:
        """Number of lines that only the old side has."""
        return sum(block.old_end - block.old_start for block in self.changed)

    def old_lines(self) -> list[int]:
        """Return for each new line its 0-based place on the old side, or -1 where it was added or changed."""
        places: list[int] = []
        for equal, old_start, old_end, new_start, new_end in self.blocks:
            places += range(old_start, old_end) if equal else [-1] * (new_end - new_start)
        return places


class _Run(NamedTuple):
    """``length`` equal lines, at ``old`` of one side and ``new`` of the other."""

    old: int
    new: int
    length: int


def line_diff(old: _Lines, new: _Lines, pairs: int = limits.DIFF_PAIRS) -> LineDiff:
    """Return how ``new`` comes from ``old``; with more than ``pairs`` to compare, not always in the least way."""
    head, tail = _common_ends(old, new)
    matched, exact = _matched(old[head : len(old) - tail], new[head : len(new) - tail], pairs)
    inner = (_Run(head + run.old, head + run.new, run.length) for run in matched)
    runs = _joined([_Run(0, 0, head), *inner, _Run(len(old) - tail, len(new) - tail, tail)])
    return LineDiff(tuple(_blocks(_slid(runs, old, new), len(old), len(new))), exact)


def line_map(old: _Lines, new: _Lines) -> list[int]:
    """Return for each line of ``new`` its 0-based place in ``old``, or -1 where it was added or changed."""
    return line_diff(old, new).old_lines()


def unified(old: Sequence[str], new: Sequence[str], names: Sequence[str], context: int = 3) -> Iterator[str]:
    """Yield a unified diff as lines without line ends, in the form of the standard library; none if nothing differs."""
    for number, hunk in enumerate(grouped(line_diff(old, new).blocks, context)):
        if number == 0:
            yield f"--- {names[0]}"
            yield f"+++ {names[1]}"
        first, last = hunk[0], hunk[-1]
        sides = _range(first.old_start, last.old_end), _range(first.new_start, last.new_end)
        yield f"@@ -{sides[0]} +{sides[1]} @@"
        for equal, old_start, old_end, new_start, new_end in hunk:
            yield from (f"{' ' if equal else '-'}{line}" for line in old[old_start:old_end])
            if not equal:
                yield from (f"+{line}" for line in new[new_start:new_end])


def grouped(blocks: Iterable[DiffBlock], context: int) -> Iterator[list[DiffBlock]]:
    """Yield the blocks of each hunk: differences with at most ``context`` equal lines around and between them."""
    hunk: list[DiffBlock] = []
    for block in blocks:
        length = block.old_end - block.old_start
        if not block.equal:
            hunk.append(block)
        elif not hunk:
            hunk = [_part(block, max(0, length - context), length)]
        elif length > 2 * context:
            yield [*hunk, _part(block, 0, context)]
            hunk = [_part(block, length - context, length)]
        else:
            hunk.append(block)
    if len(hunk) > 1 and hunk[-1].equal:
        hunk[-1] = _part(hunk[-1], 0, min(context, hunk[-1].old_end - hunk[-1].old_start))
    if len(hunk) > 1 or (hunk and not hunk[0].equal):
        yield hunk


def _part(block: DiffBlock, start: int, end: int) -> DiffBlock:
    return DiffBlock(
        True, block.old_start + start, block.old_start + end, block.new_start + start, block.new_start + end
    )


def _range(start: int, end: int) -> str:
    """Return lines as a hunk's header says them: the first and how many; of none, the line above."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Count the lines that both sides begin with, and of the rest those that both end with."""
    shortest = min(len(old), len(new))
    head = next(compress(count(), map(operator.ne, old, new)), shortest)
    tail = next(compress(count(), map(operator.ne, reversed(old), reversed(new))), shortest)
    return head, min(tail, shortest - head)


def _matched(old: _Lines, new: _Lines, pairs: int) -> tuple[list[_Run], bool]:
    """Return runs of equal lines, rising on both sides and as many lines as there can be; and whether they are."""
    numbers: dict[Hashable, int] = {}
    unused = count()
    ours, theirs = (list(map(numbers.setdefault, side, unused)) for side in (old, new))
    is_shared = set(ours).intersection(theirs).__contains__
    old_at, new_at = (list(compress(count(), map(is_shared, side))) for side in (ours, theirs))
    ours, theirs = list(filter(is_shared, ours)), list(filter(is_shared, theirs))
    if ours == theirs:
        return list(_runs(old_at, new_at)), True
    ends = sum(_common_ends(ours, theirs))
    if (len(ours) - ends + _WORD) * (len(theirs) - ends) > pairs:
        return [], False
    from rapidfuzz.distance import LCSseq

    equal = [code for code in LCSseq.opcodes(ours, theirs) if code.tag == "equal"]
    matched_old = chain.from_iterable(old_at[code.src_start : code.src_end] for code in equal)
    matched_new = chain.from_iterable(new_at[code.dest_start : code.dest_end] for code in equal)
    return list(_runs(list(matched_old), list(matched_new))), True


def _runs(old_at: Sequence[int], new_at: Sequence[int]) -> Iterator[_Run]:
    """Yield the runs of places that follow each other on both sides."""
    steps = zip(map(operator.sub, old_at[1:], old_at), map(operator.sub, new_at[1:], new_at), strict=True)
    breaks = compress(count(1), map(operator.ne, steps, repeat((1, 1))))
    starts = [0, *breaks] if old_at else []
    for start, end in pairwise([*starts, len(old_at)]):
        yield _Run(old_at[start], new_at[start], end - start)


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    """Return the runs without empty ones, each as long as it can be."""
    joined: list[_Run] = []
    for run in runs:
        if not run.length:
            continue
        if joined and (joined[-1].old + joined[-1].length, joined[-1].new + joined[-1].length) == run[:2]:
            above = joined.pop()
            joined.append(above._replace(length=above.length + run.length))
        else:
            joined.append(run)
    return joined


def _slid(runs: Sequence[_Run], old: _Lines, new: _Lines) -> list[_Run]:
    """Return the runs after each difference was moved to the next one, else to where a block begins.

    A difference can slide where only one side has lines and these begin like what follows, or end like what precedes.
    """
    moved = [_Run(0, 0, 0)]
    for run in [*_joined_upwards(runs, old, new), _Run(len(old), len(new), 0)]:
        above = moved[-1]
        side, start, end = _between(above, run, old, new)
        up, down = _again_above(side, start, end, above.length), _again_below(side, start, end, run.length)
        if (up or down) and not 0 < run.length == down:
            down = _where_a_block_begins(side[start - up : start + down + 1]) - up
        moved[-1] = above._replace(length=above.length + down)
        if down < run.length:
            moved.append(_Run(run.old + down, run.new + down, run.length - down))
    return [run for run in moved if run.length]


def _joined_upwards(runs: Sequence[_Run], old: _Lines, new: _Lines) -> list[_Run]:
    """Let a difference join the one above it where all lines between them can stand below it as well."""
    moved: list[_Run] = []
    for run in reversed(runs):
        below = moved[-1] if moved and run[:2] != (0, 0) else None
        if below is not None and _again_above(*_between(run, below, old, new), run.length) == run.length:
            moved[-1] = _Run(below.old - run.length, below.new - run.length, run.length + below.length)
        else:
            moved.append(run)
    return moved[::-1]


def _between(above: _Run, below: _Run, old: _Lines, new: _Lines) -> tuple[_Lines, int, int]:
    """Return the side that has lines between two runs, and from where to where; none unless it is exactly one."""
    old_start, new_start = above.old + above.length, above.new + above.length
    if old_start == below.old:
        return new, new_start, below.new
    return (old, old_start, below.old) if new_start == below.new else (old, 0, 0)


def _again_above(side: _Lines, start: int, end: int, most: int) -> int:
    """Count the lines that stand above ``start`` and, in the same order, above ``end``, too."""
    if start == end or not most or side[start - 1] != side[end - 1]:
        return 0
    differ = map(operator.ne, reversed(side[start - most : start]), reversed(side[end - most : end]))
    return next(compress(count(), differ), most)


def _again_below(side: _Lines, start: int, end: int, most: int) -> int:
    """Count the lines that stand from ``start`` on and from ``end`` on, too."""
    if start == end or not most or side[start] != side[end]:
        return 0
    return next(compress(count(), map(operator.ne, side[start : start + most], side[end : end + most])), most)


def _where_a_block_begins(lines: _Lines) -> int:
    """Return which of the lines is indented least, blank ones last; of several, the last."""
    ranks = [(not line.strip(), len(line) - len(line.lstrip()), -at) for at, line in enumerate(lines)]
    return -min(ranks, default=(False, 0, 0))[2]


def _blocks(runs: Iterable[_Run], old_end: int, new_end: int) -> Iterator[DiffBlock]:
    """Yield the runs, and between them what differs."""
    old = new = 0
    for run in [*runs, _Run(old_end, new_end, 0)]:
        if (old, new) != run[:2]:
            yield DiffBlock(False, old, run.old, new, run.new)
        old, new = run.old + run.length, run.new + run.length
        if run.length:
            yield DiffBlock(True, run.old, old, run.new, new)


def changed_lines(unified_text: str) -> int:
    """How many lines a unified diff adds and removes, by the lengths that its hunks name; 0 for what is no diff.

    A line of a file that looks like a header or a sign counts as the line that it is.
    """
    changed = old_left = new_left = 0
    for row in unified_text.split("\n"):
        if old_left <= 0 and new_left <= 0:
            if hunk := _HUNK.match(row):
                old_left, new_left = (int(length) if length else 1 for length in hunk.groups())
            continue
        sign = row[:1]
        if sign == "\\":
            continue
        old_left -= sign != "+"
        new_left -= sign != "-"
        changed += sign in ("+", "-")
    return changed
