"""Formatting only what a change touched: of a whole formatted text, the lines that meet changed lines.

A file that was never formatted must not be reformatted because an agent edited one line of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final

from rails.gate.baseline import equal_blocks, line_map, split_lines

_ROUNDS: Final = 4
#: Lines above and below a change that are tried for one that occurs once in both texts.
_TRIES: Final = 50
#: What ``str.splitlines`` takes for the end of a line in an ASCII text, and compilers don't, or as one with another.
_OTHER_ENDS: Final = "\r\v\f\x1c\x1d\x1e"
#: A line with its end, as compilers count lines.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def touched_only(before: str, text: str, formatted: str, *, same: Callable[[str, str], bool]) -> str:
    """Return ``text`` with those differences to ``formatted`` that meet lines changed since ``before``.

    Line by line where formatting keeps the number of lines, else in blocks. A mixture is only taken when
    it is still the ``same`` program; else ``text`` comes back.
    """
    for _ in range(_ROUNDS):
        # What was taken touches its neighbours, which a formatter may want to change with it.
        mixed = _once(before, text, formatted, same)
        if mixed == text:
            break
        text = mixed
    return text


def _once(before: str, text: str, formatted: str, same: Callable[[str, str], bool]) -> str:
    new, wanted = _with_ends(text), _with_ends(formatted)
    changed = [place < 0 for place in line_map(split_lines(before), split_lines(text))]
    opcodes = list(_differences(new, wanted, changed))
    for single in (True, False):
        joined = "".join(_mixed(new, wanted, changed, opcodes, single))
        if joined in (text, formatted) or same(text, joined):
            return joined
    return text


def _with_ends(text: str) -> list[str]:
    """Return the lines with their ends."""
    if text.isascii() and not any(sign in text for sign in _OTHER_ENDS):
        return text.splitlines(keepends=True)
    return _LINE.findall(text)


def _differences(
    new: Sequence[str], wanted: Sequence[str], changed: Sequence[bool]
) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield the stretches of both texts in order: whether they are equal, and their bounds.

    A stretch between two anchors that no changed line meets is not compared: it stays as it is anyway.
    """
    (start, end), (other_start, other_end) = _around(new, wanted, changed)
    yield False, 0, start, 0, other_start
    inner = _compared(new[start:end], wanted[other_start:other_end], changed[start:end])
    for equal, *bounds in inner:
        yield equal, start + bounds[0], start + bounds[1], other_start + bounds[2], other_start + bounds[3]
    yield False, end, len(new), other_end, len(wanted)


def _around(
    new: Sequence[str], wanted: Sequence[str], changed: Sequence[bool]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the stretches of both texts that hold the changed lines, from one line that occurs once to another."""
    places = [place for place, is_changed in enumerate(changed[: len(new)]) if is_changed] or [0]
    above = islice(range(max(places[0] - 2, 0), -1, -1), _TRIES)
    below = islice(range(places[-1] + 2, len(new)), _TRIES)
    start = next((place for place in above if _once_in_both(new[place], new, wanted)), -1)
    end = next((place for place in below if _once_in_both(new[place], new, wanted)), -1)
    other_start = wanted.index(new[start]) if start >= 0 else 0
    other_end = wanted.index(new[end]) if end >= 0 else len(wanted)
    whole = (0, len(new)), (0, len(wanted))
    found = (max(start, 0), end if end >= 0 else len(new)), (other_start, other_end)
    return found if other_start <= other_end else whole


def _once_in_both(line: str, new: Sequence[str], wanted: Sequence[str]) -> bool:
    return new.count(line) == 1 and wanted.count(line) == 1


def _compared(
    new: Sequence[str], wanted: Sequence[str], changed: Sequence[bool]
) -> Iterator[tuple[bool, int, int, int, int]]:
    touched = [0, *accumulate(changed)]

    def wants(start: int, end: int) -> bool:
        return touched[min(end + 1, len(changed))] > touched[max(start - 1, 0)]

    at = other_at = 0
    blocks = sorted(equal_blocks(new, wanted, pairs=2_500, worth=wants))
    for start, other_start, length in [*blocks, (len(new), len(wanted), 0)]:
        if start > at or other_start > other_at:
            yield False, at, start, other_at, other_start
        yield True, start, start + length, other_start, other_start + length
        at, other_at = start + length, other_start + length


def _mixed(
    new: Sequence[str],
    wanted: Sequence[str],
    changed: Sequence[bool],
    opcodes: Sequence[tuple[bool, int, int, int, int]],
    single: bool,
) -> Iterator[str]:
    for equal, start, end, other_start, other_end in opcodes:
        # An insertion sits between two lines and belongs to both of them.
        first, last = (max(start - 1, 0), end + 1) if start == end else (start, end)
        if single and not equal and 0 < end - start == other_end - other_start:
            pairs = zip(new[start:end], wanted[other_start:other_end], changed[start:end], strict=False)
            yield from (theirs if touched else ours for ours, theirs, touched in pairs)
        elif equal or any(changed[first:last]):
            yield from wanted[other_start:other_end]
        else:
            yield from new[start:end]
