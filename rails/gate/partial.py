"""Formatting only what a change touched: of a whole formatted text, the lines that meet changed lines.

A file that was never formatted shall not be reformatted because an agent edited one line of it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rails.gate.baseline import line_map, split_lines

#: A line with its end, as compilers count lines.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def touched_only(before: str, text: str, formatted: str, *, same: Callable[[str, str], bool]) -> str:
    """Return ``text`` with those differences to ``formatted`` that meet lines changed since ``before``.

    Line by line where formatting keeps the number of lines, else in blocks. A mixture is only taken when
    it is still the ``same`` program; else ``text`` comes back.
    """
    new, wanted = _LINE.findall(text), _LINE.findall(formatted)
    changed = [place < 0 for place in line_map(split_lines(before), split_lines(text))]
    opcodes = difflib.SequenceMatcher(None, new, wanted, autojunk=False).get_opcodes()
    for single in (True, False):
        joined = "".join(_mixed(new, wanted, changed, opcodes, single))
        if joined == formatted or same(text, joined):
            return joined
    return text


def _mixed(
    new: Sequence[str],
    wanted: Sequence[str],
    changed: Sequence[bool],
    opcodes: Sequence[tuple[str, int, int, int, int]],
    single: bool,
) -> Iterator[str]:
    for tag, start, end, other_start, other_end in opcodes:
        # An insertion sits between two lines and belongs to both of them.
        first, last = (max(start - 1, 0), end + 1) if start == end else (start, end)
        if single and tag == "replace" and end - start == other_end - other_start:
            pairs = zip(new[start:end], wanted[other_start:other_end], changed[start:end], strict=False)
            yield from (theirs if touched else ours for ours, theirs, touched in pairs)
        elif tag == "equal" or any(changed[first:last]):
            yield from wanted[other_start:other_end]
        else:
            yield from new[start:end]
