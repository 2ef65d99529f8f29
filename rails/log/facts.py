"""Taking values out of a record's details without trusting their form: what is missing or odd is empty."""

from __future__ import annotations

from collections.abc import Mapping

from rails.core.requests import Json

Details = Mapping[str, Json]


def text(details: Details, key: str) -> str:
    """Return a text, or ""."""
    value = details.get(key)
    return value if isinstance(value, str) else ""


def number(details: Details, key: str) -> int:
    """Return a whole number, or 0."""
    value = details.get(key)
    return value if isinstance(value, int) else 0


def items(details: Details, key: str) -> list[Json]:
    """Return an array, or an empty one."""
    value = details.get(key)
    return value if isinstance(value, list) else []


def objects(details: Details, key: str) -> list[Details]:
    """Return the objects of an array, leaving out what is none."""
    return [item for item in items(details, key) if isinstance(item, Mapping)]


def inner(details: Details, key: str) -> Details:
    """Return an object, or an empty one."""
    value = details.get(key)
    return value if isinstance(value, Mapping) else {}


def ids(details: Details) -> list[str]:
    """Return the ids of the requests that a record is about."""
    one = text(details, "id")
    return [item for item in items(details, "ids") if isinstance(item, str)] or ([one] if one else [])
