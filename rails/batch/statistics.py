"""Statistics of jobs, with the standard library. Pure.

Shares: Wilson's interval (:mod:`rails.projections.share`). Paired settings: McNemar's exact test.
"""

from __future__ import annotations

import math
from typing import Final

#: Below this, a difference is one that chance rarely makes.
ALPHA: Final = 0.05


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value; 1.0 without pairs."""
    differing = only_first + only_second
    tail = sum(math.comb(differing, k) for k in range(min(only_first, only_second) + 1))
    return float(min(1.0, 2 * tail / 2**differing))


def pass_at(k: int, runs: int, passed: int) -> float:
    """Return the unbiased estimate of pass@k; ``k`` is at most ``runs``."""
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)
