"""The lines that two texts share: a longest common subsequence, exact up to a bound.

Every difference of lines is computed here, so that all agree. rapidfuzz compares what is between common ends and on
both sides. Of several least answers: an insertion that can slide to the difference above joins it, else it begins at
the least indented line, the last of these.

``limits.DIFF_PAIRS`` bounds that: about 20,000 by 20,000 reordered lines, 50 MB and 0.1 to 0.5 s. Beyond,
the lines in between are one replaced block, not ``exact``. Moved lines count as removed and added.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress, count, repeat
from typing import Final, NamedTuple, TypeAlias

from rails.core import limits
from rails.core.lazy_pattern import lazy

#: The bits of a line stand in whole words.
_WORD: Final = 64
#: The lengths that the header of a hunk names; a length of one is left out.
_HUNK: Final = lazy(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

_Lines: TypeAlias = Sequence[str | bytes]


class DiffBlock(NamedTuple):
    """Lines ``old_start:old_end`` become ``new_start:new_end``."""

    equal: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


class LineDiff(NamedTuple):
    """Blocks in order that cover both sides. ``exact``: as few changed lines as possible."""

    blocks: tuple[DiffBlock, ...]
    exact: bool

    @property
    def changed(self) -> tuple[DiffBlock, ...]:
        """The blocks that differ."""
        return tuple(block for block in self.blocks if not block.equal)

    @property
    def added(self) -> int:
        """Number of new lines."""
        return sum(block.new_end - block.new_start for block in self.changed)

    @property
    def removed(self) -> int:
        """Number of removed lines."""
        return sum(block.old_end - block.old_start for block in self.changed)

    def old_lines(self) -> list[int]:
        """Return each new line's 0-based old place, -1 if added or changed."""
        places: list[int] = []
        for equal, old_start, old_end, new_start, new_end in self.blocks:
            places += range(old_start, old_end) if equal else [-1] * (new_end - new_start)
        return places


#: A difference: from where to where on the old side, and on the new one.
_Gap: TypeAlias = tuple[int, int, int, int]


def line_diff(old: _Lines, new: _Lines, pairs: int = limits.DIFF_PAIRS) -> LineDiff:
    """Return how ``new`` comes from ``old``; beyond ``pairs`` not always the least difference."""
    head, tail = _common_ends(old, new)
    old_end = len(old) - tail
    new_end = len(new) - tail
    old_at, new_at, exact = _matched(old[head:old_end], new[head:new_end], pairs)
    gaps = _gaps([-1, *old_at, old_end - head], [-1, *new_at, new_end - head], head)
    return LineDiff(tuple(_blocks(_settled(_joined(gaps, old, new), old, new), len(old), len(new))), exact)


def line_map(old: _Lines, new: _Lines) -> list[int]:
    """Return each new line's 0-based place in ``old``, -1 if added or changed."""
    return line_diff(old, new).old_lines()


def unified(old: Sequence[str], new: Sequence[str], names: Sequence[str], context: int = 3) -> Iterator[str]:
    """Yield a unified diff without line ends, in ``difflib``'s form; nothing if nothing differs."""
    for number, hunk in enumerate(grouped(line_diff(old, new).blocks, context)):
        if number == 0:
            yield f"--- {names[0]}"
            yield f"+++ {names[1]}"
        first = hunk[0]
        last = hunk[-1]
        sides = _range(first.old_start, last.old_end), _range(first.new_start, last.new_end)
        yield f"@@ -{sides[0]} +{sides[1]} @@"
        for equal, old_start, old_end, new_start, new_end in hunk:
            yield from (f"{' ' if equal else '-'}{line}" for line in old[old_start:old_end])
            if not equal:
                yield from (f"+{line}" for line in new[new_start:new_end])


def grouped(blocks: Iterable[DiffBlock], context: int) -> Iterator[list[DiffBlock]]:
    """Yield each hunk's blocks: differences with at most ``context`` equal lines around and between."""
    hunk: list[DiffBlock] = []
    for block in blocks:
        length = block.old_end - block.old_start
        if not block.equal or (hunk and length <= 2 * context):
            hunk.append(block)
            continue
        if hunk:
            yield [*hunk, _part(block, 0, context)]
        hunk = [_part(block, max(0, length - context), length)]
    if len(hunk) > 1 and hunk[-1].equal:
        hunk[-1] = _part(hunk[-1], 0, min(context, hunk[-1].old_end - hunk[-1].old_start))
    if len(hunk) > 1 or (hunk and not hunk[0].equal):
        yield hunk


def _part(block: DiffBlock, start: int, end: int) -> DiffBlock:
    return DiffBlock(
        True, block.old_start + start, block.old_start + end, block.new_start + start, block.new_start + end
    )


