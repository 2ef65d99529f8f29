"""Reading a record's details without trusting their form: what is missing or odd becomes something empty.

Every view of the log reads through these functions, because a log may be newer, older or damaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from rails.core.tool_request import Json

Details: TypeAlias = Mapping[str, Json]


def text(details: Details, key: str) -> str:
    """Return a text, or ""."""
    value = details.get(key)
    return value if isinstance(value, str) else ""


def shortened(details: Details, key: str) -> str:
    """Return a text; one that the log holds elsewhere gives its beginning, and says so."""
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


def integer(details: Details, key: str) -> int:
    """Return a whole number, or 0."""
    value = details.get(key)
    return value if isinstance(value, int) else 0


def flag(details: Details, key: str, default: bool = False) -> bool:
    """Return a truth value, or ``default``."""
    value = details.get(key)
    return value if isinstance(value, bool) else default


def items(details: Details, key: str) -> list[Json]:
    """Return an array, or an empty one."""
    value = details.get(key)
    return value if isinstance(value, list) else []


def texts(details: Details, key: str) -> tuple[str, ...]:
    """Return the texts of an array, leaving out what is none."""
    return tuple(item for item in items(details, key) if isinstance(item, str))


def objects(details: Details, key: str) -> tuple[Details, ...]:
    """Return the objects of an array, leaving out what is none."""
    return tuple(item for item in items(details, key) if isinstance(item, dict))


def inner(details: Details, key: str) -> Details:
    """Return an object, or an empty one."""
    value = details.get(key)
    return value if isinstance(value, dict) else {}


def ids(details: Details) -> tuple[str, ...]:
    """Return the ids of the requests that a record is about."""
    one = text(details, "id")
    return texts(details, "ids") or ((one,) if one else ())
