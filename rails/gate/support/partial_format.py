"""Format only what a change touched: an edited line must not reformat an unformatted file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rails.core.diff import DiffBlock, line_diff, line_map
from rails.gate.baseline import split_lines

_ROUNDS: Final = 4
#: A line with its end, as compilers count lines.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def touched_only(before: str, text: str, formatted: str, *, same: Callable[[str, str], bool]) -> str:
    """Return ``text`` formatted only where it meets lines changed since ``before``.

    By line if formatting keeps their number, else by block; unchanged if the result is not the ``same`` program.
    """
    for _ in range(_ROUNDS):
        # What was taken touches its neighbours, which a formatter may want to change with it.
        mixed = _once(before, text, formatted, same)
        if mixed == text:
            break
        text = mixed
    return text


def _once(before: str, text: str, formatted: str, same: Callable[[str, str], bool]) -> str:
    new = _LINE.findall(text)
    wanted = _LINE.findall(formatted)
    changed = [place < 0 for place in line_map(split_lines(before), split_lines(text))]
    blocks = line_diff(new, wanted).blocks
    for single in (True, False):
        joined = "".join(_mixed(new, wanted, changed, blocks, single))
        if joined in (text, formatted) or same(text, joined):
            return joined
    return text


def _mixed(
    new: Sequence[str], wanted: Sequence[str], changed: Sequence[bool], blocks: Sequence[DiffBlock], single: bool
) -> Iterator[str]:
    for equal, start, end, other_start, other_end in blocks:
        # An insertion sits between two lines and belongs to both of them.
        first, last = (max(start - 1, 0), end + 1) if start == end else (start, end)
        if single and not equal and 0 < end - start == other_end - other_start:
            pairs = zip(new[start:end], wanted[other_start:other_end], changed[start:end], strict=False)
            yield from (theirs if touched else ours for ours, theirs, touched in pairs)
        elif equal or any(changed[first:last]):
            yield from wanted[other_start:other_end]
        else:
            yield from new[start:end]