def _range(start: int, end: int) -> str:
    """Return a hunk header's range; for no lines, the line above."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    shortest = min(len(old), len(new))
    head = next(compress(count(), map(operator.ne, old, new)), shortest)
    tail = next(compress(count(), map(operator.ne, reversed(old), reversed(new))), shortest)
    return head, min(tail, shortest - head)


def _matched(old: _Lines, new: _Lines, pairs: int) -> tuple[Sequence[int], Sequence[int], bool]:
    """Return equal lines' places, rising on both sides, and whether more are impossible."""
    numbers: dict[Hashable, int] = {}
    unused = count()
    ours, theirs = (list(map(numbers.setdefault, side, unused)) for side in (old, new))
    is_shared = set(ours).intersection(theirs).__contains__
    old_at, new_at = (list(compress(count(), map(is_shared, side))) for side in (ours, theirs))
    ours = list(filter(is_shared, ours))
    theirs = list(filter(is_shared, theirs))
    if ours == theirs:
        return old_at, new_at, True
    ends = sum(_common_ends(ours, theirs))
    if (len(ours) - ends + _WORD) * (len(theirs) - ends) > pairs:
        return (), (), False
    from rapidfuzz.distance import LCSseq

    equal = [code for code in LCSseq.opcodes(ours, theirs) if code.tag == "equal"]
    in_old = chain.from_iterable(old_at[code.src_start : code.src_end] for code in equal)
    in_new = chain.from_iterable(new_at[code.dest_start : code.dest_end] for code in equal)
    return list(in_old), list(in_new), True


def _gaps(old_at: Sequence[int], new_at: Sequence[int], head: int) -> Iterator[_Gap]:
    steps = zip(map(operator.sub, old_at[1:], old_at), map(operator.sub, new_at[1:], new_at), strict=True)
    for end in compress(count(1), map(operator.ne, steps, repeat((1, 1)))):
        yield old_at[end - 1] + 1 + head, old_at[end] + head, new_at[end - 1] + 1 + head, new_at[end] + head


def _joined(gaps: Iterable[_Gap], old: _Lines, new: _Lines) -> list[_Gap]:
    joined: list[_Gap] = []
    for below in gaps:
        gap = below
        while joined:
            above = joined[-1]
            between = gap[0] - joined[-1][1]
            if _again_above(*_only_side(gap, old, new), between) == between:
                gap = above[0], above[1] + gap[1] - gap[0], above[2], above[3] + gap[3] - gap[2]
            elif _again_below(*_only_side(above, old, new), between) == between:
                gap = gap[0] - above[1] + above[0], gap[1], gap[2] - above[3] + above[2], gap[3]
            else:
                break
            joined.pop()
        joined.append(gap)
    return joined


def _settled(gaps: Sequence[_Gap], old: _Lines, new: _Lines) -> Iterator[_Gap]:
    free_from = 0  # a line stays between two differences
    for gap, start_below in zip(gaps, [*(gap[0] for gap in gaps[1:]), len(old)], strict=False):
        side, start, end = _only_side(gap, old, new)
        up = _again_above(side, start, end, gap[0] - free_from)
        down = _again_below(side, start, end, start_below - gap[1])
        by = _where_a_block_begins(side[start - up : start + down + 1]) - up if up or down else 0
        yield gap[0] + by, gap[1] + by, gap[2] + by, gap[3] + by
        free_from = gap[1] + by + 1


def _only_side(gap: _Gap, old: _Lines, new: _Lines) -> tuple[_Lines, int, int]:
    if gap[0] == gap[1]:
        return new, gap[2], gap[3]
    return (old, gap[0], gap[1]) if gap[2] == gap[3] else (old, 0, 0)


def _again_above(side: _Lines, start: int, end: int, most: int) -> int:
    if start == end or not most or side[start - 1] != side[end - 1]:
        return 0
    differ = map(operator.ne, reversed(side[start - most : start]), reversed(side[end - most : end]))
    return next(compress(count(), differ), most)


def _again_below(side: _Lines, start: int, end: int, most: int) -> int:
    if start == end or not most or side[start] != side[end]:
        return 0
    return next(compress(count(), map(operator.ne, side[start : start + most], side[end : end + most])), most)


def _where_a_block_begins(lines: _Lines) -> int:
    ranks = [(not line.strip(), len(line) - len(line.lstrip()), -at) for at, line in enumerate(lines)]
    return -min(ranks)[2]


def _blocks(gaps: Iterable[_Gap], old_end: int, new_end: int) -> Iterator[DiffBlock]:
    old = new = 0
    for old_start, old_stop, new_start, new_stop in gaps:
        if old < old_start:
            yield DiffBlock(True, old, old_start, new, new_start)
        yield DiffBlock(False, old_start, old_stop, new_start, new_stop)
        old = old_stop
        new = new_stop
    if old < old_end:
        yield DiffBlock(True, old, old_end, new, new_end)


def changed_lines(unified_text: str) -> int:
    """Return how many lines a unified diff adds and removes, by its hunks; 0 for no diff."""
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
