"""Other names that models use for parameters: moved to the real name, never guessed.

``replacements`` can mean ``edits``, then ``edits[].oldString`` ``edits[].old_string``; ``search_replace.search``
``old_string``. Values stay; one parameter twice with different values is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Final

from msgspec import Struct, field

from rails.core.text import unfenced
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import nearest_name

_MISSING: Final = object()


class Resolved(Struct):
    """Parameters under their real names. ``converted``: texts read as JSON.

    ``conflicts``: (alias's place, real name) with different values. ``leftovers``: an alias's object's meaningless keys
    (place, nearest or "").
    """

    parameters: dict[str, Json]
    converted: list[str] = field(default_factory=list)
    conflicts: list[tuple[JsonPlace, str]] = field(default_factory=list)
    leftovers: list[tuple[JsonPlace, str]] = field(default_factory=list)


def split_alias(path: str) -> tuple[str, str]:
    """Return a path's (holder, name); the holder is "" at the top, ``x[]`` in a list."""
    holder, _, name = path.rpartition(".")
    return holder, name


def resolve_aliases(parameters: Mapping[str, Json], aliases: Mapping[str, str]) -> Resolved:
    """Return a copy of ``parameters`` with every aliased value moved, also out of JSON in a string."""
    resolved = Resolved(deepcopy(dict(parameters)))
    emptied: dict[str, list[str]] = {}
    for alias, target in sorted(aliases.items(), key=lambda pair: "[]" in pair[0]):
        holder, name = split_alias(alias)
        into, _ = split_alias(target)
        _open_text(resolved, holder)
        if holder != into and isinstance(resolved.parameters.get(holder), dict):
            emptied.setdefault(holder, []).append(name)
        for item, place in _objects(resolved.parameters, holder):
            _move(resolved, item, (*place, name), target, item if holder == into else resolved.parameters)
    for holder, known in emptied.items():
        left = resolved.parameters.pop(holder)
        conflicts = {place for place, _ in resolved.conflicts}
        for name in left if isinstance(left, dict) else ():
            if (holder, name) not in conflicts:
                resolved.leftovers.append(((holder, name), nearest_name(name, known)))
    return resolved


def _open_text(resolved: Resolved, holder: str) -> None:
    name = holder.removesuffix("[]")
    listed = holder.endswith("[]")
    value = resolved.parameters.get(name)
    if not holder or not isinstance(value, str):
        return
    try:
        opened = parse_document(unfenced(value)).value
    except JsonError:
        return
    if isinstance(opened, list if listed else dict):
        resolved.parameters[name] = opened
        resolved.converted.append(f"{name}: text to {'array' if listed else 'object'}")


def _objects(parameters: dict[str, Json], holder: str) -> Iterator[tuple[dict[str, Json], JsonPlace]]:
    if not holder:
        yield parameters, ()
        return
    name = holder.removesuffix("[]")
    value = parameters.get(name)
    if isinstance(value, dict) and name == holder:
        yield value, (name,)
    for index, item in enumerate(value if isinstance(value, list) and name != holder else ()):
        if isinstance(item, dict):
            yield item, (name, index)


def _move(resolved: Resolved, item: dict[str, Json], place: JsonPlace, target: str, goal: dict[str, Json]) -> None:
    name = str(place[-1])
    real = split_alias(target)[1]
    value = item.get(name, _MISSING)
    present = goal.get(real, _MISSING)
    if value is _MISSING or (item is goal and name == real):
        return
    if present is _MISSING:
        goal[real] = item.pop(name)
    elif type(present) is type(value) and repr(present) == repr(value):  # true is not 1
        del item[name]
    else:
        resolved.conflicts.append((place, target))
