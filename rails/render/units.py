"""Durations and times as people write them."""

from __future__ import annotations

from datetime import datetime


def seconds_text(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def bytes_text(count: int) -> str:
    """Return a size in the unit that suits it."""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def time_text(stamp: str, form: str = "%Y-%m-%d %H:%M:%S %Z") -> str:
    """Return an ISO 8601 time as people write it where they are, with the zone; what is none stays as it is."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime(form)
    except ValueError:
        return stamp


def minute_text(stamp: str) -> str:
    """Return the same without seconds."""
    return time_text(stamp, "%Y-%m-%d %H:%M %Z")
