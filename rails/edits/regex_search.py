"""Search by regular expression or without regard to case, in bounded time.

A regular expression is of RE2's dialect, in which ``^`` and ``$`` are those of lines, in linear time: no pattern,
however hostile, can hold the session. Look-around and back-references are refused (:mod:`rails.data_formats.regex`).
The replacement knows ``$1`` to ``$99``, ``$&`` (the whole match) and ``$$`` (a dollar); everything else in it is
literal. Without a regular expression the replacement is literal.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.dataclass import dataclass
from rails.data_formats.regex import RegexError, fill_in, find_all
from rails.edits.edit_request import EditRequest
from rails.edits.text_view import View, flatten

_PLACES: Final = 10_000


class SearchPatternError(Exception):
    """A pattern that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One match: flat offsets, and what takes its place."""

    start: int
    end: int
    text: str


def pattern_matches(view: View, wanted: EditRequest) -> list[PatternMatch]:
    """Return every match in file order, empty ones left out. Raises SearchPatternError."""
    old, new = flatten(wanted.old), flatten(wanted.new)
    if not wanted.regex:
        flags = re.IGNORECASE if wanted.ignore_case else 0
        return [PatternMatch(*match.span(), new) for match in re.finditer(re.escape(old), view.flat, flags)]
    try:
        found = find_all(old, view.flat, ignore_case=wanted.ignore_case, most=_PLACES)
    except RegexError as error:
        raise SearchPatternError(f"The regular expression cannot be used: {error}.") from error
    if len(found) >= _PLACES:
        raise SearchPatternError(f"The regular expression matches {_PLACES} times or more.")
    return [PatternMatch(start, end, fill_in(new, view.flat[start:end], groups)) for start, end, groups in found]
