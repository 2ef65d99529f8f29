"""Advice per rule and lists of file names, kept as data."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent.parent / "names.toml").read_text("utf-8"))


@cache
def name_list(key: str) -> tuple[str, ...]:
    """Return a list of ``names.toml``."""
    return tuple(_table()[key])


def remedy_of(rule: str) -> str:
    """Return what to do about a rule's finding, or ""."""
    return str(_table()["remedies"].get(rule, ""))
