r"""Three-way merge on lines that cannot misplace anything: both sides' changes, or a conflict.

The texts are cut at lines that each has exactly once, in the same order. If both sides changed a piece, a base line
must lie between the changes, however far repeated lines let them slide. Lines end in ``\n``. Not covered:
contradictions in meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from rails.core.diff import line_diff


class Conflict(Struct, frozen=True):
    """Both sides changed lines ``first_line`` to ``last_line`` of ours, from 1."""

    first_line: int
    last_line: int


def merge3(base: bytes, ours: bytes, theirs: bytes) -> bytes | Conflict:
    """Return ``ours`` with the changes of ``theirs``, or the first conflict."""
    sides = tuple(_lines(data) for data in (base, ours, theirs))
    cuts = [*_anchors(*sides), tuple(len(lines) for lines in sides)]
    out: list[bytes] = []
    at: tuple[int, ...] = (0, 0, 0)
    for cut in cuts:
        old, our, their = [lines[start:end] for lines, start, end in zip(sides, at, cut, strict=True)]
        if their == old:
            out += our
        elif our in (old, their):
            out += their
        elif both := _apart(old, our, their) or _apart(old, their, our):
            out += both
        else:
            return Conflict(at[1] + 1, max(at[1] + 1, cut[1]))
        out += sides[0][cut[0] : cut[0] + 1]  # the same line in all three, none at the end
        at = tuple(place + 1 for place in cut)
    return b"".join(out)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _apart(old: list[bytes], one: list[bytes], other: list[bytes]) -> list[bytes]:
    end = _extent(old, one)[1]
    start = _extent(old, other)[0]
    return one[: len(one) - len(old) + end] + old[end:start] + other[start:] if end < start else []


def _extent(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int]:
    """Return the lines of ``old`` between which it was changed: of all places to which repeated lines let one slide."""
    first = _alike(old, new)
    last = _alike(old[::-1], new[::-1])
    if set(old[first : len(old) - last]).intersection(new[first : len(new) - last]):
        return 0, len(old)  # several changes
    fewer = max(0, len(old) - len(new))
    return min(first, len(old) - fewer - last), max(len(old) - last, first + fewer)


def _alike(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    shortest = min(len(one), len(other))
    return next((n for n in range(shortest) if one[n] != other[n]), shortest)


def _anchors(*sides: list[bytes]) -> list[tuple[int, ...]]:
    counts = [Counter(side) for side in sides]
    kept = [line for line in sides[0] if all(count[line] == 1 for count in counts)]
    for side in sides[1:]:
        single = set(kept)
        blocks = line_diff(kept, [line for line in side if line in single]).blocks
        kept = [line for block in blocks if block.equal for line in kept[block.old_start : block.old_end]]
    places = [{line: at for at, line in enumerate(side)} for side in sides]
    return [tuple(place[line] for place in places) for line in kept]
