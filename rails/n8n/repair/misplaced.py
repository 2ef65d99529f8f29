"""Values moved to where n8n reads them, by the user's own catalogue, if one place is possible.

Another spelling, a wrong level, rows without group, groups without list, half a locator.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rails.core.tool_request import Json
from rails.n8n.model import JsonPath, Node, format_path, plain_name, put_at
from rails.n8n.nodes.catalogue import Catalogue
from rails.n8n.nodes.given import Spot, each_given
from rails.n8n.nodes.parameters import Context, Level, Malformed, context_of, filled, levels
from rails.n8n.repair import forms
from rails.n8n.repair.forms import ParameterChange
from rails.n8n.rules.parameters import is_of_the_editor

_DEPTH: Final = 5


class ParameterRepair(NamedTuple):
    """The parameters after one repair, and its words."""

    parameters: dict[str, Json]
    what: str


def repairs(node: Node, known: Catalogue) -> Iterator[ParameterRepair]:
    """Yield each repair that is possible now."""
    description = known.describe(node.type, node.version)
    if description is None or not description.is_full:
        return
    level = levels(description)
    for change in _changes(level, node, context_of(description, node.version)):
        made: Any = copy.deepcopy(dict(node.parameters))
        for path in change.gone:
            del _at(made, path[:-1])[path[-1]]
        for path, value in change.put:
            put_at(made, path, value)
        yield ParameterRepair(made, change.what)


def _changes(level: Level, node: Node, context: Context) -> Iterator[ParameterChange]:
    try:
        kept = filled(level, node.parameters, context)
    except Malformed as fault:
        value = _at(node.parameters, fault.path)
        possible = (forms.as_rows(value, one) for one in _levels_at(level, fault.path))
        rows = next((rows for rows in possible if rows is not None), None)
        if rows is not None:
            yield forms.changed(fault.path, "as a list", rows)
        return
    except RecursionError:
        return
    yield from _Finder(Spot(level, node.parameters, kept), context).changes()


def _at(value: Any, path: JsonPath) -> Any:  # noqa: ANN401 - any JSON value
    for part in path:
        value = value[part]
    return value


def _levels_at(level: Level, path: JsonPath) -> list[Level]:
    found = [level]
    names = [part for part in path if isinstance(part, str)]
    while names:
        name = names.pop(0)
        items = [item for one in found for item in one.by_name.get(name, ())]
        if names and any(names[0] in item.groups for item in items):
            group = names.pop(0)
            found = [item.groups[group] for item in items if group in item.groups]
        else:
            found = [item.children for item in items if item.children is not None]
    return found


class _Finder:
    def __init__(self, top: Spot, context: Context) -> None:
        self._top = top
        self._context = context

    def changes(self) -> Iterator[ParameterChange]:
        for spot, name, item in each_given(self._top, self._context):
            value = spot.given[name]
            if item is not None:
                yield from forms.shape_changes(item, value, (*spot.path, name))
            elif _is_unknown(spot, name):
                yield from self._moved(spot, name, value)

    def _moved(self, spot: Spot, name: str, value: Json) -> Iterator[ParameterChange]:
        here = (*spot.path, name)
        same = {one for one in _free(spot, value) if plain_name(one) == plain_name(name)}
        if len(same) == 1:
            yield forms.renamed(here, same.pop(), value)
            return
        homes = list(self._homes(self._top, name, value, _DEPTH))
        if len(homes) == 1:
            yield ParameterChange(f"`{format_path(here)}` as `{format_path(homes[0])}`", ((homes[0], value),), (here,))

    def _homes(self, spot: Spot, name: str, value: Json, depth: int) -> Iterator[JsonPath]:
        given, kept = (one if isinstance(one, dict) else {} for one in (spot.given, spot.kept))
        for item in spot.level.properties if depth else ():
            inside, here = given.get(item.name, {}), (*spot.path, item.name)
            if not item.shows(kept, self._top.kept, self._context):
                continue
            if item.name == name and name not in given and forms.fits_parameter(item, value):
                yield here
            elif item.children is not None and item.multiple is not True:
                yield from self._homes(Spot(item.children, inside, inside, here), name, value, depth - 1)
            for group, level in item.groups.items() if isinstance(inside, dict) else ():
                if group == name and group not in inside and forms.fits_group(item, level, value):
                    yield (*here, group)
                elif item.multiple is not True:
                    row = inside.get(group, {})
                    yield from self._homes(Spot(level, row, row, (*here, group)), name, value, depth - 1)


def _free(spot: Spot, value: Json) -> Iterator[str]:
    shown = (one for one in spot.level.properties if one.name in spot.kept and one.name not in spot.given)
    yield from (one.name for one in shown if forms.fits_parameter(one, value))


def _is_unknown(spot: Spot, name: str) -> bool:
    given = spot.given[name] not in (None, "", [], {})
    return given and name not in spot.level.by_name and not is_of_the_editor(name)
