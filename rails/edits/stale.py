"""A file that changed since the agent read it: merge both, or refuse with the current lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from rails.core.text import Decoded, decode_text, one_line, sha256
from rails.edits.edit_request import EditRequest
from rails.edits.plan_result import EditError
from rails.edits.text_view import View

_LINES: Final = 12  # lines of a changed file that a refusal quotes


class KnownFiles(Struct, frozen=True):
    """The files that the agent read: ``seen`` maps paths to SHA-256, ``contents`` those to bytes."""

    seen: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)

    def base(self, given: str) -> bytes | None:
        """Return the one text whose hash begins with ``given``, if mergeable."""
        fitting = [data for digest, data in self.contents.items() if digest.startswith(given)]
        return fitting[0] if len(fitting) == 1 and can_merge(fitting[0]) else None


def can_merge(data: bytes) -> bool:
    r"""Return whether ``data`` is text that can be cut at ``\n``."""
    coded = decode_text(data)
    return coded is not None and not coded.encoding.startswith(("utf-16", "utf-32"))


def put_together(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge the file (``ours``) with the agent's changes (``theirs``). Raises Problem where they meet."""
    from rails.edits.merge import merge3

    found = merge3(base, ours, theirs)
    if isinstance(found, bytes):
        return found
    raise EditError(
        "stale",
        f"Somebody changed lines {found.first_line}–{found.last_line} since you read the file, and this change is "
        "about the same place.",
        f"Read it again; its hash is now {sha256(ours)}."
        f"{quoted_lines(decode_text(ours), found.first_line, found.last_line)}",
    )


MERGED: Final = "merged: somebody changed the file since it was read; their lines were kept"


def as_it_is_now(data: bytes, wanted: EditRequest) -> str:
    """Return where the text is now, or what is nearest, in words."""
    coded = decode_text(data)
    if coded is None:
        return ""
    from rails.edits.match import Match, locate

    found = locate(View(coded.text), wanted)
    if isinstance(found, Match):
        span = found.spans[0]
        return f" old_string is still there, lines {span.first_line}–{span.last_line}: send it with the new hash."
    first = found.candidates[0] if found.candidates else None
    return quoted_lines(coded, first.first_line, first.last_line) if first else ""


def quoted_lines(coded: Decoded | None, first: int, last: int) -> str:
    """Quote lines ``first`` to ``last`` for a refusal."""
    lines = View(coded.text).lines[first - 1 : last][:_LINES] if coded else []
    told = " | ".join(f"{number}: {one_line(line, 120)}" for number, line in enumerate(lines, first))
    return f" Now: {told}" if told else ""
