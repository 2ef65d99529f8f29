"""What the file gives and n8n does not read, put where n8n reads it: by the descriptions of the user's own n8n.

A parameter under another spelling, at the wrong level, rows without their group or a group without its list, a choice
in another spelling, a locator that is half of one. Where one place is possible, the repair is sure; a misspelt name, a
switch that has to be on and a number in quotes are likely.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rails.core.dataclass import NamedTuple
from rails.core.tool_request import Json
from rails.n8n.model import JsonPath, Names, Node, format_path, plain_name, put_at
from rails.n8n.nodes.catalogue import Catalogue
from rails.n8n.nodes.display import pattern_of
from rails.n8n.nodes.parameters import Context, Level, Malformed, Property, context_of, filled, levels
from rails.n8n.rules.parameters import is_of_the_editor

_DEPTH: Final = 5
_LOCATORS: Final = frozenset({"resourceLocator", "workflowSelector", "agentSelector"})
#: Parameters that choose what a node does: never set for the sake of another.
_CHOOSES: Final = frozenset({"resource", "operation", "mode", "authentication"})
_DECIMAL: Final = pattern_of(r"^-?\d{1,15}(\.\d{1,9})?$")


class ParameterRepair(NamedTuple):
    """The node's parameters after one repair, and what it did."""

    parameters: dict[str, Json]
    what: str


class _Change(NamedTuple):
    what: str
    put: tuple[tuple[JsonPath, Json], ...]
    gone: tuple[JsonPath, ...] = ()


def repairs(node: Node, known: Catalogue, *, unsafe: bool) -> Iterator[ParameterRepair]:
    """Yield each sure repair that is possible now, or each likely one."""
    description = known.describe(node.type, node.version)
    if description is None or not description.is_full:
        return
    level = levels(description)
    for change in _changes(level, node, context_of(description, node.version), unsafe=unsafe):
        made: Any = copy.deepcopy(dict(node.parameters))
        for path in change.gone:
            del _at(made, path[:-1])[path[-1]]
        for path, value in change.put:
            put_at(made, path, value)
        yield ParameterRepair(made, change.what)


def _changes(level: Level, node: Node, context: Context, *, unsafe: bool) -> Iterator[_Change]:
    try:
        kept = filled(level, node.parameters, context)
    except Malformed as fault:
        value = _at(node.parameters, fault.path)
        possible = (_as_rows(value, one) for one in _levels_at(level, fault.path))
        rows = next((rows for rows in possible if rows is not None), None)
        if rows is not None and not unsafe:
            yield _Change(f"`{format_path(fault.path)}` as a list", ((fault.path, rows),))
        return
    except RecursionError:
        return
    finder = _Finder(_Spot(level, node.parameters, kept), context)
    yield from finder.likely() if unsafe else finder.sure()


def _at(value: Any, path: JsonPath) -> Any:  # noqa: ANN401 - any JSON value
    for part in path:
        value = value[part]
    return value


def _levels_at(level: Level, path: JsonPath) -> list[Level]:
    """Return the possible levels of the rows at a path of parameter, group, index, and so on."""
    found, names = [level], [part for part in path if isinstance(part, str)]
    while names:
        name = names.pop(0)
        items = [item for one in found for item in one.by_name.get(name, ())]
        if names and any(names[0] in item.groups for item in items):
            group = names.pop(0)
            found = [item.groups[group] for item in items if group in item.groups]
        else:
            found = [item.children for item in items if item.children is not None]
    return found


def _is_row(row: Json, level: Level | None) -> bool:
    """Whether a value is a row of a level: every name in it is one of the level's, and every value fits."""
    if not isinstance(row, dict) or not row or level is None:
        return False
    return all(any(_fits(item, value) for item in level.by_name.get(name, ())) for name, value in row.items())


def _as_rows(value: Json, level: Level) -> list[Json] | None:
    """Return one row, or rows under numbers or names, as the list that they should be."""
    if _is_row(value, level):
        return [value]
    if isinstance(value, dict) and value and all(_is_row(row, level) for row in value.values()):
        return list(value.values())
    return None


class _Spot(NamedTuple):
    """One level of a node's parameters: what the file gives there and what n8n keeps of it."""

    level: Level
    given: Any
    kept: Any
    path: JsonPath = ()

    def free(self) -> Iterator[Property]:
        """Yield the parameters that show here and are not given."""
        yield from (one for one in self.level.properties if one.name in self.kept and one.name not in self.given)


