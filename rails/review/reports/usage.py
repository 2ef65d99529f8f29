"""The used and remaining budget of a session, in words; money by the user's prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.events.reading import read_typed
from rails.core.events.session import SessionLimits
from rails.core.text import one_line
from rails.log.session_stats import SessionStats

_MINUTE: Final = 60


class SessionUsage(Struct, frozen=True):
    """Texts: ``tokens``, ``cost`` ("" without prices), ``left`` of each bound; ``bars``: used shares, 0 to 1; ``note``:
    price problems.
    """

    tokens: str = ""
    cost: str = ""
    left: tuple[str, ...] = ()
    bars: tuple[tuple[str, float], ...] = ()
    note: str = ""

    @property
    def line(self) -> str:
        """Everything in one line."""
        left = f"Left: {', '.join(self.left)}" if self.left else ""
        return " · ".join(filter(None, (self.tokens, self.cost, left)))

    @property
    def facts(self) -> dict[str, str]:
        """The facts of a session's header, "" for unknown ones."""
        return {"Cost": self.cost or self.note, "Budget left": ", ".join(self.left)}


def session_usage(card: SessionStats, prices: Prices, *, since_last_s: float = 0.0, note: str = "") -> SessionUsage:
    """Return what a session used; ``since_last_s`` (seconds since its last record) counts, too."""
    used = {model: Usage(*counts) for model, counts in card.used.items()}
    costs = {model: prices.cost(model, usage) for model, usage in used.items()}
    known = [cost for cost in costs.values() if cost is not None]
    unknown = [one_line(model, 60) for model, cost in costs.items() if cost is None]
    spent = sum(known) if known else None
    beside = f" without {', '.join(unknown)} (no price)" if known and unknown else ""
    bounds = [*_left(card, prices, spent, card.seconds + since_last_s)]
    left = tuple(words for words, _, _ in bounds)
    bars = tuple((name, share) for _, name, share in bounds)
    return SessionUsage(_tokens(list(used.values())), prices.text(spent) + beside, left, bars, note)


def _tokens(counts: Sequence[Usage]) -> str:
    read = sum(usage.input_tokens + usage.cache_write_tokens for usage in counts)
    cached = sum(usage.cache_read_tokens for usage in counts)
    written = sum(usage.output_tokens for usage in counts)
    if not (read or cached or written):
        return ""
    again = f" and {cached:,} from the cache" if cached else ""
    return f"{read:,} tokens in{again}, {written:,} out"


def _left(card: SessionStats, prices: Prices, spent: float | None, seconds: float) -> Iterator[tuple[str, str, float]]:
    """Yield what is left of each bound, its name and used share, as ``rails.session.budget.SessionBudget`` counts."""
    most = read_typed(SessionLimits, card.limits)
    tokens = most.max_tokens or 0
    most_seconds = most.max_seconds or 0.0
    most_cost = most.max_cost or 0.0
    if tokens > 0:
        used = sum(sum(counts) for counts in card.used.values())
        yield f"{max(0, tokens - used):,} of {tokens:,} tokens", "tokens", min(1.0, used / tokens)
    if most_seconds > 0:
        words = f"{_minutes(max(0.0, most_seconds - seconds))} of {_minutes(most_seconds)} min"
        yield words, "time", min(1.0, seconds / most_seconds)
    if most_cost > 0 and prices.models:
        rest = prices.text(max(0.0, most_cost - (spent or 0.0))).removesuffix(f" {prices.currency}")
        yield f"{rest} of {prices.text(most_cost)}", "money", min(1.0, (spent or 0.0) / most_cost)


def _minutes(seconds: float) -> str:
    return f"{seconds / _MINUTE:.1f}".removesuffix(".0")
