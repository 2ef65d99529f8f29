"""The nearest places of a text not found: shown, accepted by handle, never applied by themselves.

Only the best windows by an index are measured.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.similarity import likeness
from rails.core.text import one_line
from rails.edits.text_view import View, tokens, without_spaces

_SHOWN: Final = 3
_COMMON: Final = 200  # a line that is in the file more often says nothing about the place
_MIN_LIKENESS: Final = 0.5
_LINE_CHARS: Final = 400


class Candidate(Struct, frozen=True):
    """A possible place. Lines are 1-based; ``likeness`` is 0 to 1.

    ``line``, ``column``: the first difference, blanks visible (``·``, tab ``→``). ``handle``: valid until the file
    changes.
    """

    handle: str
    first_line: int
    last_line: int
    likeness: float
    line: int = 0
    column: int = 0
    wanted: str = ""
    found: str = ""


def handle_for(view: View, first_line: int, last_line: int, old: str, new: str) -> str:
    """Return a place's handle, which depends on the file and the edit."""
    facts = "\0".join((view.digest, str(first_line), str(last_line), old, new))
    return "h" + hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def visible(line: str) -> str:
    """Return a line with visible outer blanks."""
    body = line.strip()
    ends = line.split(body, 1) if body else [line]
    return one_line(body.join(end.replace("\t", "→").replace(" ", "·") for end in ends), 120)


def nearest_places(view: View, old: str, new: str) -> tuple[Candidate, ...]:
    """Return the best places for ``old``, best first."""
    wanted = old.removesuffix("\n").split("\n")
    starts = _votes(view.lines, wanted) or _by_likeness(view.lines, wanted)
    found = [_measure(view, start, wanted, old, new) for start in starts]
    alike = [candidate for candidate in found if candidate.likeness >= _MIN_LIKENESS]
    return tuple(sorted(alike, key=lambda candidate: -candidate.likeness)[:_SHOWN])


def _votes(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    index = defaultdict(list)
    for number, line in enumerate(lines):
        index[without_spaces(line)].append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        found = index.get(without_spaces(line), [])
        if line.strip() and len(found) <= _COMMON:
            votes.update(max(0, number - offset) for number in found)
    return [start for start, _ in votes.most_common(2 * _SHOWN)]


def _by_likeness(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    offset, probe = max(enumerate(wanted), key=lambda pair: len(pair[1].strip()))
    probe = probe.strip()[:_LINE_CHARS]
    words = set(tokens(probe))
    scored = []
    for number, line in enumerate(islice(lines, limits.NEAREST_LINES)):
        text = line.strip()[:_LINE_CHARS]
        if not text or (words and words.isdisjoint(tokens(text))):
            continue
        scored.append((likeness(text, probe), -number))
    return [max(0, -number - offset) for _, number in sorted(scored, reverse=True)[:_SHOWN]]


def _measure(view: View, start: int, wanted: Sequence[str], old: str, new: str) -> Candidate:
    window = view.lines[start : start + len(wanted)]
    equal = sum(without_spaces(a) == without_spaces(b) for a, b in zip(wanted, window, strict=False))
    first = start + 1
    last = start + max(1, len(window))
    handle = handle_for(view, first, last, old, new)
    for offset, line in enumerate(wanted):
        other = window[offset] if offset < len(window) else ""
        if line != other:
            share = _share(equal, wanted, line, other)
            column = _first_difference(line, other)
            return Candidate(handle, first, last, share, start + offset + 1, column, visible(line), visible(other))
    return Candidate(handle, first, last, 1.0)


def _share(equal: int, wanted: Sequence[str], line: str, other: str) -> float:
    if without_spaces(line) == without_spaces(other):
        return round(equal / len(wanted), 2)
    partly = likeness(line.strip()[:_LINE_CHARS], other.strip()[:_LINE_CHARS])
    return round((equal + partly) / len(wanted) if len(wanted) > 1 else partly, 2)


def _first_difference(line: str, other: str) -> int:
    pairs = enumerate(zip(line, other, strict=False), start=1)
    return next((column for column, (a, b) in pairs if a != b), min(len(line), len(other)) + 1)
