"""The model of Date & Time: a date formatted, rounded, moved, measured or taken apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.context import NodeContext
from rails.n8n.try_run.dates import DateTime
from rails.n8n.try_run.durations import zone
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.try_run.js_date import JsDate
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Value, to_text


def date_time(context: NodeContext) -> Outputs:
    """Return the items with a date formatted, rounded, moved or taken apart."""
    if context.version < 2:
        raise NotModelled(f"Date & Time version {context.version:g}")
    return context.each(lambda index, item: _dated(context, index, item))


def _dated(context: NodeContext, index: int, item: Item) -> Item:
    def get(name: str, default: Value = UNDEFINED) -> Value:
        return context.parameter(name, index, default)

    operation = to_text(context.parameter("operation", 0, "getCurrentDate"))
    work = _DATES.get(operation)
    if work is None:
        raise NotModelled(f"Date & Time operation {operation}")
    default_name, compute = work
    made = dict(item.json) if context.option("includeInputFields", False) is True else {}
    made[to_text(get("outputFieldName", default_name))] = values.json_value(compute(context, get))
    return Item(made, (item,))


def _read_date(context: NodeContext, value: Value, form: Value = UNDEFINED, named: str = "") -> DateTime:
    """Return a date as the node reads it: without a zone it is UTC, seconds and milliseconds by their length."""
    tz, number = zone(context.zone), values.to_number(value)
    if form not in (UNDEFINED, "", None):
        found = DateTime.parse(to_text(value), to_text(form), tz)
    elif number == number:  # noqa: PLR0124 - NaN is not itself
        number = number if isinstance(number, int) else number * 1000
        found = DateTime.of_millis(number * (1000 if len(to_text(number)) < 12 else 1), tz)
    else:
        found = JsDate.read(DateTime.of_millis(0, zone("UTC")), to_text(value)).date
    if found.at is None:
        raise NodeFault("Invalid date format")
    offset = re.search(r"\+(\d\d)", to_text(value))
    return found.in_zone(named or (f"+{offset[1]}" if offset and isinstance(value, str) else "UTC"))


_Get = Callable[..., Value]


def _now(context: NodeContext, get: _Get) -> Value:
    now = context.names(0)["$now"].in_zone(get("options.timezone", context.zone) or context.zone)
    return str(now if get("includeTime", True) is not False else now.start("day"))


def _shifted(sign: int) -> Callable[[NodeContext, _Get], Value]:
    return lambda context, get: str(
        _read_date(context, get("magnitude"), named=context.zone).plus(
            {to_text(get("timeUnit", "days")): get("duration", 0)}, sign
        )
    )


def _written(context: NodeContext, get: _Get) -> Value:
    date = get("date")
    if date in values.NOTHING:
        return date
    form = get("format", "MM/dd/yyyy")
    found = _read_date(context, date, get("options.fromFormat"), context.zone if get("options.timezone") else "")
    return found.format(get("customFormat", "") if form == "custom" else form)


def _rounded(context: NodeContext, get: _Get) -> Value:
    date = _read_date(context, get("date"), named=context.zone)
    if get("mode", "roundDown") == "roundDown":
        return str(date.start(get("toNearest", "month")))
    unit = get("to", "month")
    return str(date.plus({to_text(unit): 1}).start(unit))


def _between(context: NodeContext, get: _Get) -> Value:
    units, zone_ = get("units", ["day"]), context.zone
    found = _read_date(context, get("endDate"), named=zone_).diff(
        _read_date(context, get("startDate"), named=zone_), units
    )
    return str(found) if get("options.isoString", False) is True else found.property("toObject")()


def _extracted(context: NodeContext, get: _Get) -> Value:
    part = to_text(get("part", "month"))
    return _read_date(context, get("date"), named=context.zone).property("weekNumber" if part == "week" else part)


_DATES: Final[Mapping[str, tuple[str, Callable[[NodeContext, _Get], Value]]]] = {
    "addToDate": ("newDate", _shifted(1)),
    "extractDate": ("datePart", _extracted),
    "formatDate": ("formattedDate", _written),
    "getCurrentDate": ("currentDate", _now),
    "getTimeBetweenDates": ("timeDifference", _between),
    "roundDate": ("roundedDate", _rounded),
    "subtractFromDate": ("newDate", _shifted(-1)),
}
