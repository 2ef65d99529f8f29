"""Statistics of jobs, with the standard library. Pure.

Shares: Wilson's interval (:mod:`rails.projections.share`). Paired settings: McNemar's exact test for passes, bootstrap
for measures.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final

from rails.projections.share import Z

#: Below this, a difference is one that chance rarely makes.
ALPHA: Final = 0.05
_ROUNDS: Final = 2_000
_MANY: Final = 2_000


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value; 1.0 without pairs."""
    differing = only_first + only_second
    tail = sum(math.comb(differing, k) for k in range(min(only_first, only_second) + 1))
    return float(min(1.0, 2 * tail / 2**differing))


def pass_at(k: int, runs: int, passed: int) -> float | None:
    """Return the unbiased estimate of pass@k, None with too few runs."""
    if runs < k:
        return None
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its 95 % bootstrap interval, deterministic.

    For many values the normal approximation, which is faster.
    """
    if not values:
        return 0.0, 0.0, 0.0
    if len(values) > _MANY:
        middle, half = fmean(values), Z * stdev(values) / math.sqrt(len(values))
        return middle, middle - half, middle + half
    chance, count = random.Random(1), len(values)  # noqa: S311 - resampling, nothing secret
    means = sorted(fmean(chance.choices(values, k=count)) for _ in range(_ROUNDS))
    return fmean(values), means[int(_ROUNDS * 0.025)], means[int(_ROUNDS * 0.975) - 1]
