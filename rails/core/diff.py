"""The lines that two texts share: a longest common subsequence, exact up to a bound.

Every difference of lines is computed here, so that all agree. rapidfuzz compares what is between common ends and on
both sides. Of several least answers: an insertion that can slide to the difference above joins it, else it begins at
the least indented line, the last of these.

``limits.DIFF_PAIRS`` bounds that: about 20,000 by 20,000 reordered lines, 50 MB and 0.1 to 0.5 s. Beyond,
the lines in between are one replaced block, not ``exact``. Moved lines count as removed and added.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, count
from typing import Final, NamedTuple, TypeAlias

from rails.core import limits
from rails.core.lazy_pattern import lazy

#: The bits of a line stand in whole words.
_WORD: Final = 64
#: The names of a file, above its first hunk or above what is said instead of one.
_HEADS: Final = lazy(r"(?m)^--- .*\n\+\+\+ .*\n(?=@@ -|File )")

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


#: A difference: from where to where on the old side, and on the new one.
_Gap: TypeAlias = tuple[int, int, int, int]


def line_diff(old: _Lines, new: _Lines, pairs: int = limits.DIFF_PAIRS) -> LineDiff:
    """Return how ``new`` comes from ``old``; beyond ``pairs`` not always the least difference."""
    head, tail = _common_ends(old, new)
    old_end = len(old) - tail
    new_end = len(new) - tail
    matched, exact = _matched(old[head:old_end], new[head:new_end], pairs)
    equal = [(old_at + head, new_at + head) for old_at, new_at in matched]
    gaps = _joined(_gaps([*equal, (old_end, new_end)], head), old, new)
    return LineDiff(tuple(_blocks(_settled(gaps, old, new), len(old), len(new))), exact)


def line_map(old: _Lines, new: _Lines) -> list[int]:
    """Return each new line's 0-based place in ``old``, -1 if added or changed."""
    places: list[int] = []
    for equal, old_start, old_end, new_start, new_end in line_diff(old, new).blocks:
        places += range(old_start, old_end) if equal else [-1] * (new_end - new_start)
    return places


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


def _equal(one: Iterable[object], other: Iterable[object], most: int) -> int:
    """Return how many of the first ``most`` items are the same."""
    return next(compress(count(), map(operator.ne, one, other)), most)


def _common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    shortest = min(len(old), len(new))
    head = _equal(old, new, shortest)
    return head, min(_equal(reversed(old), reversed(new), shortest), shortest - head)


def _matched(old: _Lines, new: _Lines, pairs: int) -> tuple[list[tuple[int, int]], bool]:
    """Return equal lines' places, rising on both sides, and whether more are impossible."""
    numbers = {line: number for number, line in enumerate({*old} & {*new})}
    old_at = [at for at, line in enumerate(old) if line in numbers]
    new_at = [at for at, line in enumerate(new) if line in numbers]
    ours = [numbers[old[at]] for at in old_at]
    theirs = [numbers[new[at]] for at in new_at]
    if ours == theirs:
        return list(zip(old_at, new_at, strict=True)), True
    ends = sum(_common_ends(ours, theirs))
    if (len(ours) - ends + _WORD) * (len(theirs) - ends) > pairs:
        return [], False
    from rapidfuzz.distance import LCSseq

    runs = LCSseq.opcodes(ours, theirs).as_matching_blocks()
    return [(old_at[run.a + at], new_at[run.b + at]) for run in runs for at in range(run.size)], True


def _gaps(equal: Iterable[tuple[int, int]], head: int) -> Iterator[_Gap]:
    old = new = head
    for old_at, new_at in equal:
        if (old, new) != (old_at, new_at):
            yield old, old_at, new, new_at
        old = old_at + 1
        new = new_at + 1


def _joined(gaps: Iterable[_Gap], old: _Lines, new: _Lines) -> list[_Gap]:
    joined: list[_Gap] = []
    for below in gaps:
        gap = below
        while joined:
            above = joined[-1]
            between = gap[0] - above[1]
            if _slack(gap, between, 0, old, new)[0] == between:
                gap = above[0], gap[1] - between, above[2], gap[3] - between
            elif _slack(above, 0, between, old, new)[1] == between:
                gap = above[0] + between, gap[1], above[2] + between, gap[3]
            else:
                break
            joined.pop()
        joined.append(gap)
    return joined


def _settled(gaps: Sequence[_Gap], old: _Lines, new: _Lines) -> Iterator[_Gap]:
    free_from = 0  # a line stays between two differences
    for gap, below in zip(gaps, [*(gap[0] for gap in gaps[1:]), len(old)], strict=False):
        up, down = _slack(gap, gap[0] - free_from, below - gap[1], old, new)
        side, start = (new, gap[2]) if gap[0] == gap[1] else (old, gap[0])
        by = _where_a_block_begins(side[start - up : start + down + 1]) - up if up or down else 0
        yield gap[0] + by, gap[1] + by, gap[2] + by, gap[3] + by
        free_from = gap[1] + by + 1


def _slack(gap: _Gap, above: int, below: int, old: _Lines, new: _Lines) -> tuple[int, int]:
    """Return by how many of the equal lines around it a difference of one side alone can slide up and down."""
    if gap[0] != gap[1] and gap[2] != gap[3]:
        return 0, 0
    side, start, end = (new, gap[2], gap[3]) if gap[0] == gap[1] else (old, gap[0], gap[1])
    up = _equal(reversed(side[start - above : start]), reversed(side[end - above : end]), above)
    return up, _equal(side[start : start + below], side[end : end + below], below)


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
    """Return how many lines a unified diff adds and removes; 0 for no diff."""
    hunks = _HEADS.sub("", unified_text).partition("@@ -")[2]
    return sum(row[:1] in ("+", "-") for row in hunks.split("\n"))
