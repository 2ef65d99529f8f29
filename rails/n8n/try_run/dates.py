"""Luxon's ``DateTime`` and ``Duration`` and JavaScript's ``Date``, as far as they are modelled: in English."""

from __future__ import annotations

import calendar
import datetime
import email.utils
import math
import re
import zoneinfo
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any, Final

from rails.n8n.try_run import values
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, to_number, to_text

_ISO: Final = re.compile(
    r"(?P<Y>[+-]?\d{4,6})(?:-?(?:W(?P<W>\d\d)(?:-?(?P<D>\d))?|(?P<o>\d{3})(?!\d)|(?P<M>\d\d)(?:-?(?P<d>\d\d))?))?"
    r"(?:[T ](?P<h>\d\d)(?::?(?P<m>\d\d)(?::?(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?)?)?"
    r"\s?(?P<z>Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
_UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
_MILLIS: Final = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000,
                  "millisecond": 1, "year": 31_536_000_000, "quarter": 7_862_400_000,
                  "month": 2_592_000_000}  # fmt: skip
_SHORT_UNITS: Final = {"y": "year", "M": "month", "w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second",
                       "ms": "millisecond", "weekNumber": "week", "weekDay": "weekday", "sec": "second"}  # fmt: skip
_TOKEN: Final = re.compile(r"'(?:[^']*)'|([a-zA-Z])\1*|.", re.DOTALL)
#: The time zone of the workflow that is tried: texts without one are read in it.
ZONE: Final[ContextVar[str]] = ContextVar("ZONE", default="UTC")
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DIGITS: Final = {"yyyy": r"(?P<Y>\d{4})", "yy": r"(?P<y>\d\d)", "MM": r"(?P<M>\d\d)", "M": r"(?P<M>\d\d?)",
                  "dd": r"(?P<d>\d\d)", "d": r"(?P<d>\d\d?)", "HH": r"(?P<h>\d\d)", "H": r"(?P<h>\d\d?)",
                  "hh": r"(?P<h>\d\d)", "h": r"(?P<h>\d\d?)", "mm": r"(?P<m>\d\d)", "m": r"(?P<m>\d\d?)",
                  "ss": r"(?P<s>\d\d)", "s": r"(?P<s>\d\d?)", "SSS": r"(?P<f>\d{3})", "a": r"(?P<a>[AaPp][Mm])",
                  "MMM": r"(?P<N>[A-Za-z]{3})", "MMMM": r"(?P<N>[A-Za-z]+)", "LLL": r"(?P<N>[A-Za-z]{3})",
                  "LLLL": r"(?P<N>[A-Za-z]+)", "ZZ": r"(?P<z>Z|[+-]\d\d:?\d\d)", "ZZZ": r"(?P<z>Z|[+-]\d\d:?\d\d)",
                  "LL": r"(?P<M>\d\d)", "L": r"(?P<M>\d\d?)", "EEE": r"[A-Za-z]{3}", "EEEE": r"[A-Za-z]+"}  # fmt: skip
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def unit_of(name: Value) -> str:
    """Return a unit in the singular. Raises NodeFault for what is none."""
    text = to_text(name)
    unit = _SHORT_UNITS.get(text, text.lower().removesuffix("s"))
    if unit not in _UNITS and unit not in {"weekday", "ordinal", "weekyear"}:
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
        self.parts = {unit: values.whole(parts[unit]) for unit in _UNITS if unit in parts}

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
        return values.whole(sum(_MILLIS[unit] * count for unit, count in self.parts.items()))

    def in_unit(self, name: Value) -> int | float:
        """Return the length in one unit."""
        unit = unit_of(name)
        if set(self.parts) == {unit}:
            return self.parts[unit]
        return values.whole(self.millis() / _MILLIS[unit])

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
        if key.endswith("s") and key[:-1] in _UNITS:
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


