"""Durations and times for people."""

from __future__ import annotations

from datetime import datetime


def seconds_text(seconds: float) -> str:
    """Return a duration in a suitable unit."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def bytes_text(count: int) -> str:
    """Return a size in a suitable unit."""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def time_text(stamp: str, form: str = "%Y-%m-%d %H:%M:%S %Z") -> str:
    """Return an ISO 8601 time in local form, with zone; others unchanged."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime(form)
    except ValueError:
        return stamp


def minute_text(stamp: str) -> str:
    """Return it without seconds."""
    return time_text(stamp, "%Y-%m-%d %H:%M %Z")
