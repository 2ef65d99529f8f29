"""How alike two texts are, and which known name a wrong one most probably means. Pure.

For lines, likeness is the share of characters that two texts have in common in the same order: twice the length of
their longest common subsequence, by the length of both. For names that is too kind: the letters of "Set fields" stand
in "Something else", too. There, only what stands together counts, as the standard library counts it.
"""

from __future__ import annotations

from collections.abc import Iterable


def likeness(one: str, other: str) -> float:
    """Return how alike two lines are, from 0 to 1."""
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(one, other)


def most_alike(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name that is most like ``name``; ``None`` if all are less alike than ``least``.

    Below 0.6, a name is another one and not a slip of the pen.
    """
    import difflib  # only for a mistake, so that a command without one does not wait for it

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=least)), None)
