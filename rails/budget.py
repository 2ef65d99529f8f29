"""What may be spent before a human is needed: failed attempts, tokens, time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rails.core.conversation import Usage


@dataclass
class Attempts:
    """Failed turns in a row, counted by kind: a good part does not make up for a bad one.

    A turn without any failure resets the counters. The same answer with the same failure, word for word
    and twice in a row, ends the loop early: the agent does not read its feedback.
    """

    most: int
    counts: dict[str, int] = field(default_factory=dict)
    last: str = ""

    def spend(self, codes: Sequence[str], words: str) -> str | None:
        """Count a turn's failures; return why to stop, or ``None`` to go on."""
        if not codes:
            self.counts.clear()
            self.last = ""
            return None
        for code in set(codes):
            self.counts[code] = self.counts.get(code, 0) + 1
        if words and words == self.last:
            return "the same failure came back word for word"
        self.last = words
        spent = [code for code, count in self.counts.items() if count >= self.most]
        return f"{self.most} failed attempts ({', '.join(spent)})" if spent else None

    @property
    def most_spent(self) -> int:
        """How many attempts in a row the most frequent kind of failure has used."""
        return max(self.counts.values(), default=0)


@dataclass
class Totals:
    """Bounds of a whole session; ``None`` is no bound. The clock starts when this is made."""

    max_tokens: int | None = None
    max_seconds: float | None = None
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    def use(self, usage: Usage) -> None:
        """Count what an answer used."""
        self.tokens += usage.input_tokens + usage.output_tokens

    def spent(self) -> str | None:
        """Say which bound is reached, if one is."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens} tokens is used up ({self.tokens} used)"
        if self.max_seconds is not None and time.monotonic() - self.started >= self.max_seconds:
            return f"the budget of {self.max_seconds:.0f} seconds is used up"
        return None
