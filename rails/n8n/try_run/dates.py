"""Luxon's ``DateTime`` and ``Duration`` and JavaScript's ``Date``, as far as they are modelled: in English."""

from __future__ import annotations

import calendar
import datetime
import math
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.date_forms import (
    DAYS,
    ISO,
    MONTHS,
    TOKEN,
    TOKEN_LETTERS,
    form_reader,
    moment_of,
    offset_minutes,
    written_token,
    zone_name,
)
from rails.n8n.try_run.durations import MILLIS, UNITS, Duration, unit_of, zone
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, to_number, to_text

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


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
            return cls(moment_of([*numbers, *[1, 1, 1][len(numbers) :]], now().tz)) if numbers else now()

        def zone_in(options: Value) -> datetime.tzinfo:
            named = options.get("zone") if isinstance(options, dict) else None
            return zone(to_text(named)) if named else now().tz

        return {
            "now": now,
            "local": local,
            "utc": lambda *given: local(*given).in_zone("utc") if not given else cls(
                moment_of([*map(int, given), *[1, 1, 1][len(given) :]], datetime.UTC)),
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
        found = ISO.fullmatch(text.strip())
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
            named = [n for n, name in enumerate(MONTHS, 1) if name.lower().startswith((part["N"] or "").lower())]
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
        moment = moment_of(numbers, own)
        return cls(moment if keep or moment is None else moment.astimezone(tz))

    @classmethod
    def parse(cls, text: str, form: str, tz: datetime.tzinfo) -> DateTime:
        """Return the date that a text in a form of tokens says."""
        pattern = form_reader(form)
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
        return cls(moment_of(numbers, tz))

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
            rest = (days - int(days)) * MILLIS["day"]
            rest += sign * sum(MILLIS[unit] * parts.get(unit, 0) for unit in UNITS[5:])
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
        return DateTime(moment_of([*numbers, parts.get("millisecond", self.at.microsecond // 1000)], self.tz))

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
        return DateTime(moment_of([*numbers, *[1, 1, 1, 0, 0, 0, 0][kept:]], self.tz))

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
        ordered, parts = [unit for unit in UNITS if unit in wanted], dict[str, float]()
        for unit in ordered:
            # Days and more differ in length: begin below and count on; what is shorter is divided exactly.
            varies = unit in UNITS[:5]
            count = max(int((goal.millis() - cursor.millis()) // (MILLIS[unit] * (1.04 if varies else 1))) - varies, 0)
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
        return "".join(self._token(found.group()) for found in TOKEN.finditer(to_text(form)))

    def _token(self, token: str) -> str:
        if not token[0].isalpha():
            return token[1:-1] if len(token) > 1 else token
        written = token if token[0] not in TOKEN_LETTERS else written_token(self, token)
        if written is None:
            raise NotModelled(f"the date token {token!r}")
        return written

    def property(self, key: str) -> Value:
        """Return a part of the date, or one of its methods."""
        if key in PROPERTIES:
            return math.nan if self.at is None and key not in {"isValid"} else PROPERTIES[key](self)
        method = METHODS.get(key)
        return UNDEFINED if method is None else partial(method, self)


def _keeps(options: Value) -> bool:
    return isinstance(options, dict) and options.get("setZone") is True


#: The moment at which the dry run is.
NOW: Final[ContextVar[DateTime]] = ContextVar("NOW")


def _part(name: str) -> Callable[[DateTime], Value]:
    return lambda date: getattr(date.at, name)


PROPERTIES: Final[Mapping[str, Callable[[DateTime], Value]]] = {
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
    "offset": offset_minutes,
    "ts": DateTime.millis,
    "zoneName": zone_name,
    "monthLong": lambda date: MONTHS[date.at.month - 1] if date.at else "",
    "monthShort": lambda date: MONTHS[date.at.month - 1][:3] if date.at else "",
    "weekdayLong": lambda date: DAYS[date.at.weekday()] if date.at else "",
    "weekdayShort": lambda date: DAYS[date.at.weekday()][:3] if date.at else "",
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
    name = name if name in PROPERTIES else unit_of(name)
    return PROPERTIES["weekNumber" if name == "week" else name](date)


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


def _js_date(date: DateTime) -> Value:
    from rails.n8n.try_run.js_date import JsDate

    return JsDate(date)


METHODS: Final[Mapping[str, Callable[..., Value]]] = {
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
    "toJSDate": _js_date,
    "toJSON": lambda date: date.iso(),
    "toMillis": lambda date: date.millis(),
    "toObject": lambda date: {n: PROPERTIES[n](date) for n in (*UNITS[:1], "month", "day", *UNITS[5:])},
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