class DateTime:
    """A moment in a time zone, to the millisecond; ``None`` inside is luxon's invalid date."""

    kind = "date"

    def __init__(self, moment: datetime.datetime | None) -> None:
        self.at = None if moment is None else moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    @classmethod
    def makers(cls, now: Callable[[], DateTime]) -> dict[str, Value]:
        """Return the functions of luxon's ``DateTime`` that make one."""

        def local(*given: Value) -> DateTime:
            numbers = [int(to_number(one)) for one in given if not isinstance(one, dict)]
            return cls(_moment([*numbers, *[1, 1, 1][len(numbers) :]], now().tz)) if numbers else now()

        def zone_in(options: Value) -> datetime.tzinfo:
            named = options.get("zone") if isinstance(options, dict) else None
            return zone(to_text(named)) if named else now().tz

        return {
            "now": now,
            "local": local,
            "utc": lambda *given: local(*given).in_zone("utc") if not given else cls(
                _moment([*map(int, given), *[1, 1, 1][len(given) :]], datetime.UTC)),
            "fromISO": lambda text, options=UNDEFINED: cls.read(to_text(text), zone_in(options), _keeps(options)),
            "fromSQL": lambda text, options=UNDEFINED: cls.read(to_text(text), zone_in(options), _keeps(options)),
            "fromFormat": lambda one, form, options=UNDEFINED: cls.parse(to_text(one), to_text(form), zone_in(options)),
            "fromMillis": lambda n, options=UNDEFINED: cls.of_millis(to_number(n), zone_in(options)),
            "fromSeconds": lambda n, options=UNDEFINED: cls.of_millis(to_number(n) * 1000, zone_in(options)),
            "fromJSDate": lambda date, options=UNDEFINED: cls.of_millis(date.millis(), zone_in(options)),
            "fromObject": lambda given, options=UNDEFINED: cls._from_object(given, zone_in(options), now()),
            "isDateTime": lambda one: isinstance(one, DateTime),
            "max": lambda *dates: max(dates, key=lambda one: one.millis()),
            "min": lambda *dates: min(dates, key=lambda one: one.millis()),
        }  # fmt: skip

    @classmethod
    def of_millis(cls, millis: float, tz: datetime.tzinfo) -> DateTime:
        """Return the moment so many milliseconds after 1970."""
        if not math.isfinite(millis) or abs(millis) > 2e14:
            return cls(None)
        return cls((_EPOCH + datetime.timedelta(milliseconds=int(millis))).astimezone(tz))

    @classmethod
    def read(cls, text: str, tz: datetime.tzinfo, keep: bool = False) -> DateTime:
        """Return the date that an ISO or SQL text says; ``keep`` its own zone."""
        found = _ISO.fullmatch(text.strip())
        return cls(None) if found is None else cls._from_parts(found.groupdict(), tz, keep)

    @classmethod
    def _from_parts(cls, part: Mapping[str, str | None], tz: datetime.tzinfo, keep: bool) -> DateTime:
        own = zone((part.get("z") or "").upper()) if part.get("z") else tz
        year = int(part.get("Y") or 0) or 2000 + int(part.get("y") or 0) - (100 if int(part.get("y") or 0) > 60 else 0)
        hour = int(part.get("h") or 0)
        if part.get("a"):
            hour = hour % 12 + (12 if (part["a"] or "").lower() == "pm" else 0)
        month = int(part.get("M") or 1)
        if part.get("N"):
            named = [n for n, name in enumerate(_MONTHS, 1) if name.lower().startswith((part["N"] or "").lower())]
            month = named[0] if named else 13
        millis = int(((part.get("f") or "0") + "00")[:3])
        numbers = [year, month, int(part.get("d") or 1), hour, int(part.get("m") or 0), int(part.get("s") or 0), millis]
        try:
            if part.get("W"):
                day = datetime.date.fromisocalendar(year, int(part["W"] or 1), int(part.get("D") or 1))
                numbers[1:3] = [day.month, day.day]
            elif part.get("o"):
                day = datetime.date(year, 1, 1) + datetime.timedelta(days=int(part["o"] or 1) - 1)
                numbers[1:3] = [day.month, day.day]
        except ValueError:
            return cls(None)
        moment = _moment(numbers, own)
        return cls(moment if keep or moment is None else moment.astimezone(tz))

    @classmethod
    def parse(cls, text: str, form: str, tz: datetime.tzinfo) -> DateTime:
        """Return the date that a text in a form of tokens says."""
        pattern = _reader(form)
        found = pattern.fullmatch(text)
        return cls(None) if found is None else cls._from_parts(found.groupdict(), tz, keep=False)

    @classmethod
    def _from_object(cls, given: Value, tz: datetime.tzinfo, now: DateTime) -> DateTime:
        start = now.in_zone(tz).set({}) if now.at else now
        names = ("year", "month", "day", "hour", "minute", "second", "millisecond")
        asked = {unit_of(name): int(to_number(one)) for name, one in given.items()}
        first = min((names.index(name) for name in asked if name in names), default=0)
        numbers = [
            asked.get(n, getattr(start.at, n) if i < first else 1 if i in (1, 2) else 0) for i, n in enumerate(names)
        ]
        return cls(_moment(numbers, tz))

    @property
    def tz(self) -> datetime.tzinfo:
        """The zone."""
        return (self.at.tzinfo if self.at else None) or datetime.UTC

    def in_zone(self, wanted: Value) -> DateTime:
        """Return the same moment in another zone."""
        if self.at is None:
            return self
        return DateTime(self.at.astimezone(wanted if isinstance(wanted, datetime.tzinfo) else zone(to_text(wanted))))

    def millis(self) -> int | float:
        """Return the milliseconds since 1970."""
        if self.at is None:
            return math.nan
        return (self.at - _EPOCH) // datetime.timedelta(milliseconds=1)

    def __str__(self) -> str:
        return self.iso()

    def in_json(self) -> Value:
        """Return how JSON keeps it."""
        return self.iso() if self.at else None

    def iso(self, *, milliseconds: bool = True) -> str:
        """Return ISO 8601 as luxon writes it."""
        if self.at is None:
            return "Invalid DateTime"
        text = self.at.isoformat(timespec="milliseconds" if milliseconds else "seconds")
        return text.replace("+00:00", "Z") if self.tz is datetime.UTC else text

    def plus(self, given: Value, sign: int = 1) -> DateTime:
        """Return the date a duration later: years to days by the calendar, less as time that passes."""
        if self.at is None:
            return self
        parts = Duration.make(given).parts
        months = sign * int(parts.get("year", 0) * 12 + parts.get("quarter", 0) * 3 + parts.get("month", 0))
        days = sign * (parts.get("week", 0) * 7 + parts.get("day", 0))
        index = self.at.year * 12 + self.at.month - 1 + months
        year, month = index // 12, index % 12 + 1
        try:
            day = min(self.at.day, calendar.monthrange(year, month)[1])
            moment = self.at.replace(year=year, month=month, day=day) + datetime.timedelta(days=int(days))
            rest = (days - int(days)) * _MILLIS["day"]
            rest += sign * sum(_MILLIS[unit] * parts.get(unit, 0) for unit in _UNITS[5:])
            moved = (moment.astimezone(datetime.UTC) + datetime.timedelta(milliseconds=rest)).astimezone(self.tz)
            return DateTime(moved)
        except (ValueError, OverflowError):
            return DateTime(None)

    def set(self, given: Value) -> DateTime:
        """Return the date with some of its parts set."""
        if self.at is None:
            return self
        parts = {unit_of(name): int(to_number(one)) for name, one in given.items()}
        if "weekday" in parts:
            return self.plus({"days": parts["weekday"] - self.at.isoweekday()})
        numbers = [
            parts.get(name, getattr(self.at, name)) for name in ("year", "month", "day", "hour", "minute", "second")
        ]
        return DateTime(_moment([*numbers, parts.get("millisecond", self.at.microsecond // 1000)], self.tz))

    def start(self, name: Value) -> DateTime:
        """Return the first moment of the unit that the date is in."""
        if self.at is None:
            return self
        unit = unit_of(name)
        if unit == "week":
            return self.plus({"days": 1 - self.at.isoweekday()}).start("day")
        at = self.at
        month = (at.month - 1) // 3 * 3 + 1 if unit == "quarter" else 1 if unit == "year" else at.month
        kept = {"year": 1, "quarter": 2, "month": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}.get(unit, 7)
        numbers = [at.year, month, at.day, at.hour, at.minute, at.second, at.microsecond // 1000][:kept]
        return DateTime(_moment([*numbers, *[1, 1, 1, 0, 0, 0, 0][kept:]], self.tz))

    def end(self, name: Value) -> DateTime:
        """Return the last millisecond of the unit that the date is in."""
        return self.plus({unit_of(name): 1}).start(name).plus({"milliseconds": -1})

    def diff(self, other: Value, units: Value = UNDEFINED) -> Duration:
        """Return how much later than ``other`` this is, by units: the smallest one takes the rest."""
        wanted = [
            unit_of(one)
            for one in (units if isinstance(units, list) else ["milliseconds"] if units is UNDEFINED else [units])
        ]
        if not isinstance(other, DateTime) or self.at is None or other.at is None:
            return Duration({})
        sign = -1 if self.millis() < other.millis() else 1
        cursor, goal = (other, self) if sign > 0 else (self, other)
        ordered, parts = [unit for unit in _UNITS if unit in wanted], dict[str, float]()
        for unit in ordered:
            count = max(int((goal.millis() - cursor.millis()) // (_MILLIS[unit] * 1.04)) - 1, 0)
            while cursor.plus({unit: count + 1}).millis() <= goal.millis():
                count += 1
            reached = cursor.plus({unit: count})
            parts[unit] = count
            if unit == ordered[-1]:
                length = cursor.plus({unit: count + 1}).millis() - reached.millis()
                parts[unit] += (goal.millis() - reached.millis()) / length
            cursor = reached
        return Duration({unit: sign * count for unit, count in parts.items()})

    def format(self, form: Value) -> str:
        """Return the date in a form of luxon's tokens."""
        if self.at is None:
            return "Invalid DateTime"
        return "".join(self._token(found.group()) for found in _TOKEN.finditer(to_text(form)))

    def _token(self, token: str) -> str:
        if not token[0].isalpha():
            return token[1:-1] if len(token) > 1 else token
        written = _written(self, token)
        if written is None:
            raise NotModelled(f"the date token {token!r}")
        return written

    def property(self, key: str) -> Value:
        """Return a part of the date, or one of its methods."""
        if key in _PROPERTIES:
            return math.nan if self.at is None and key not in {"isValid"} else _PROPERTIES[key](self)
        method = _METHODS.get(key)
        return UNDEFINED if method is None else partial(method, self)


@cache
def _reader(form: str) -> re.Pattern[str]:
    pattern, seen = "", set[str]()
    for found in _TOKEN.finditer(form):
        token = found.group()
        if not token[0].isalpha():
            pattern += re.escape(token[1:-1] if len(token) > 1 else token)
        elif token in _DIGITS and token not in seen:
            pattern += _DIGITS[token]
            seen.add(token)
        else:
            raise NotModelled(f"reading the date token {token!r}")
    return re.compile(pattern, re.IGNORECASE)


def _moment(numbers: list[int], tz: datetime.tzinfo) -> datetime.datetime | None:
    year, month, day, hour, minute, second, millis = [*numbers, *[0] * 7][:7]
    try:
        made = datetime.datetime(year, month, day, hour, minute, second, millis * 1000, tzinfo=tz)
        # A time that the change to summer leaves out is an hour later, as in luxon.
        return made.astimezone(datetime.UTC).astimezone(tz)
    except (ValueError, OverflowError):
        return None


def _keeps(options: Value) -> bool:
    return isinstance(options, dict) and options.get("setZone") is True


def _offset(date: DateTime, form: str) -> str:
    minutes = _minutes(date)
    sign, hours, rest = "-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60
    if form == "Z":
        return f"{sign}{hours}{f':{rest:02}' if rest else ''}"
    return f"{sign}{hours:02}{'' if form == 'ZZZ' else ':'}{rest:02}"


def _minutes(date: DateTime) -> int:
    offset = date.at.utcoffset() if date.at else None
    return int(offset.total_seconds() // 60) if offset else 0


def _zone_name(date: DateTime) -> str:
    return getattr(date.tz, "key", "UTC" if date.tz is datetime.UTC else f"UTC{_offset(date, 'Z')}")


def _written(date: DateTime, token: str) -> str | None:
    at = date.at
    if at is None:
        return ""
    hour = at.hour % 12 or 12
    week = at.isocalendar()
    table: dict[str, Any] = {
        "yyyy": f"{at.year:04}", "yy": f"{at.year % 100:02}", "y": at.year, "MMMM": _MONTHS[at.month - 1],
        "MMM": _MONTHS[at.month - 1][:3], "MM": f"{at.month:02}", "M": at.month, "dd": f"{at.day:02}", "d": at.day,
        "EEEE": _DAYS[at.weekday()], "EEE": _DAYS[at.weekday()][:3], "E": at.isoweekday(), "HH": f"{at.hour:02}",
        "H": at.hour, "hh": f"{hour:02}", "h": hour, "mm": f"{at.minute:02}", "m": at.minute, "ss": f"{at.second:02}",
        "s": at.second, "SSS": f"{at.microsecond // 1000:03}", "S": at.microsecond // 1000,
        "a": "PM" if at.hour > 11 else "AM", "W": week.week, "WW": f"{week.week:02}", "kkkk": week.year,
        "o": at.timetuple().tm_yday, "ooo": f"{at.timetuple().tm_yday:03}", "q": (at.month + 2) // 3,
        "X": int(date.millis() // 1000), "x": date.millis(), "z": _zone_name(date), "ZZZZ": at.tzname() or "",
        "D": f"{at.month}/{at.day}/{at.year}", "DD": f"{_MONTHS[at.month - 1][:3]} {at.day}, {at.year}",
        "DDD": f"{_MONTHS[at.month - 1]} {at.day}, {at.year}", "T": f"{at.hour:02}:{at.minute:02}",
        "TT": f"{at.hour:02}:{at.minute:02}:{at.second:02}",
        "t": f"{hour}:{at.minute:02}\u202f{'PM' if at.hour > 11 else 'AM'}",
    }  # fmt: skip
    alias = {"LLLL": "MMMM", "LLL": "MMM", "LL": "MM", "L": "M", "cccc": "EEEE", "ccc": "EEE", "c": "E", "u": "SSS"}
    if token in {"Z", "ZZ", "ZZZ"}:
        return _offset(date, token)
    found = table.get(alias.get(token, token))
    return None if found is None else str(found)


#: The moment at which the dry run is.
NOW: Final[ContextVar[DateTime]] = ContextVar("NOW")


def _part(name: str) -> Callable[[DateTime], Value]:
    return lambda date: getattr(date.at, name)


_PROPERTIES: Final[Mapping[str, Callable[[DateTime], Value]]] = {
    **{name: _part(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "millisecond": lambda date: date.at.microsecond // 1000 if date.at else math.nan,
    "weekday": lambda date: date.at.isoweekday() if date.at else math.nan,
    "weekNumber": lambda date: date.at.isocalendar().week if date.at else math.nan,
    "weekYear": lambda date: date.at.isocalendar().year if date.at else math.nan,
    "ordinal": lambda date: date.at.timetuple().tm_yday if date.at else math.nan,
    "quarter": lambda date: (date.at.month + 2) // 3 if date.at else math.nan,
    "daysInMonth": lambda date: calendar.monthrange(date.at.year, date.at.month)[1] if date.at else math.nan,
    "isValid": lambda date: date.at is not None,
    "isInDST": lambda date: bool(date.at and date.at.dst()),
    "offset": _minutes,
    "ts": DateTime.millis,
    "zoneName": _zone_name,
    "monthLong": lambda date: _MONTHS[date.at.month - 1] if date.at else "",
    "monthShort": lambda date: _MONTHS[date.at.month - 1][:3] if date.at else "",
    "weekdayLong": lambda date: _DAYS[date.at.weekday()] if date.at else "",
    "weekdayShort": lambda date: _DAYS[date.at.weekday()][:3] if date.at else "",
}


def _moved(sign: int) -> Callable[..., DateTime]:
    def move(date: DateTime, given: Value = 0, unit: Value = UNDEFINED) -> DateTime:
        return date.plus(given if unit is UNDEFINED else {to_text(unit): given}, sign)

    return move


def _difference(date: DateTime, other: Value, unit: Value = "days") -> Value:
    units = unit if isinstance(unit, list) and unit else [unit if isinstance(unit, str) else "days"]
    found = date.diff(other if isinstance(other, DateTime) else DateTime.read(to_text(other), date.tz), units)
    return found.property("toObject")() if len(units) > 1 else found.in_unit(units[0])


def _get(date: DateTime, unit: Value = "week") -> Value:
    name = {"week": "weekNumber", "yearDayNumber": "ordinal", "day of year": "ordinal"}.get(
        to_text(unit), to_text(unit)
    )
    name = name if name in _PROPERTIES else unit_of(name)
    return _PROPERTIES["weekNumber" if name == "week" else name](date)


def _iso(date: DateTime, options: Value = UNDEFINED) -> str:
    given = options if isinstance(options, dict) else {}
    milliseconds = not (given.get("suppressMilliseconds") is True and date.at and not date.at.microsecond)
    text = date.iso(milliseconds=milliseconds)
    return re.sub(r"(?:Z|[+-]\d\d:\d\d)$", "", text) if given.get("includeOffset") is False else text


def _same(date: DateTime, other: DateTime, unit: Value) -> bool:
    return date.start(unit).millis() == other.in_zone(date.tz).start(unit).millis()


def _between(date: DateTime, first: Value, second: Value) -> bool:
    ends = sorted(
        one.millis() if isinstance(one, DateTime) else DateTime.read(to_text(one), date.tz).millis()
        for one in (first, second)
    )
    return bool(ends[0] < date.millis() < ends[1])


_METHODS: Final[Mapping[str, Callable[..., Value]]] = {
    "beginningOf": lambda date, unit="week": date.start(unit),
    "diff": lambda date, other, units=UNDEFINED: date.diff(other, units),
    "diffTo": _difference,
    "endOf": lambda date, unit: date.end(unit),
    "endOfMonth": lambda date: date.end("month"),
    "equals": lambda date, other: isinstance(other, DateTime) and date.iso() == other.iso(),
    "extract": _get,
    "format": lambda date, form: date.format(form),
    "get": _get,
    "hasSame": _same,
    "isBetween": _between,
    "isDst": lambda date: bool(date.at and date.at.dst()),
    "isEmpty": lambda _: False,
    "isNotEmpty": lambda _: True,
    "isWeekend": lambda date: bool(date.at and date.at.isoweekday() > 5),
    "minus": _moved(-1),
    "plus": _moved(1),
    "set": lambda date, given: date.set(given),
    "setZone": lambda date, name="default": date.in_zone(name),
    "startOf": lambda date, unit: date.start(unit),
    "toDateTime": lambda date: date,
    "toFormat": lambda date, form: date.format(form),
    "toFloat": lambda date: date.millis(),
    "toISO": _iso,
    "toISODate": lambda date: date.iso()[:10],
    "toISOTime": lambda date: date.iso()[11:],
    "toInt": lambda date: date.millis(),
    "toJSDate": lambda date: JsDate(date),  # noqa: PLW0108 - it is defined below
    "toJSON": lambda date: date.iso(),
    "toMillis": lambda date: date.millis(),
    "toObject": lambda date: {n: _PROPERTIES[n](date) for n in (*_UNITS[:1], "month", "day", *_UNITS[5:])},
    "toSQL": lambda date: date.format("yyyy-MM-dd HH:mm:ss.SSS ZZ"),
    "toSQLDate": lambda date: date.iso()[:10],
    "toSeconds": lambda date: values.whole(date.millis() / 1000),
    "toString": lambda date: date.iso(),
    "toUTC": lambda date: date.in_zone("utc"),
    "toUnixInteger": lambda date: int(date.millis() // 1000),
    "toLocal": lambda date: date,
    "valueOf": lambda date: date.millis(),
    "diffToNow": lambda date, unit="days": _difference(date, NOW.get(), unit),
    "isInLast": lambda date, count=0, unit="minutes": bool(
        NOW.get().plus({to_text(unit): count}, -1).millis() <= date.millis() <= NOW.get().millis()
    ),
}
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
            base = DateTime(_moment([numbers[0], 1, 1], now.tz)).plus(
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
        return f"{at:%a %b %d %Y %H:%M:%S} GMT{_offset(self.date, 'ZZZ')} ({_long_zone(self.date)})"

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
                 "getTimezoneOffset": lambda: -_minutes(self.date)}  # fmt: skip
        if key in whole:
            return whole[key]
        verb, utc, name = key[:3], key[3:6] == "UTC", key[6:] if key[3:6] == "UTC" else key[3:]
        date = self.date.in_zone("utc") if utc else self.date
        if verb == "get" and name in _JS_PARTS:
            return lambda: _PROPERTIES[_JS_PARTS[name]](date) - (name == "Month")
        if verb == "get" and name == "Day":
            return lambda: _PROPERTIES["weekday"](date) % 7
        if verb == "set" and (name in _JS_PARTS or name == "Time"):
            return lambda *given: self._set(date, name, [to_number(one) for one in given])
        if key in _METHODS and key not in {"set", "get", "diff", "equals"}:
            return lambda *given: _as_date(_METHODS[key](self.date, *given))
        if key.startswith("to") and key.endswith("String"):
            raise NotModelled(f"Date's .{key}()")
        return UNDEFINED

    def _set(self, date: DateTime, name: str, given: list[int | float]) -> int | float:
        if name == "Time":
            self.date = DateTime.of_millis(given[0], self.date.tz)
            return self.millis()
        order = list(_JS_PARTS)
        for part, number in zip(order[order.index(name) :], given, strict=False):
            now = _PROPERTIES[_JS_PARTS[part]](date) - (part == "Month")
            date = date.plus({_JS_PARTS[part]: number - now})
        self.date = date.in_zone(self.date.tz)
        return self.millis()


def _as_date(value: Value) -> Value:
    return JsDate(value) if isinstance(value, DateTime) else value


def _long_zone(date: DateTime) -> str:
    return "Coordinated Universal Time" if date.tz is datetime.UTC else _zone_name(date)
