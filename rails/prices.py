"""What a model's tokens cost, from the user's own file: a shipped table would be wrong by next month.

``prices.toml`` in the user's configuration folder, in US dollars for a million tokens::

    ["claude-sonnet-5-5"]     # the model's name as the session shows it
    input = 3.00
    output = 15.00
    cache_read = 0.30         # default: as input
    cache_write = 3.75        # default: as input

A recording costs nothing. A local model costs nothing when its entry says 0.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rails.core.conversation import Usage
from rails.core.errors import UsageError
from rails.core.text import one_line

_FILE: Final = "prices.toml"
_KEYS: Final = ("input", "output", "cache_read", "cache_write")
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of each kind."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    def of(self, usage: Usage) -> float:
        """Return what ``usage`` costs, in US dollars."""
        pairs = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        )
        return sum(tokens * price for tokens, price in pairs) / _MILLION


def read_prices(folder: Path) -> Mapping[str, Price]:
    """Read the user's prices; no file means none. Raises UsageError that names the entry which is wrong."""
    file = folder / _FILE
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}. No money budget can be kept without it.") from error
    return {name: _price(f"{file}: [{one_line(name)}]", table) for name, table in tables.items()}


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of the model with this name, or ``None`` when it is not known."""
    return prices.get(model) or (Price() if model.startswith("recorded:") else None)


def no_price(model: str, folder: Path) -> UsageError:
    """Return the error for a money budget over a model whose price is not known."""
    return UsageError(
        f"--max-cost needs the price of {one_line(model)!r}, and {folder / _FILE} has none. Nothing was started. "
        f'Add, in dollars for a million tokens: ["{one_line(model)}"] input = 3.00 output = 15.00 (a line each).'
    )


def _price(where: str, table: object) -> Price:
    if not isinstance(table, dict) or not {"input", "output"} <= set(table) <= set(_KEYS):
        raise UsageError(f"{where} must have input and output, and may have cache_read and cache_write.")
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MILLION:
            raise UsageError(f"{where}: {key} must be dollars for a million tokens, such as 3.00.")
    full = {"cache_read": table["input"], "cache_write": table["input"], **table}
    return Price(**{key: float(value) for key, value in full.items()})
