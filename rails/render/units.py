"""Durations and times as people write them."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def time_text(stamp: str) -> str:
    """Return an ISO 8601 time in UTC as people write it; what is none stays as it is."""
    return f"{stamp[:10]} {stamp[11:19]} UTC" if len(stamp) >= 19 else stamp
