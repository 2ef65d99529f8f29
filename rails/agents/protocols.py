"""The protocol for a model: as chosen, or by ``protocols.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rails.agents.prompt import Protocol
from rails.agents.template import PROTOCOLS

#: Billions of parameters in a model's name: "qwen2.5-coder-1.5b", "llama3.2:3b".
_SIZE: Final = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?)b(?![a-z])", re.IGNORECASE)


#: In which protocol a model is asked after one that led nowhere: tools give way to text, text to the simplest form.
OTHERWISE: Final[Mapping[Protocol, Protocol]] = {
    "native": "edits",
    "json": "edits",
    "edits": "whole",
    "whole": "edits",
}


class ProtocolChoice(Struct, frozen=True):
    """A protocol, and why it was chosen."""

    protocol: Protocol
    why: str


def choose(wanted: str, provider: str, name: str, *, local: bool) -> ProtocolChoice:
    """Return the protocol for ``provider``'s model ``name``; ``wanted`` is one of ``PROTOCOLS``."""
    if wanted != PROTOCOLS[0]:
        return ProtocolChoice(wanted, "as asked for")  # type: ignore[arg-type]
    if not provider:
        return ProtocolChoice("native", "nobody is asked")
    row = next(row for row in _rows() if _fits(row, provider, name, local=local))
    return ProtocolChoice(row["protocol"], row["why"])


def billions(name: str) -> float | None:
    """Return the billions of parameters in a model's name, or ``None``."""
    found = _SIZE.search(name.rpartition("/")[2])
    return float(found[1]) if found else None


def _fits(row: dict[str, Any], provider: str, name: str, *, local: bool) -> bool:
    if row.get("provider", provider) != provider or row.get("local", local) != local:
        return False
    if "name" in row and not re.search(row["name"], name, re.IGNORECASE):
        return False
    size = billions(name)
    return "below" not in row or (size is not None and size < row["below"])


@cache
def _rows() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("protocols.toml").read_text("utf-8")
    import tomllib  # an answer that is applied asks no model

    rows: list[dict[str, Any]] = tomllib.loads(text)["row"]
    return rows
