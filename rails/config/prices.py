"""What a model's tokens cost, from a table that the user keeps.

``prices.toml`` in the user's configuration folder, money for a million tokens::

    as_of = "2026-11"
    currency = "USD"
    [models."claude-sonnet-5-5"]     # the model's name as the session shows it; "anthropic:NAME" means the same
    input = 3.0
    output = 15.0
    cached = 0.3                     # read from the provider's cache; left out: as input
    window = 200000                  # tokens that it takes at once, prompt and answer; left out: as its provider says

What a provider writes into its cache counts as input. A recording costs nothing; a local model costs nothing when its
entry says 0.
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
    """Money for a million tokens of each kind. ``window`` is how many the model takes at once; 0: as it says itself."""

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
    """The user's table: prices by model. Without any, nothing is said of money."""

    models: Mapping[str, Price] = {}
    currency: str = ""
    as_of: str = ""

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what ``usage`` costs, ``None`` where the table does not have the model."""
        price = price_of(model, self.models)
        return price.of(usage) if price and self.models else None

    def text(self, cost: float | None) -> str:
        """Return an amount as people write it; "" for ``None``."""
        if cost is None:
            return ""
        return f"{cost:,.4f} {self.currency}".rstrip() if cost < 1 else f"{cost:,.2f} {self.currency}".rstrip()


def load_price_file(file: Path) -> Prices:
    """Read a table of prices; no file means none. Raises UsageError that names each entry which is wrong."""
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
    """Return the price of the model with this name, or ``None`` when it is not known."""
    for name, price in prices.items():
        if model in (name, name.partition(":")[2]):
            return price
    return Price() if model.startswith("recorded:") else None


def no_price(model: str, folder: Path) -> UsageError:
    """Return the error for a money budget over a model whose price is not known."""
    return UsageError(
        f"--max-cost needs the price of {one_line(model)!r}, and {folder / PRICES_NAME} has none. Nothing was started. "
        f'Add [models."{one_line(model)}"] with input = … and output = …, money for a million tokens.'
    )
