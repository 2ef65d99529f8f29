"""What changed in a node type from one version to another: parameters, choices, ports, credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.n8n.model import listed
from rails.n8n.nodes.catalogue import Catalogue, Description, write_ports
from rails.n8n.nodes.display import compiled
from rails.n8n.nodes.parameters import Level, Property, levels

_MOST_LINES: Final = 60


def changes(node_type: str, before: float, after: float, found: Catalogue) -> list[str]:
    """Return a line for each difference between two versions of a type, as both are in the catalogue."""
    old, new = found.describe(node_type, before), found.describe(node_type, after)
    if old is None or new is None:
        missing = before if old is None else after
        return [f"There is no version {missing:g}; versions: {listed(f'{v:g}' for v in found.versions[node_type])}."]
    lines = [*_ports(old, new)]
    if old.is_full:
        lines += _parameters(_visible(levels(old), before), _visible(levels(new), after))
    else:
        lines.append("Parameters are not known: there is no full catalogue of nodes here.")
    return lines[:_MOST_LINES] or ["No difference in parameters, ports and credentials."]


def _ports(old: Description, new: Description) -> Iterator[str]:
    for side in ("inputs", "outputs"):
        was, now = (write_ports(getattr(one, side)) for one in (old, new))
        if was != now:
            yield f"  {side}: {was or 'none'} -> {now or 'none'} (?: depends on the parameters)"
    was, now = (listed(item.name for item in one.credentials) or "none" for one in (old, new))
    if was != now:
        yield f"  credentials: {was} -> {now}"


def _visible(level: Level, version: float, prefix: str = "") -> dict[str, list[Property]]:
    """Return the parameters of a version by their places, those of collections and groups included."""
    found: dict[str, list[Property]] = {}
    for item in level.properties:
        if item.type in {"notice", "callout", "hidden"} or not _has(item, version):
            continue
        place = f"{prefix}{item.name}"
        found.setdefault(place, []).append(item)
        below = {"": item.children} if item.children else {f"{name}.": one for name, one in item.groups.items()}
        for name, one in below.items():
            for inner, items in _visible(one, version, f"{place}.{name}").items():
                found.setdefault(inner, []).extend(items)
    return found


def _has(item: Property, version: float) -> bool:
    """Whether a parameter can show at a version, whatever the other parameters are."""
    rule: Mapping[str, Any] = item.raw.get("display") or {}
    sides = {side: rule.get(side) or {} for side in ("show", "hide")}
    asked = {side: {"@version": one["@version"]} if "@version" in one else {} for side, one in sides.items()}
    display = compiled(asked)
    return display is None or display.visible({}, {}, version, False)


def _parameters(old: Mapping[str, list[Property]], new: Mapping[str, list[Property]]) -> Iterator[str]:
    for place in old:
        if place not in new:
            yield f"  - {place} ({old[place][0].type})"
    for place, items in new.items():
        if place not in old:
            yield f"  + {place} ({items[0].type}{', required' if items[0].required else ''})"
            continue
        yield from _differs(place, old[place], items)


def _differs(place: str, old: list[Property], new: list[Property]) -> Iterator[str]:
    types = [sorted({item.type for item in items}) for items in (old, new)]
    if types[0] != types[1]:
        yield f"  {place}: {' or '.join(types[0])} -> {' or '.join(types[1])}"
    choices = [dict.fromkeys(value for item in items for value in item.raw.get("values") or ()) for items in (old, new)]
    gone, come = ([str(v) for v in choices[a] if v not in choices[1 - a]] for a in (0, 1))
    if gone or come:
        parts = [f"no longer {listed(gone)}"] * bool(gone) + [f"also {listed(come)}"] * bool(come)
        yield f"  {place}: {'; '.join(parts)}"
    defaults = [items[0].raw.get("default") for items in (old, new)]
    if len(old) == len(new) == 1 and defaults[0] != defaults[1]:
        yield f"  {place}: default {defaults[0]!r} -> {defaults[1]!r}"
