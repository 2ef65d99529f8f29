"""Other names that models use for parameters: moved to the real name, never guessed.

``replacements`` can mean ``edits``, then ``edits[].oldString`` ``edits[].old_string``; ``search_replace.search``
``old_string``. Values stay; one parameter twice with different values is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy

from msgspec import Struct, field

from rails.core.text import unfenced
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import nearest_name
from rails.json_schema.explain import SchemaFault, place_in_words


class Resolved(Struct):
    """Parameters under their real names, notes on texts read as JSON, and what has two values or no meaning."""

    parameters: dict[str, Json]
    notes: list[str] = field(default_factory=list)
    faults: list[SchemaFault] = field(default_factory=list)


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
    told = {fault.place for fault in resolved.faults}
    for holder, known in emptied.items():
        left = resolved.parameters.pop(holder)
        for name in left if isinstance(left, dict) else ():
            place = (holder, name)
            if place not in told:
                near = nearest_name(name, known)
                hint = f"Did you mean `{near}`?" if near else "Leave it out."
                detail = f"`{place_in_words(place)}` is not a parameter of this tool"
                resolved.faults.append(SchemaFault(place, detail, hint))
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
        resolved.notes.append(f"{name}: text to {'array' if listed else 'object'}")


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
    if name not in item or (item is goal and name == real):
        return
    value = item[name]
    if real not in goal:
        goal[real] = item.pop(name)
    elif type(goal[real]) is type(value) and repr(goal[real]) == repr(value):  # true is not 1
        del item[name]
    else:
        detail = f"`{place_in_words(place)}` and `{target}` mean the same and have different values"
        resolved.faults.append(SchemaFault(place, detail, f"Send `{target}` only."))
