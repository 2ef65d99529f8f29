"""Schedules that n8n refuses on activation, or that never come.

Anchors: n8n-nodes-base 2.41, ``Schedule/GenericFunctions``; n8n-workflow, ``cron``; package ``cron``, version 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, JsonPath, Node, is_expression, parameter_issue, shown_value
from rails.n8n.values import to_text

#: Where the rows of a schedule are: parameter, group, what says their kind, the kind if nothing does, the expression.
_PLACES: Final = (
    ("rule", "interval", "field", "days", "expression"),
    ("triggerTimes", "item", "mode", "everyDay", "cronExpression"),
    ("pollTimes", "item", "mode", "everyDay", "cronExpression"),
)
#: By the kind of a row: its numbers, each with its least and largest value.
_NUMBERS: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = FACTS["schedule_numbers"]
#: Fields of a cron expression: name, lowest and highest value. Names of months and days may stand in each.
_FIELDS: Final[list[tuple[str, int, int]]] = FACTS["cron_fields"]
_NAMED: Final[Mapping[str, int]] = FACTS["cron_names"]
_PRESETS: Final = frozenset(FACTS["cron_presets"])
_PIECE: Final = re.compile(r"(?:(?P<any>\*)|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)
_CRON_REMEDY: Final = 'Write minute, hour, day, month and day of the week: "0 9 * * 1" is Monday at nine.'


def check(node: Node) -> Iterator[Issue]:
    """Yield the issues of the schedules of an enabled trigger."""
    for outer, group, chooser, usual, text in _PLACES:
        rows: Any = node.parameters.get(outer)
        if rows is None or (outer == "rule" and not node.type.endswith(".scheduleTrigger")):
            continue
        entries = rows.get(group, []) if isinstance(rows, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            yield _issue(node, (outer,), "has another form", f'Write "{outer}": {{"{group}": [{{"{chooser}": …}}]}}.')
            continue
        for index, row in enumerate(entries):
            path = (outer, group, index)
            kind = row.get(chooser, usual)
            if kind in ("cronExpression", "custom"):
                yield from _expression(node, (*path, text), row.get(text, ""))
            for name, bounds in _NUMBERS.get(str(kind), {}).items():
                yield from _number(node, (*path, name), row.get(name), bounds)


def _issue(node: Node, path: JsonPath, said: str, remedy: str) -> Issue:
    return parameter_issue(node, "N8N084", path, said=said, remedy=remedy)


def _expression(node: Node, path: JsonPath, value: Json) -> Iterator[Issue]:
    fault = "" if is_expression(value) else cron_fault(str(value))
    if fault:
        yield _issue(node, path, f"{shown_value(value)} cannot be, {fault}", _CRON_REMEDY)


def _number(node: Node, path: JsonPath, value: Json, bounds: tuple[int, int]) -> Iterator[Issue]:
    """Yield a bad interval. Before 1.3 n8n refuses only seconds' (in the expression)."""
    name, (low, high) = str(path[-1]), bounds
    if name.endswith("Interval") and (node.version or 1.3) < 1.3:
        if name != "secondsInterval":
            return
        high = 10_000
    for one in value if isinstance(value, list) else [value]:
        is_open = one is None or is_expression(one)
        if not is_open and not _can_be(to_text(one).lower(), low, high):
            yield _issue(node, path, f"cannot have the {name} {shown_value(one)}", f"Write {low} to {high}.")


def cron_fault(text: str) -> str:
    """Return why a schedule cannot be, or ""."""
    fields = text.lower().split()
    if text.strip().lower() in _PRESETS:
        return ""
    if len(fields) not in (5, 6):
        return f"it has {len(fields)} fields, not 5 or 6"
    for field, (name, lowest, highest) in zip(fields, _FIELDS[6 - len(fields) :], strict=True):
        if not all(_can_be(piece, lowest, highest) for piece in field.split(",")):
            return f"the {name} cannot be {shown_value(field)}"
    return ""


def _can_be(piece: str, lowest: int, highest: int) -> bool:
    found = _PIECE.fullmatch(piece)
    if found is None or found["step"] == "0":
        return False
    if found["any"]:
        return True
    ends = [_NAMED.get(end, int(end) if end.isdigit() else -1) for end in (found["low"], found["high"]) if end]
    return all(lowest <= end <= highest for end in ends) and ends == sorted(ends)
