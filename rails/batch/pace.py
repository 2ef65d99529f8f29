"""Pacing of requests to a provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

PaceTurn = Literal["ask", "use", "pause"]
#: Where the paces are kept: takes the provider, what is done and seconds; returns when a request may go.
PaceKeeper = Callable[[str, PaceTurn, float], float]
#: A moment further ahead than this was written by a clock that has been set since.
_MOST_AHEAD: Final = 3_600.0


class Pace(msgspec.Struct, frozen=True):
    """Earliest times of the next request and token (seconds since 1970)."""

    request: float = 0.0
    token: float = 0.0

    def after(self, what: PaceTurn, now: float, seconds: float) -> tuple[float, Pace]:
        """Return when a request may go, and the pace after it.

        "ask" takes a place, one every ``seconds``; "use" counts tokens worth ``seconds`` of allowance; "pause" stops
        all for ``seconds``.
        """
        if what == "use":
            return now, Pace(self.request, max(now, self.token) + seconds)
        if what == "pause":
            return now, Pace(max(self.request, now + seconds), self.token)
        start = max(now, min(max(self.request, self.token), now + _MOST_AHEAD))
        return start, Pace(start + seconds, self.token)
