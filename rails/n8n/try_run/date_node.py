"""The model of Date & Time: a date formatted, rounded, moved, measured or taken apart, by luxon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rails.n8n.try_run.context import NodeContext
from rails.n8n.try_run.faults import NotModelled
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.values import NOTHING, UNDEFINED, Value, to_text


def date_time(context: NodeContext) -> Outputs:
    """Return the items with a date formatted, rounded, moved or taken apart."""
    if context.version < 2:
        raise NotModelled(f"Date & Time version {context.version:g}")
    return context.each(lambda index, item: _dated(context, index, item))


def _dated(context: NodeContext, index: int, item: Item) -> Item:
    def get(name: str, default: Value = UNDEFINED) -> Value:
        return context.parameter(name, index, default)

    operation = to_text(context.parameter("operation", 0, "getCurrentDate"))
    if operation not in _DATES:
        raise NotModelled(f"Date & Time operation {operation}")
    default_name, asked = _DATES[operation]
    made = dict(item.json) if context.option("includeInputFields", False) is True else {}
    name, *given = asked(context, get)
    empty = operation == "formatDate" and given[0] in NOTHING
    made[to_text(get("outputFieldName", default_name))] = given[0] if empty else context.call(name, *given)
    return Item(made, (item,))


_Get = Callable[..., Value]
_Asked = Callable[[NodeContext, _Get], tuple[Value, ...]]


def _now(context: NodeContext, get: _Get) -> tuple[Value, ...]:
    return "now", get("includeTime", True) is not False, get("options.timezone", context.zone) or context.zone


def _shifted(sign: int) -> _Asked:
    return lambda _, get: ("shift", get("magnitude"), get("duration", 0), to_text(get("timeUnit", "days")), sign)


def _written(_: NodeContext, get: _Get) -> tuple[Value, ...]:
    form = get("format", "MM/dd/yyyy")
    out = get("customFormat", "") if form == "custom" else form
    return "write", get("date"), get("options.fromFormat"), bool(get("options.timezone")), out


def _rounded(_: NodeContext, get: _Get) -> tuple[Value, ...]:
    down = get("mode", "roundDown") == "roundDown"
    return ("roundDown" if down else "roundUp"), get("date"), get("toNearest" if down else "to", "month")


def _between(_: NodeContext, get: _Get) -> tuple[Value, ...]:
    iso = get("options.isoString", False) is True
    return "between", get("startDate"), get("endDate"), get("units", ["day"]), iso


_DATES: Final[Mapping[str, tuple[str, _Asked]]] = {
    "addToDate": ("newDate", _shifted(1)),
    "extractDate": ("datePart", lambda _, get: ("extract", get("date"), to_text(get("part", "month")))),
    "formatDate": ("formattedDate", _written),
    "getCurrentDate": ("currentDate", _now),
    "getTimeBetweenDates": ("timeDifference", _between),
    "roundDate": ("roundedDate", _rounded),
    "subtractFromDate": ("newDate", _shifted(-1)),
}
