"""Reading a record's details without trusting their form: a missing or odd value becomes an empty one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rails.core.requests import Json

Details = Mapping[str, Json]


def text(details: Details, key: str) -> str:
    """Return a text, or "". A text that the log holds elsewhere gives its beginning, and says so."""
    value = details.get(key)
    if isinstance(value, dict) and isinstance(value.get("blob"), str):
        return f"{text(value, 'head')}\n[… {number(value, 'bytes'):.0f} bytes, stored as {text(value, 'blob')[:12]} …]"
    return value if isinstance(value, str) else ""


def number(details: Details, key: str) -> float:
    """Return a number that is not negative, or 0."""
    value = details.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, value)


def flag(details: Details, key: str, default: bool = False) -> bool:
    """Return a truth value, or ``default``."""
    value = details.get(key)
    return value if isinstance(value, bool) else default


def texts(details: Details, key: str) -> tuple[str, ...]:
    """Return the texts of an array, leaving out what is none."""
    value = details.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def objects(details: Details, key: str) -> tuple[Details, ...]:
    """Return the objects of an array, leaving out what is none."""
    value = details.get(key)
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def inner(details: Details, key: str) -> Details:
    """Return an object, or an empty one."""
    value = details.get(key)
    return value if isinstance(value, dict) else {}
