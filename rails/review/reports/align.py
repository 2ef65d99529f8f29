"""Turns of two sessions side by side: the alignment that pairs the most alike. Pure.

Global alignment after Needleman and Wunsch (1970): a pair scores for the same request and more for the
same outcome, a turn alone scores nothing. Very long sessions are paired in their order instead, because
the work grows with the product of the lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, TypeAlias

from rails.projections.common import TurnView
from rails.review.reports.attempts import causes_of

_CELLS: Final = 1_000_000
_Key: TypeAlias = tuple[str, frozenset[str], str, tuple[str, ...]]
Pairs: TypeAlias = Iterator[tuple[TurnView | None, TurnView | None]]


def align(first: Sequence[TurnView], second: Sequence[TurnView]) -> Pairs:
    """Yield pairs of turns in order; ``None`` stands beside a turn that has no partner."""
    if len(first) * len(second) > _CELLS:
        yield from zip_longest(first, second)
        return
    ones, others = [_key(turn) for turn in first], [_key(turn) for turn in second]
    best = _scores(ones, others)
    i = j = 0
    while i < len(first) and j < len(second):
        score = _likeness(ones[i], others[j])
        if score and best[i][j] == score + best[i + 1][j + 1]:
            yield first[i], second[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield first[i], None
            i += 1
        else:
            yield None, second[j]
            j += 1
    yield from ((turn, None) for turn in first[i:])
    yield from ((None, turn) for turn in second[j:])


def _scores(ones: Sequence[_Key], others: Sequence[_Key]) -> list[list[int]]:
    """Return the best score of what is left, from each pair of positions on."""
    best = [[0] * (len(others) + 1) for _ in range(len(ones) + 1)]
    for i in range(len(ones) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(others) - 1, -1, -1):
            row[j] = max(_likeness(ones[i], others[j]) + below[j + 1], below[j], row[j + 1])
    return best


def _key(turn: TurnView) -> _Key:
    asked = frozenset(f"{request.tool} {' '.join(request.paths)}" for request in turn.requests)
    return turn.agent, asked, turn.outcome, causes_of(turn)


def _likeness(one: _Key, other: _Key) -> int:
    """Return how alike two turns are: 0 (different agents or requests) to 6."""
    agent, asked, outcome, causes = one
    if agent != other[0] or (asked != other[1] and not asked & other[1]):
        return 0
    return (
        2 * (asked == other[1]) + 1 + (outcome == other[2]) + bool(set(causes) & set(other[3])) + (one[2:] == other[2:])
    )
