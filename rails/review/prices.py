"""What tokens cost, from a table that the user keeps: prices age, so none are shipped. Pure but for ``load``.

    as_of = "2026-11"
    currency = "USD"
    [models."anthropic:claude-sonnet-5-5"]
    input = 3.0      # for a million tokens
    output = 15.0
    cached = 0.3     # read from the provider's cache; left out: as input

A log holds tokens only; what they cost is worked out when it is looked at.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rails.core.errors import UsageError

_MILLION: Final = 1_000_000
_NAMES: Final = frozenset({"input", "output", "cached"})


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens."""

    input: float
    output: float
    cached: float


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model. Without any, nothing is said of money."""

    models: Mapping[str, Price] = field(default_factory=dict)
    currency: str = ""
    as_of: str = ""

    def cost(self, model: str, tokens_in: int, tokens_out: int, cached: int = 0) -> float | None:
        """Return what the tokens cost, ``None`` where the table does not have the model."""
        price = self.models.get(model)
        if price is None:
            return None
        return (tokens_in * price.input + tokens_out * price.output + cached * price.cached) / _MILLION

    def text(self, cost: float | None) -> str:
        """Return an amount as people write it; "" for ``None``."""
        if cost is None:
            return ""
        return f"{cost:,.4f} {self.currency}".rstrip() if cost < 1 else f"{cost:,.2f} {self.currency}".rstrip()


def load(path: Path) -> Prices:
    """Read a table of prices; without a file, there are none. Raises UsageError for what is not a price."""
    try:
        value = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Prices()
    except (OSError, ValueError) as error:
        raise UsageError(f"The prices in {path} cannot be read: {error}. No cost is shown.") from error
    models = value.get("models", {})
    if not isinstance(models, dict):
        raise UsageError(f"The prices in {path} have no [models.…] tables. No cost is shown.")
    prices = {str(name): _price(path, str(name), given) for name, given in models.items()}
    return Prices(prices, str(value.get("currency", "")), str(value.get("as_of", "")))


def _price(path: Path, name: str, given: object) -> Price:
    known = given if isinstance(given, dict) else {}
    amounts = {
        key: float(amount)
        for key, amount in known.items()
        if key in _NAMES and isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < _MILLION
    }
    if set(amounts) != set(known) or not {"input", "output"} <= set(amounts):
        raise UsageError(
            f"The price of {name} in {path} needs input and output, and may have cached: money for a million "
            "tokens. No cost is shown."
        )
    return Price(amounts["input"], amounts["output"], amounts.get("cached", amounts["input"]))
