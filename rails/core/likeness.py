"""How alike two texts are, and which known name a wrong one most probably means. Pure.

Likeness is the share of characters that two texts have in common in the same order: twice the length of their longest
common subsequence, by the length of both. 1 is equal, 0 nothing in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: Below this, a name is another one and not a slip of the pen.
NEAR: Final = 0.6


def likeness(one: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1."""
    from rapidfuzz.distance import LCSseq

    return 2 * LCSseq.similarity(one, other) / (len(one) + len(other)) if one or other else 1.0


def nearest_name(name: str, known: Iterable[str], least: float = NEAR) -> str | None:
    """Return the known name that is most like ``name``, the last in order of those equally alike.

    ``None`` if all are less alike than ``least``.
    """
    found = max(((likeness(name, other), other) for other in known), default=(0.0, ""))
    return found[1] if found[0] >= least else None
