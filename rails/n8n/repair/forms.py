"""A value in n8n's form: group, list, choice, locator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rails.core.tool_request import Json
from rails.n8n.model import JsonPath, format_path, is_expression, plain_name
from rails.n8n.nodes.display import pattern_of
from rails.n8n.nodes.parameters import Level, Property

_LOCATORS: Final = frozenset({"resourceLocator", "workflowSelector", "agentSelector"})


class ParameterChange(NamedTuple):
    """A repair in words; what it sets and removes."""

    what: str
    put: tuple[tuple[JsonPath, Json], ...]
    gone: tuple[JsonPath, ...] = ()


def renamed(here: JsonPath, new: str, value: Json) -> ParameterChange:
    """Return the change of a name."""
    return ParameterChange(f"`{format_path(here)}` as `{new}`", (((*here[:-1], new), value),), (here,))


def changed(here: JsonPath, how: str, value: Json) -> ParameterChange:
    """Return the change of a value; ``how`` says it."""
    return ParameterChange(f"`{format_path(here)}` {how}", ((here, value),))


def _is_row(row: Json, level: Level | None) -> bool:
    if not isinstance(row, dict) or not row or level is None:
        return False
    return all(any(fits_parameter(item, value) for item in level.by_name.get(name, ())) for name, value in row.items())


def as_rows(value: Json, level: Level) -> list[Json] | None:
    """Return one row, or rows under numbers or names, as a list."""
    if _is_row(value, level):
        return [value]
    if isinstance(value, dict) and value and all(_is_row(row, level) for row in value.values()):
        return list(value.values())
    return None


def shape_changes(item: Property, value: Json, here: JsonPath) -> Iterator[ParameterChange]:
    """Yield what a value lacks: group, list, object, sign."""
    if item.type == "fixedCollection":
        yield from _groups(item, value, here)
    elif item.type == "collection" and item.multiple is not True:
        if isinstance(value, list) and len(value) == 1 and _is_row(value[0], item.children):
            yield changed(here, "as an object", value[0])
    elif item.type in {"options", "multiOptions"}:
        yield from _choice(item, value, here)
    elif item.type in _LOCATORS and isinstance(value, dict):
        yield from _locator(item, value, here)
    elif item.type == "assignmentCollection" and isinstance(value, list) and all(map(_is_assignment, value)):
        yield changed(here, "under `assignments`", {"assignments": value})


def written(value: Json) -> str:
    """Return a choice for a message."""
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def fits_parameter(item: Property, value: Json) -> bool:
    """Return whether a value has a parameter's form."""
    if item.type in {"notice", "callout", "button", "hidden"}:
        return False
    if item.type == "fixedCollection":
        return isinstance(value, dict) and bool(value) and value.keys() <= item.groups.keys()
    if item.type == "collection":
        return _is_row(value, item.children)
    if is_expression(value):
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


def fits_group(item: Property, level: Level, entries: Json) -> bool:
    """Return whether a value has a group's form: rows if several are allowed, else one."""
    if item.multiple is True:
        return isinstance(entries, list) and bool(entries) and all(_is_row(row, level) for row in entries)
    return _is_row(entries, level)


def _groups(item: Property, value: Json, here: JsonPath) -> Iterator[ParameterChange]:
    given = value if isinstance(value, dict) else {}
    unknown = [name for name in given if name not in item.groups and given[name] not in (None, "", [], {})]
    if given is not value or (unknown and not given.keys() & item.groups.keys()):
        row: Json = [value] if given is value and item.multiple is True else value
        fitting = [name for name, level in item.groups.items() if fits_group(item, level, row)]
        if len(fitting) == 1:
            yield changed(here, f"under `{fitting[0]}`", {fitting[0]: row})
    for name in unknown:
        free = ((one, level) for one, level in item.groups.items() if one not in given)
        fitting = [one for one, level in free if fits_group(item, level, given[name])]
        same = [one for one in fitting if plain_name(one) == plain_name(name)] or fitting
        if len(same) == 1:
            yield renamed((*here, name), same[0], given[name])
    for name, level in item.groups.items() if item.multiple is not True else ():
        entries = given.get(name)
        if isinstance(entries, list) and len(entries) == 1 and _is_row(entries[0], level):
            yield changed((*here, name), "as an object", entries[0])


def _choice(item: Property, value: Json, here: JsonPath) -> Iterator[ParameterChange]:
    allowed = [] if _is_open(item) else item.raw["values"]
    if item.type == "multiOptions" and not isinstance(value, list):
        if value in allowed:
            yield changed(here, "as a list", [value])
    elif isinstance(value, str | int | float) and value not in allowed and not is_expression(value):
        same = [one for one in allowed if plain_name(str(one)) == plain_name(str(value)) and plain_name(str(one))]
        if len(same) == 1:
            yield changed(here, f"{written(same[0])} for {written(value)}", same[0])


def _locator(item: Property, value: Mapping[str, Json], here: JsonPath) -> Iterator[ParameterChange]:
    mode = value.get("mode")
    made = dict(value)
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
        yield changed(here, "in the form of a locator", made)


def _modes_for(item: Property, value: Json) -> Iterable[str]:
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
