"""The likeness of two texts, and the known name that a wrong one means.

Lines: twice the longest common subsequence by both lengths. Names: only runs, as in ``difflib`` (the letters of "Set
fields" are in "Something else").
"""

from __future__ import annotations

from collections.abc import Iterable


def likeness(one: str, other: str) -> float:
    """Return the likeness of two lines, 0 to 1."""
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(one, other)


def most_alike(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the most similar name; ``None`` if all are below ``least`` (below 0.6: no slip)."""
    import difflib  # only for a mistake, so that a command without one does not wait for it

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=least)), None)
