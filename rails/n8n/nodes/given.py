"""A file's parameters beside those that n8n keeps, and their filters.

Comparisons of n8n-workflow's ``filter-parameter``; others are never true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from rails.core.tool_request import Json
from rails.n8n.facts import FACTS
from rails.n8n.model import JsonPath
from rails.n8n.nodes.parameters import Context, Level, Property

#: Type of comparison → its operations.
FILTER_OPERATIONS: Final[Mapping[str, list[str]]] = FACTS["filter_operations"]
#: What compares with nothing: `singleValue` is true in the operator.
ONE_SIDED: Final = frozenset(FACTS["one_sided_operations"])


class Spot(NamedTuple):
    """A level of parameters: given, and kept."""

    level: Level
    given: Any
    kept: Any
    path: JsonPath = ()


def each_given(top: Spot, context: Context) -> Iterator[tuple[Spot, str, Property | None]]:
    """Yield given names, at every level, with the shown property or None."""
    yield from _each(top, top.kept, context)


def _each(spot: Spot, root: Any, context: Context) -> Iterator[tuple[Spot, str, Property | None]]:  # noqa: ANN401
    if not isinstance(spot.given, dict) or not isinstance(spot.kept, dict):
        return
    for name, value in spot.given.items():
        found = spot.level.by_name.get(name, [])
        shown = (one for one in found if one.shows(spot.kept, root, context))
        item = next(shown, found[0] if found else None) if name in spot.kept else None
        yield spot, name, item
        if item is None:
            continue
        here, kept = (*spot.path, name), spot.kept[name]
        if item.children is not None and item.multiple is not True:
            yield from _each(Spot(item.children, value, kept, here), root, context)
        for group, level in item.groups.items() if isinstance(value, dict) and isinstance(kept, dict) else ():
            entries = value.get(group)
            held = kept.get(group)
            if isinstance(entries, list) and isinstance(held, list):
                for index, (row, one) in enumerate(zip(entries, held, strict=False)):
                    yield from _each(Spot(level, row, one, (*here, group, index)), root, context)
            else:
                yield from _each(Spot(level, entries, held, (*here, group)), root, context)


def filters_in(value: Json, path: JsonPath = ()) -> Iterator[tuple[JsonPath, dict[str, Json]]]:
    """Yield every filter (what has comparing conditions, or one), with its place."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from filters_in(one, (*path, index))
    elif isinstance(value, dict):
        rows = value.get("conditions")
        listed = rows if isinstance(rows, list) else [rows]
        if any(isinstance(row, dict) and {"leftValue", "operator"} & row.keys() for row in listed):
            yield path, value
        for name, one in value.items():
            yield from filters_in(one, (*path, name))
