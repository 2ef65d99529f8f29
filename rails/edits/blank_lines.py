"""A search text that differs from the file only in blank lines: a slip of copying.

Accepted only where it is in the file once, and the request's changes do not touch those of the blank lines: the file
then keeps its blank lines. Beside a changed line, either may be meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from rails.edits.edit_request import EditRequest
from rails.edits.merge import Conflict, merge3
from rails.edits.strategies import as_lines
from rails.edits.text_view import View, flatten, full_lines, line_places


def with_blank_lines_of_file(view: View, wanted: EditRequest) -> EditRequest | None:
    """Return the edit with the file's blank lines, or None where that is not clear."""
    block = as_lines(flatten(wanted.old), flatten(wanted.new))
    sent = full_lines(block.old)
    full = full_lines(view.lines)
    at = line_places([block.old[n] for n in sent], [view.lines[n] for n in full], str.rstrip, 2) if sent else []
    if len(at) != 1 or sent[0] > 0 or sent[-1] + 1 < len(block.old):
        return None
    there = full[at[0] : at[0] + len(sent)]
    more = [
        high - low - last + first for (low, high), (first, last) in zip(pairwise(sent), pairwise(there), strict=True)
    ]
    if (max(more, default=0) > 0) == (min(more, default=0) < 0):
        return None  # none, or a line that stands elsewhere
    window = view.lines[there[0] : there[-1] + 1]
    copied = (block.old[n] for n in sent)
    ours = [next(copied) if line.strip() else line for line in window]
    merged = merge3(_text(block.old), _text(ours), _text(block.new or ()))
    if isinstance(merged, Conflict):
        return None
    return replace(wanted, old="\n".join(window), new=merged.decode("utf-8", "surrogatepass").removesuffix("\n"))


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
