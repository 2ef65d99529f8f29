"""A search text that differs from the file only in blank lines: a slip of copying.

Accepted only where it is in the file once, and the request keeps the lines on both sides of each gap: the file then
keeps its blank lines there. Beside a changed line, either may be meant.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from rails.core.diff import line_diff
from rails.edits.edit_request import EditRequest
from rails.edits.strategies import as_lines
from rails.edits.text_view import View, flatten, line_places


def with_blank_lines_of_file(view: View, wanted: EditRequest) -> EditRequest | None:
    """Return the edit with the file's blank lines, or None where that is not clear."""
    block = as_lines(flatten(wanted.old), flatten(wanted.new))
    new = list(block.new or ())
    sent = [n for n, line in enumerate(block.old) if line.strip()]
    full = [n for n, line in enumerate(view.lines) if line.strip()]
    at = line_places([block.old[n] for n in sent], [view.lines[n] for n in full], str.rstrip, 2) if sent else []
    if len(at) != 1 or block.old[sent[-1] + 1 :] or sent[0]:
        return None
    there = full[at[0] : at[0] + len(sent)]
    kept = {
        i1 + n: j1 + n for equal, i1, i2, j1, _ in line_diff(block.old, new).blocks if equal for n in range(i2 - i1)
    }
    gaps = [(*one, *other) for one, other in zip(pairwise(sent), pairwise(there), strict=True)]
    differ = [(low, high, first, last) for low, high, first, last in gaps if high - low != last - first]
    if len({high - low > last - first for low, high, first, last in differ}) != 1:
        return None  # none, or a line that stands elsewhere
    for low, high, first, last in reversed(differ):
        gap = slice(kept.get(low, 0) + 1, kept.get(high, 0))
        if gap.stop - gap.start != high - low - 1 or low not in kept or any(line.strip() for line in new[gap]):
            return None
        new[gap] = view.lines[first + 1 : last]
    return replace(wanted, old="\n".join(view.lines[there[0] : there[-1] + 1]), new="\n".join(new))
