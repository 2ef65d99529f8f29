"""How luxon reads and writes dates: ISO 8601 and its tokens, in English."""

from __future__ import annotations

import datetime
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from rails.n8n.try_run.values import NotModelled

if TYPE_CHECKING:
    from rails.n8n.try_run.dates import DateTime

ISO: Final = re.compile(
    r"(?P<Y>[+-]?\d{4,6})(?:-?(?:W(?P<W>\d\d)(?:-?(?P<D>\d))?|(?P<o>\d{3})(?!\d)|(?P<M>\d\d)(?:-?(?P<d>\d\d))?))?"
    r"(?:[T ](?P<h>\d\d)(?::?(?P<m>\d\d)(?::?(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?)?)?"
    r"\s?(?P<z>Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
#: With which luxon's tokens begin; other letters stand for themselves.
TOKEN_LETTERS: Final = frozenset("DEFGHLMSTWXZacdfhkmnoqstuxyz")
TOKEN: Final = re.compile(r"'(?:[^']*)'|([a-zA-Z])\1*|.", re.DOTALL)
_DIGITS: Final = {"yyyy": r"(?P<Y>\d{4})", "yy": r"(?P<y>\d\d)", "MM": r"(?P<M>\d\d)", "M": r"(?P<M>\d\d?)",
                  "dd": r"(?P<d>\d\d)", "d": r"(?P<d>\d\d?)", "HH": r"(?P<h>\d\d)", "H": r"(?P<h>\d\d?)",
                  "hh": r"(?P<h>\d\d)", "h": r"(?P<h>\d\d?)", "mm": r"(?P<m>\d\d)", "m": r"(?P<m>\d\d?)",
                  "ss": r"(?P<s>\d\d)", "s": r"(?P<s>\d\d?)", "SSS": r"(?P<f>\d{3})", "a": r"(?P<a>[AaPp][Mm])",
                  "MMM": r"(?P<N>[A-Za-z]{3})", "MMMM": r"(?P<N>[A-Za-z]+)", "LLL": r"(?P<N>[A-Za-z]{3})",
                  "LLLL": r"(?P<N>[A-Za-z]+)", "ZZ": r"(?P<z>Z|[+-]\d\d:?\d\d)", "ZZZ": r"(?P<z>Z|[+-]\d\d:?\d\d)",
                  "LL": r"(?P<M>\d\d)", "L": r"(?P<M>\d\d?)", "EEE": r"[A-Za-z]{3}", "EEEE": r"[A-Za-z]+"}  # fmt: skip
MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@cache
def form_reader(form: str) -> re.Pattern[str]:
    """Return the pattern of texts in a form of tokens, its groups named as ISO's are."""
    pattern, seen = "", set[str]()
    for found in TOKEN.finditer(form):
        token = found.group()
        if not token[0].isalpha():
            pattern += re.escape(token[1:-1] if len(token) > 1 else token)
        elif token in _DIGITS and token not in seen:
            pattern += _DIGITS[token]
            seen.add(token)
        else:
            raise NotModelled(f"reading the date token {token!r}")
    return re.compile(pattern, re.IGNORECASE)


def moment_of(numbers: list[int], tz: datetime.tzinfo) -> datetime.datetime | None:
    """Return the moment of year, month, day … in a zone, ``None`` where there is none."""
    year, month, day, hour, minute, second, millis = [*numbers, *[0] * 7][:7]
    try:
        made = datetime.datetime(year, month, day, hour, minute, second, millis * 1000, tzinfo=tz)
        # A time that the change to summer leaves out is an hour later, as in luxon.
        return made.astimezone(datetime.UTC).astimezone(tz)
    except (ValueError, OverflowError):
        return None


def offset_text(date: DateTime, form: str) -> str:
    """Return how far from UTC a date is: as "Z" +5, "ZZ" +05:00 or "ZZZ" +0500."""
    minutes = offset_minutes(date)
    sign, hours, rest = "-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60
    if form == "Z":
        return f"{sign}{hours}{f':{rest:02}' if rest else ''}"
    return f"{sign}{hours:02}{'' if form == 'ZZZ' else ':'}{rest:02}"


def offset_minutes(date: DateTime) -> int:
    """Return the minutes from UTC."""
    offset = date.at.utcoffset() if date.at else None
    return int(offset.total_seconds() // 60) if offset else 0


def zone_name(date: DateTime) -> str:
    """Return the name of a date's zone."""
    return getattr(date.tz, "key", "UTC" if date.tz is datetime.UTC else f"UTC{offset_text(date, 'Z')}")


def written_token(date: DateTime, token: str) -> str | None:
    """Return a date in one token, ``None`` for one that is not modelled."""
    at = date.at
    if at is None:
        return ""
    hour = at.hour % 12 or 12
    week = at.isocalendar()
    table: dict[str, Any] = {
        "yyyy": f"{at.year:04}", "yy": f"{at.year % 100:02}", "y": at.year, "MMMM": MONTHS[at.month - 1],
        "MMM": MONTHS[at.month - 1][:3], "MM": f"{at.month:02}", "M": at.month, "dd": f"{at.day:02}", "d": at.day,
        "EEEE": DAYS[at.weekday()], "EEE": DAYS[at.weekday()][:3], "E": at.isoweekday(), "HH": f"{at.hour:02}",
        "H": at.hour, "hh": f"{hour:02}", "h": hour, "mm": f"{at.minute:02}", "m": at.minute, "ss": f"{at.second:02}",
        "s": at.second, "SSS": f"{at.microsecond // 1000:03}", "S": at.microsecond // 1000,
        "a": "PM" if at.hour > 11 else "AM", "W": week.week, "WW": f"{week.week:02}", "kkkk": week.year,
        "o": at.timetuple().tm_yday, "ooo": f"{at.timetuple().tm_yday:03}", "q": (at.month + 2) // 3,
        "X": int(date.millis() // 1000), "x": date.millis(), "z": zone_name(date), "ZZZZ": at.tzname() or "",
        "D": f"{at.month}/{at.day}/{at.year}", "DD": f"{MONTHS[at.month - 1][:3]} {at.day}, {at.year}",
        "DDD": f"{MONTHS[at.month - 1]} {at.day}, {at.year}", "T": f"{at.hour:02}:{at.minute:02}",
        "TT": f"{at.hour:02}:{at.minute:02}:{at.second:02}",
        "t": f"{hour}:{at.minute:02}\u202f{'PM' if at.hour > 11 else 'AM'}",
    }  # fmt: skip
    alias = {"LLLL": "MMMM", "LLL": "MMM", "LL": "MM", "L": "M", "cccc": "EEEE", "ccc": "EEE", "c": "E", "u": "SSS"}
    if token in {"Z", "ZZ", "ZZZ"}:
        return offset_text(date, token)
    found = table.get(alias.get(token, token))
    return None if found is None else str(found)
