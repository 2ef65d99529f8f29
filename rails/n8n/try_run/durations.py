"""Luxon's units of time, zones and ``Duration``."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, to_number, to_text

UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
MILLIS: Final = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000,
                  "millisecond": 1, "year": 31_536_000_000, "quarter": 7_862_400_000,
                  "month": 2_592_000_000}  # fmt: skip
_SHORTUNITS: Final = {"y": "year", "M": "month", "w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second",
                       "ms": "millisecond", "weekNumber": "week", "weekDay": "weekday", "sec": "second"}  # fmt: skip
#: The time zone of the workflow that is tried: texts without one are read in it.
ZONE: Final[ContextVar[str]] = ContextVar("ZONE", default="UTC")


def unit_of(name: Value) -> str:
    """Return a unit in the singular. Raises NodeFault for what is none."""
    text = to_text(name)
    unit = _SHORTUNITS.get(text, text.lower().removesuffix("s"))
    if unit not in UNITS and unit not in {"weekday", "ordinal", "weekyear"}:
        raise values.NodeFault(f"Invalid unit {text}")
    return unit


@lru_cache(maxsize=64)
def zone(name: str) -> datetime.tzinfo:
    """Return a time zone by its name or offset. Raises NotModelled for one that this machine does not know."""
    if name.upper() in {"UTC", "Z", "GMT", "ETC/UTC"}:
        return datetime.UTC
    found = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", name)
    if found:
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        return datetime.timezone(datetime.timedelta(minutes=-minutes if found[1] == "-" else minutes))
    try:
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise NotModelled(f"the time zone {name[:40]!r}") from None


class Duration:
    """A length of time by units."""

    kind = "duration"

    def __init__(self, parts: Mapping[str, float]) -> None:
        self.parts = {unit: values.whole(parts[unit]) for unit in UNITS if unit in parts}

    @classmethod
    def make(cls, given: Value) -> Duration:
        """Return the duration that an object or another duration says."""
        if isinstance(given, Duration):
            return given
        if not isinstance(given, dict):
            return cls({"millisecond": to_number(given)})
        return cls({unit_of(name): to_number(one) for name, one in given.items()})

    def millis(self) -> int | float:
        """Return the length in milliseconds; a month has 30 days."""
        return values.whole(sum(MILLIS[unit] * count for unit, count in self.parts.items()))

    def in_unit(self, name: Value) -> int | float:
        """Return the length in one unit."""
        unit = unit_of(name)
        if set(self.parts) == {unit}:
            return self.parts[unit]
        return values.whole(self.millis() / MILLIS[unit])

    def __str__(self) -> str:
        letters = {"year": "Y", "month": "M", "week": "W", "day": "D", "hour": "H", "minute": "M"}
        parts = dict(self.parts)
        seconds = parts.pop("second", 0) + parts.pop("millisecond", 0) / 1000
        date = "".join(f"{to_text(parts[u])}{letters[u]}" for u in ("year", "month", "week", "day") if parts.get(u))
        time = "".join(f"{to_text(parts[u])}{letters[u]}" for u in ("hour", "minute") if parts.get(u))
        time += f"{to_text(values.whole(seconds))}S" if seconds else ""
        return f"P{date}{'T' + time if time else ''}" if date or time else "PT0S"

    in_json = __str__

    def property(self, key: str) -> Value:
        """Return a unit's count or a method."""
        if key.endswith("s") and key[:-1] in UNITS:
            return self.parts.get(key[:-1], 0)
        methods: dict[str, Value] = {
            "as": self.in_unit,
            "toObject": lambda: {f"{unit}s": count for unit, count in self.parts.items()},
            "toMillis": self.millis,
            "valueOf": self.millis,
            "toISO": self.__str__,
            "toString": self.__str__,
            "toJSON": self.__str__,
        }
        return methods.get(key, UNDEFINED)
