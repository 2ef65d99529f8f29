"""Bounds before a human is needed: failed attempts, tokens, time, money."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from rails.config.prices import Price, price_of
from rails.core.conversation import Usage
from rails.core.events.record import Record
from rails.core.text import counted

#: Attempts of kinds that have a bound of their own: a review without a verdict is asked for one once.
_MOST: Final[Mapping[str, int]] = {"verdict": 2}
_MORE: Final = "; to continue, use --resume with a larger "


class Attempts(Struct):
    """Failed turns in a row by kind, reset by a turn without failure; a failing answer that is ``repeated`` ends the
    loop.

    ``before``: those on the pages before, where the same task is asked again.
    """

    most: int
    before: int = 0
    counts: dict[str, int] = {}
    last: str = ""
    repeated: bool = False

    def spend(self, codes: Sequence[str], words: str, once: Sequence[str] = ()) -> str | None:
        """Count a turn's failures; return why to stop, or ``None``. Those of ``once`` are enough the first time."""
        if not codes:
            self.counts.clear()
            self.last = ""
            return None
        for code in set(codes):
            self.counts[code] = self.counts.get(code, 0) + 1
        self.repeated = bool(words) and words == self.last
        if self.repeated:
            return f"the same failure ({', '.join(sorted(set(codes)))}) was repeated"
        self.last = words
        spent = [code for code, count in self.counts.items() if code in once or count >= _MOST.get(code, self.most)]
        return f"{counted(self.most_spent, 'failed attempt')} ({', '.join(spent)})" if spent else None

    @property
    def most_spent(self) -> int:
        """Return the highest count of a kind."""
        return self.before + max(self.counts.values(), default=0)


class SessionBudget(Struct):
    """Bounds of a whole session; ``None`` is no bound. The clock starts at construction.

    Tokens include cached ones; ``max_cost`` is in the currency of the prices.
    """

    max_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] = {}
    tokens: int = 0
    cost: float = 0.0
    started: float = field(default_factory=time.monotonic)
    unpriced: str = ""

    def use(self, usage: Usage, model: str) -> None:
        """Count the usage of an answer of ``model``."""
        self.tokens += usage.prompt_tokens + usage.output_tokens
        price = price_of(model, self.prices)
        if price is None:
            self.unpriced = self.unpriced or model
        else:
            self.cost += price.of(usage)

    def take(self, record: Record) -> None:
        """Count what a record says that a model was asked."""
        usage = getattr(record.event, "usage", None)
        if isinstance(usage, Usage):
            self.use(usage, record.llm_model_used)

    def time_left(self) -> float:
        """Return the seconds left; infinity without a bound."""
        return math.inf if self.max_seconds is None else self.max_seconds - (time.monotonic() - self.started)

    def spent(self) -> str | None:
        """Return the bound that is reached, or ``None``."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens} tokens is used up ({self.tokens} used){_MORE}--max-tokens"
        if self.max_seconds is not None and self.time_left() <= 0:
            return f"the budget of {self.max_seconds:.0f} seconds is used up{_MORE}--max-minutes"
        if self.max_cost is not None and self.unpriced:
            return f"no price is known for {self.unpriced}, so the budget of {self.max_cost:g} (money) cannot be kept"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the budget of {self.max_cost:g} (money) is used up ({self.cost:.4g} used){_MORE}--max-cost"
        return None
