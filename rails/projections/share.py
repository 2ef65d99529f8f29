"""A share of a count, and what it says of the true one. Pure."""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

#: The normal quantile that 95 % of a distribution lie within.
Z: Final = 1.959964


class Share(Struct, frozen=True):
    """``hits`` of ``of``, and the 95 % interval of the true share."""

    hits: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson score interval; (0, 1) when nothing was counted."""
        if not self.of:
            return 0.0, 1.0
        share, n, square = self.hits / self.of, self.of, Z * Z
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)
