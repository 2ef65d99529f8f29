"""One walk over what a file gives for a node's parameters, beside what n8n keeps of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rails.n8n.model import JsonPath
from rails.n8n.nodes.parameters import Context, Level, Property


class Spot(NamedTuple):
    """One level of a node's parameters: what the file gives there and what n8n keeps of it."""

    level: Level
    given: Any
    kept: Any
    path: JsonPath = ()


def each_given(top: Spot, context: Context) -> Iterator[tuple[Spot, str, Property | None]]:
    """Yield the name of each value that is given, at every level: with the property that shows, or None."""
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
            entries, held = value.get(group), kept.get(group)
            if isinstance(entries, list) and isinstance(held, list):
                for index, (row, one) in enumerate(zip(entries, held, strict=False)):
                    yield from _each(Spot(level, row, one, (*here, group, index)), root, context)
            else:
                yield from _each(Spot(level, entries, held, (*here, group)), root, context)
