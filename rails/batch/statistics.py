"""What numbers of jobs say, with what chance alone would say too. Pure; the standard library's arithmetic.

Shares have Wilson's interval (:mod:`rails.projections.share`). Two settings on the same tasks are compared by pairs:
McNemar's exact test for what passes, a bootstrap of the differences for what is measured.
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
    """Return how often chance alone makes pairs differ so much one way (two-sided, exact): 1.0 without any."""
    differing = only_first + only_second
    tail = sum(math.comb(differing, k) for k in range(min(only_first, only_second) + 1))
    return float(min(1.0, 2 * tail / 2**differing))


def pass_at(k: int, runs: int, passed: int) -> float | None:
    """Return the unbiased estimate that one of ``k`` runs passes, of ``runs`` that were made; ``None`` for too few."""
    if runs < k:
        return None
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and the 95 % interval of it by bootstrap: the same values give the same interval.

    Of many values the normal distribution's interval is the same, and takes no time.
    """
    if not values:
        return 0.0, 0.0, 0.0
    if len(values) > _MANY:
        middle, half = fmean(values), Z * stdev(values) / math.sqrt(len(values))
        return middle, middle - half, middle + half
    chance, count = random.Random(1), len(values)  # noqa: S311 - resampling, nothing secret
    means = sorted(fmean(chance.choices(values, k=count)) for _ in range(_ROUNDS))
    return fmean(values), means[int(_ROUNDS * 0.025)], means[int(_ROUNDS * 0.975) - 1]
