"""Prices of tokens: the user's ``prices.toml``, money for a million.

    as_of = "2026-11"
    currency = "USD"
    [models."claude-sonnet-5-5"]     # or "anthropic:NAME"
    input = 3.0
    output = 15.0
    cached = 0.3                     # default: as input
    window = 200000                  # of prompt and answer; default: the provider's

Cache writes count as input. Recordings are free, local models with an entry of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.conversation import Usage
from rails.core.errors import UsageError
from rails.core.text import one_line

PRICES_NAME: Final = "prices.toml"
_USELESS: Final = "No cost can be worked out."
_MILLION: Final = 1_000_000


class Price(Struct, frozen=True):
    """Money for a million tokens. ``window``: tokens at once; 0: as the model says."""

    input: float = 0.0
    output: float = 0.0
    cached: float = 0.0
    window: int = 0

    def of(self, usage: Usage) -> float:
        """Return what ``usage`` costs."""
        fresh = usage.input_tokens + usage.cache_write_tokens
        kinds = ((fresh, self.input), (usage.output_tokens, self.output), (usage.cache_read_tokens, self.cached))
        return sum(tokens * price for tokens, price in kinds) / _MILLION


class Prices(Struct, frozen=True):
    """Prices by model; empty: nothing is said of money."""

    models: Mapping[str, Price] = {}
    currency: str = ""
    as_of: str = ""

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost of ``usage``, ``None`` for an unknown model."""
        price = price_of(model, self.models)
        return price.of(usage) if price and self.models else None

    def text(self, cost: float | None) -> str:
        """Return an amount for people; "" for ``None``."""
        if cost is None:
            return ""
        return f"{cost:,.4f} {self.currency}".rstrip() if cost < 1 else f"{cost:,.2f} {self.currency}".rstrip()


def load_price_file(file: Path) -> Prices:
    """Return a table, empty without file. Raises UsageError naming wrong entries."""
    from rails.config.settings_file import SettingsError, parse_settings

    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Prices()
    except OSError as error:
        raise UsageError(f"{_USELESS} {file}: {error.strerror or error}.") from error
    from rails.config.tables import PriceTables

    try:
        tables = parse_settings(data, str(file), "prices").tables(PriceTables)
    except SettingsError as error:
        more = f" ({len(error.mistakes) - 1} more in the file.)" if len(error.mistakes) > 1 else ""
        raise UsageError(f"{_USELESS} {error.mistakes[0]}{more}") from None
    prices = {
        name: Price(one.input, one.output, one.input if one.cached is None else one.cached, one.window)
        for name, one in tables.models.items()
    }
    return Prices(prices, tables.currency, str(tables.as_of))


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return a model's price, or ``None``."""
    for name, price in prices.items():
        if model in (name, name.partition(":")[2]):
            return price
    return Price() if model.startswith("recorded:") else None


def no_price(model: str, folder: Path) -> UsageError:
    """Return the error for a money budget over a model without a price."""
    return UsageError(
        f"--max-cost needs the price of {one_line(model)!r}, and {folder / PRICES_NAME} has none. Nothing was started. "
        f'Add [models."{one_line(model)}"] with input = … and output = …, money for a million tokens.'
    )
