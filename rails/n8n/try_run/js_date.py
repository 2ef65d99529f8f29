"""JavaScript's ``Date``."""

from __future__ import annotations

import datetime
import email.utils
import re
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.date_forms import moment_of, offset_minutes, offset_text, zone_name
from rails.n8n.try_run.dates import METHODS, PROPERTIES, DateTime
from rails.n8n.try_run.durations import ZONE
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, to_number

_JS_PARTS: Final = {"FullYear": "year", "Month": "month", "Date": "day", "Hours": "hour", "Minutes": "minute",
                    "Seconds": "second", "Milliseconds": "millisecond"}  # fmt: skip


class JsDate:
    """JavaScript's ``Date``; its local time is UTC, as n8n's process has it where ``TZ`` is not set."""

    kind = "jsdate"

    def __init__(self, date: DateTime) -> None:
        self.date = date

    @classmethod
    def make(cls, now: DateTime, *given: Value) -> JsDate:
        """Return what ``new Date(…)`` makes."""
        if not given:
            return cls(now)
        if len(given) > 1:
            numbers = [int(to_number(one)) for one in given]
            base = DateTime(moment_of([numbers[0], 1, 1], now.tz)).plus(
                {"months": numbers[1], "days": [*numbers, 1][2] - 1}
            )
            units = ("hour", "minute", "second", "millisecond")
            return cls(base.plus(dict(zip(units, numbers[3:], strict=False))))
        one = given[0]
        if isinstance(one, str):
            return cls.read(now, one)
        return cls(DateTime.of_millis(float(to_number(one)), now.tz))

    @classmethod
    def read(cls, now: DateTime, text: str) -> JsDate:
        """Return the date that a text says: ISO (a bare date is UTC), or as mail and HTTP write it."""
        bare = re.fullmatch(r"\d{4}(?:-\d\d){0,2}", text.strip())
        found = DateTime.read(text, datetime.UTC if bare else now.tz)
        if found.at is None:
            try:
                found = DateTime(email.utils.parsedate_to_datetime(text).astimezone(now.tz))
            except (ValueError, TypeError, IndexError):
                if re.search(r"\d{4}|\d/\d", text):
                    raise NotModelled(f"new Date({text[:40]!r})") from None
        return cls(found.in_zone(now.tz))

    def millis(self) -> int | float:
        """Return the milliseconds since 1970."""
        return self.date.millis()

    def __str__(self) -> str:
        if self.date.at is None:
            return "Invalid Date"
        at = self.date.at
        return f"{at:%a %b %d %Y %H:%M:%S} GMT{offset_text(self.date, 'ZZZ')} ({_long_zone(self.date)})"

    def iso(self) -> str:
        """Return ISO 8601 in UTC."""
        if self.date.at is None:
            raise values.error("Invalid time value", "RangeError")
        return self.date.in_zone("utc").iso()

    def in_json(self) -> Value:
        """Return how JSON keeps it."""
        return self.iso() if self.date.at else None

    def property(self, key: str) -> Value:
        """Return one of the methods."""
        whole = {"toISOString": self.iso, "toJSON": self.iso, "getTime": self.millis, "valueOf": self.millis,
                 "toString": self.__str__, "toDateTime": lambda: self.date.in_zone(ZONE.get()), "toInt": self.millis,
                 "toDateString": lambda: f"{self.date.at:%a %b %d %Y}",
                 "getTimezoneOffset": lambda: -offset_minutes(self.date)}  # fmt: skip
        if key in whole:
            return whole[key]
        verb, utc, name = key[:3], key[3:6] == "UTC", key[6:] if key[3:6] == "UTC" else key[3:]
        date = self.date.in_zone("utc") if utc else self.date
        if verb == "get" and name in _JS_PARTS:
            return lambda: PROPERTIES[_JS_PARTS[name]](date) - (name == "Month")
        if verb == "get" and name == "Day":
            return lambda: PROPERTIES["weekday"](date) % 7
        if verb == "set" and (name in _JS_PARTS or name == "Time"):
            return lambda *given: self._set(date, name, [to_number(one) for one in given])
        if key in METHODS and key not in {"set", "get", "diff", "equals"}:
            return lambda *given: _as_date(METHODS[key](self.date, *given))
        if key.startswith("to") and key.endswith("String"):
            raise NotModelled(f"Date's .{key}()")
        return UNDEFINED

    def _set(self, date: DateTime, name: str, given: list[int | float]) -> int | float:
        if name == "Time":
            self.date = DateTime.of_millis(given[0], self.date.tz)
            return self.millis()
        order = list(_JS_PARTS)
        for part, number in zip(order[order.index(name) :], given, strict=False):
            now = PROPERTIES[_JS_PARTS[part]](date) - (part == "Month")
            date = date.plus({_JS_PARTS[part]: number - now})
        self.date = date.in_zone(self.date.tz)
        return self.millis()


def _as_date(value: Value) -> Value:
    return JsDate(value) if isinstance(value, DateTime) else value


def _long_zone(date: DateTime) -> str:
    return "Coordinated Universal Time" if date.tz is datetime.UTC else zone_name(date)