class _Finder:
    """Compares what the file gives with what n8n keeps, as the rules do, and yields what would mend it."""

    def __init__(self, top: _Spot, context: Context) -> None:
        self._top, self._context = top, context

    def _each(self, spot: _Spot) -> Iterator[tuple[_Spot, str, Property | None]]:
        """Yield the name of each value that is given, at every level: with the property that shows, or ``None``."""
        if not isinstance(spot.given, dict) or not isinstance(spot.kept, dict):
            return
        for name, value in spot.given.items():
            found = spot.level.by_name.get(name, [])
            shown = (one for one in found if one.shows(spot.kept, self._top.kept, self._context))
            item = next(shown, None) if name in spot.kept else None
            yield spot, name, item
            if item is None:
                continue
            here, kept = (*spot.path, name), spot.kept[name]
            if item.children is not None and item.multiple is not True:
                yield from self._each(_Spot(item.children, value, kept, here))
            for group, level in item.groups.items() if isinstance(value, dict) and isinstance(kept, dict) else ():
                entries, held = value.get(group), kept.get(group)
                if isinstance(entries, list) and isinstance(held, list):
                    for index, (row, one) in enumerate(zip(entries, held, strict=False)):
                        yield from self._each(_Spot(level, row, one, (*here, group, index)))
                else:
                    yield from self._each(_Spot(level, entries, held, (*here, group)))

    # -- sure ----------------------------------------------------------------------------------------

    def sure(self) -> Iterator[_Change]:
        """Yield repairs of which only one is possible."""
        for spot, name, item in self._each(self._top):
            value = spot.given[name]
            if item is not None:
                yield from _shape(item, value, (*spot.path, name))
            elif _is_unknown(spot, name):
                yield from self._moved(spot, name, value)

    def _moved(self, spot: _Spot, name: str, value: Json) -> Iterator[_Change]:
        here = (*spot.path, name)
        same = {one.name for one in spot.free() if plain_name(one.name) == plain_name(name) and _fits(one, value)}
        if len(same) == 1:
            yield _renamed(here, same.pop(), value)
            return
        homes = list(self._homes(self._top, name, value, _DEPTH))
        if len(homes) == 1:
            yield _Change(f"`{format_path(here)}` as `{format_path(homes[0])}`", ((homes[0], value),), (here,))

    def _homes(self, spot: _Spot, name: str, value: Json, depth: int) -> Iterator[JsonPath]:
        """Yield each place at or below a level where a parameter of this name shows, fits and is not given."""
        given, kept = (one if isinstance(one, dict) else {} for one in (spot.given, spot.kept))
        for item in spot.level.properties if depth else ():
            inside, here = given.get(item.name, {}), (*spot.path, item.name)
            if not item.shows(kept, self._top.kept, self._context):
                continue
            if item.name == name and name not in given and _fits(item, value):
                yield here
            elif item.children is not None and item.multiple is not True:
                yield from self._homes(_Spot(item.children, inside, inside, here), name, value, depth - 1)
            for group, level in item.groups.items() if isinstance(inside, dict) else ():
                if group == name and group not in inside and _fits_group(item, level, value):
                    yield (*here, group)
                elif item.multiple is not True:
                    row = inside.get(group, {})
                    yield from self._homes(_Spot(level, row, row, (*here, group)), name, value, depth - 1)

    # -- likely --------------------------------------------------------------------------------------

    def likely(self) -> Iterator[_Change]:
        """Yield repairs that are probably what was meant."""
        for spot, name, item in self._each(self._top):
            value, here = spot.given[name], (*spot.path, name)
            if item is not None:
                yield from _likely_value(item, value, here)
            elif name in spot.level.by_name:
                yield from self._switched_on(spot, name)
            elif _is_unknown(spot, name):
                nearest = Names(one.name for one in spot.free() if _fits(one, value)).nearest(name)
                if nearest is not None:
                    yield _renamed(here, nearest, value)

    def _switched_on(self, spot: _Spot, name: str) -> Iterator[_Change]:
        """Set what a hidden parameter asks for, where the file says nothing of it and one value is possible."""
        for item in spot.level.by_name[name]:
            put = self._asked_for(item, spot)
            if put and spot.given[name] != item.default and item.type not in {"notice", "hidden"}:
                said = " and ".join(f"`{format_path(place)}` {_written(value)}" for place, value in put)
                yield _Change(f"{said}, so that `{format_path((*spot.path, name))}` applies", tuple(put))

    def _asked_for(self, item: Property, spot: _Spot) -> list[tuple[JsonPath, Json]]:
        put: list[tuple[JsonPath, Json]] = []
        for key, wanted in ((item.raw.get("display") or {}).get("show") or {}).items():
            around = self._top if key[0] == "/" else spot
            name = key.removeprefix("/")
            default = next((one.default for one in around.level.by_name.get(name, ())), None)
            if around.kept.get(name, default) in wanted or key[0] == "@":
                continue
            is_switch = len(wanted) == 1 and isinstance(wanted[0], bool | str) and name not in _CHOOSES
            if not is_switch or name in around.given or name not in around.level.by_name:
                return []
            put.append(((*around.path, name), wanted[0]))
        return put


def _is_unknown(spot: _Spot, name: str) -> bool:
    given = spot.given[name] not in (None, "", [], {})
    return given and name not in spot.level.by_name and not is_of_the_editor(name)


def _renamed(here: JsonPath, new: str, value: Json) -> _Change:
    return _Change(f"`{format_path(here)}` as `{new}`", (((*here[:-1], new), value),), (here,))


def _shape(item: Property, value: Json, here: JsonPath) -> Iterator[_Change]:
    """What a value lacks to be read: its group, its list, its object, its sign."""
    if item.type == "fixedCollection":
        yield from _groups(item, value, here)
    elif item.type == "collection" and item.multiple is not True:
        if isinstance(value, list) and len(value) == 1 and _is_row(value[0], item.children):
            yield _Change(f"`{format_path(here)}` as an object", ((here, value[0]),))
    elif item.type in {"options", "multiOptions"}:
        yield from _choice(item, value, here)
    elif item.type in _LOCATORS and isinstance(value, dict):
        yield from _locator(item, value, here)
    elif item.type == "assignmentCollection" and isinstance(value, list) and all(map(_is_assignment, value)):
        yield _Change(f"`{format_path(here)}` under `assignments`", ((here, {"assignments": value}),))


def _written(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _fits(item: Property, value: Json) -> bool:
    """Whether a value has the form of a parameter."""
    if item.type in {"notice", "callout", "button", "hidden"}:
        return False
    if item.type == "fixedCollection":
        return isinstance(value, dict) and bool(value) and value.keys() <= item.groups.keys()
    if item.type == "collection":
        return _is_row(value, item.children)
    if isinstance(value, str) and value.startswith("="):
        return True
    if item.type in {"number", "boolean"}:
        return isinstance(value, bool) == (item.type == "boolean") and isinstance(value, bool | int | float)
    if item.type == "options" and not _is_open(item):
        return value in item.raw["values"]
    if item.type in {"filter", "assignmentCollection", "resourceMapper"}:
        return isinstance(value, dict)
    if item.type in _LOCATORS and isinstance(value, dict):
        return "value" in value
    if item.type == "multiOptions" or item.multiple:
        return isinstance(value, list)
    return item.type == "json" or not isinstance(value, dict | list | bool)


def _is_open(item: Property) -> bool:
    return bool(item.raw.get("dynamic") or item.raw.get("free") or "values" not in item.raw)


def _fits_group(item: Property, level: Level, entries: Json) -> bool:
    if item.multiple is True:
        return isinstance(entries, list) and bool(entries) and all(_is_row(row, level) for row in entries)
    return _is_row(entries, level)


def _groups(item: Property, value: Json, here: JsonPath) -> Iterator[_Change]:
    """Rows without their group, a group under another name, one row for a list and a list for one."""
    said = f"`{format_path(here)}`"
    if not isinstance(value, dict):
        fitting = [name for name, level in item.groups.items() if _fits_group(item, level, value)]
        if len(fitting) == 1:
            yield _Change(f"{said} under `{fitting[0]}`", ((here, {fitting[0]: value}),))
        return
    unknown = [name for name in value if name not in item.groups and value[name] not in (None, "", [], {})]
    if unknown and not value.keys() & item.groups.keys():
        row: Json = [value] if item.multiple is True else value
        fitting = [name for name, level in item.groups.items() if _fits_group(item, level, row)]
        if len(fitting) == 1:
            yield _Change(f"{said} under `{fitting[0]}`", ((here, {fitting[0]: row}),))
    for name in unknown:
        fitting = [
            one for one, level in item.groups.items() if one not in value and _fits_group(item, level, value[name])
        ]
        same = [one for one in fitting if plain_name(one) == plain_name(name)] or fitting
        if len(same) == 1:
            path = (*here, same[0])
            yield _Change(f"`{format_path((*here, name))}` as `{same[0]}`", ((path, value[name]),), ((*here, name),))
    for name, level in item.groups.items() if item.multiple is not True else ():
        entries = value.get(name)
        if isinstance(entries, list) and len(entries) == 1 and _is_row(entries[0], level):
            yield _Change(f"`{format_path((*here, name))}` as an object", (((*here, name), entries[0]),))


def _choice(item: Property, value: Json, here: JsonPath) -> Iterator[_Change]:
    allowed = [] if _is_open(item) else item.raw["values"]
    if item.type == "multiOptions" and not isinstance(value, list):
        if value in allowed:
            yield _Change(f"`{format_path(here)}` as a list", ((here, [value]),))
    elif isinstance(value, str | int | float) and value not in allowed and not str(value).startswith("="):
        same = [one for one in allowed if plain_name(str(one)) == plain_name(str(value)) and plain_name(str(one))]
        if len(same) == 1:
            yield _Change(f"`{format_path(here)}` {_written(same[0])} for {_written(value)}", ((here, same[0]),))


def _locator(item: Property, value: Mapping[str, Json], here: JsonPath) -> Iterator[_Change]:
    """A locator without its sign, with its mode in another spelling, or with its value under the mode's name."""
    mode, made = value.get("mode"), dict(value)
    if not item.modes:
        return
    if mode is None:
        fitting = list(_modes_for(item, value.get("value")))
        mode = fitting[0] if len(fitting) == 1 and "value" in value else None
    elif isinstance(mode, str) and mode not in item.modes:
        mode = next((one for one in item.modes if plain_name(one) == plain_name(mode)), mode)
    if not isinstance(mode, str) or mode not in item.modes:
        return
    if "value" not in made and isinstance(made.get(mode), str):
        made["value"] = made.pop(mode)
    if "value" in made:
        made = {"__rl": True, **made, "mode": mode} | {"__rl": True}
    if made != value:
        yield _Change(f"`{format_path(here)}` in the form of a locator", ((here, made),))


def _modes_for(item: Property, value: Json) -> Iterable[str]:
    """Yield the modes in which n8n takes a value; what a person picks from a list looks like anything."""
    for mode, rules in item.modes.items():
        patterns = [pattern_of(f"^{rule}$") for rule in rules]
        if (
            mode != "list"
            and isinstance(value, str)
            and all(one is None or one.search(value[:2_000]) for one in patterns)
        ):
            yield mode


def _is_assignment(row: Json) -> bool:
    return isinstance(row, dict) and {"name", "value"} <= row.keys() <= {"id", "name", "type", "value"}


def _likely_value(item: Property, value: Json, here: JsonPath) -> Iterator[_Change]:
    """A choice that is misspelt, a number or truth in quotes, a locator that does not say its mode."""
    if item.type == "options" and isinstance(value, str) and not value.startswith("="):
        allowed = [one for one in ([] if _is_open(item) else item.raw["values"]) if isinstance(one, str)]
        nearest = Names(allowed).nearest(value) if allowed and value not in item.raw["values"] else None
        if nearest is not None:
            yield _Change(f'`{format_path(here)}` "{nearest}" for "{value}"', ((here, nearest),))
    elif item.type == "number" and isinstance(value, str) and _DECIMAL and _DECIMAL.search(value):
        yield _Change(f"`{format_path(here)}` without quotes", ((here, float(value) if "." in value else int(value)),))
    elif item.type == "boolean" and value in ("true", "false"):
        yield _Change(f"`{format_path(here)}` without quotes", ((here, value == "true"),))
    elif item.type == "resourceLocator" and isinstance(value, dict) and "value" in value and "mode" not in value:
        mode = next(iter(_modes_for(item, value["value"])), None)
        if mode is not None:
            yield _Change(f"`{format_path(here)}` by {mode}", ((here, {**value, "__rl": True, "mode": mode}),))
