"""Other names that models use for parameters: found, moved to the real name, and never guessed.

An alias is a dotted path in a definition (``search_replace.old_string`` for ``old_string``,
``edits[].oldString`` for ``edits[].old_string``). A value is moved, never changed. The same parameter
under two names with different values is a contradiction that only the sender can resolve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.dataclass import dataclass, field
from rails.core.text import unfenced
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import nearest_name

_MISSING: Final = object()
#: Parts of an alias, and the levels of objects and lists that this can reach.
PARTS: Final = 4
_LEVELS: Final = 2 * PARTS


@dataclass(slots=True)
class Resolved:
    """Parameters under their real names. ``converted`` says what text was read as JSON on the way.

    ``conflicts`` are places where two names hold different values: (place of the alias, real name).
    ``leftovers`` are keys inside an alias's own container that mean nothing: (place, nearest or "").
    """

    parameters: dict[str, Json]
    converted: list[str] = field(default_factory=list)
    conflicts: list[tuple[JsonPlace, str]] = field(default_factory=list)
    leftovers: list[tuple[JsonPlace, str]] = field(default_factory=list)


def resolve_aliases(parameters: Mapping[str, Json], aliases: Mapping[str, str]) -> Resolved:
    """Move every aliased value to its parameter. ``parameters`` is not changed.

    A container that an alias looks into may be JSON in a string; it is opened here.
    """
    resolved = Resolved(_copy_containers(dict(parameters), 0))
    present = [path for path in aliases if path.partition(".")[0].removesuffix("[]") in parameters]
    for path in present:
        _open_text(resolved, path)
    for path in present:
        _move(resolved, path.split("."), aliases[path].split("."))
    for path in present:
        _drop_container(resolved, path.split("."), aliases)
    return resolved


def _copy_containers(value: dict[str, Json], depth: int) -> dict[str, Json]:
    """Copy the objects and lists of the upper levels, which are all that aliases reach."""
    return {name: _copy(item, depth) for name, item in value.items()}


def _copy(item: Json, depth: int) -> Json:
    if depth < _LEVELS and isinstance(item, dict):
        return _copy_containers(item, depth + 1)
    if depth < _LEVELS and isinstance(item, list):
        return [_copy(one, depth + 1) for one in item]
    return item


def _open_text(resolved: Resolved, path: str) -> None:
    head, _, rest = path.partition(".")
    name, listed = head.removesuffix("[]"), head.endswith("[]")
    value = resolved.parameters.get(name)
    if not (rest or listed) or not isinstance(value, str):
        return
    opened = json_in_text(value)
    if isinstance(opened, list if listed else dict):
        resolved.parameters[name] = opened
        resolved.converted.append(f"{name}: text to {'array' if listed else 'object'}")


def json_in_text(text: str) -> Json:
    """Return the array or object that a string holds as JSON, fenced or not. Raises nothing: text stays text."""
    try:
        return parse_document(unfenced(text)).value
    except JsonError:
        return text


def _move(resolved: Resolved, path: list[str], target: list[str]) -> None:
    for holder, place, indexes in _holders(resolved.parameters, path, (), ()):
        name = path[-1]
        value = holder.get(name, _MISSING)
        if value is _MISSING:
            continue
        goal = _goal(resolved.parameters, target, indexes)
        if goal is None:
            continue
        present = goal.get(target[-1], _MISSING)
        if present is _MISSING:
            goal[target[-1]] = holder.pop(name)
        elif _same(present, value):
            del holder[name]
        else:
            resolved.conflicts.append(((*place, name), ".".join(target)))


def _same(one: object, other: object) -> bool:
    """Equal in value and type: ``true`` is not ``1``."""
    return type(one) is type(other) and repr(one) == repr(other)


def _holders(
    node: Json, path: list[str], place: JsonPlace, indexes: tuple[int, ...]
) -> Iterator[tuple[dict[str, Json], JsonPlace, tuple[int, ...]]]:
    """Yield every object that can hold the last part of ``path``, with its place and list indexes."""
    if not isinstance(node, dict):
        return
    if len(path) == 1:
        yield node, place, indexes
        return
    name, listed = path[0].removesuffix("[]"), path[0].endswith("[]")
    inner = node.get(name)
    if listed and isinstance(inner, list):
        for index, item in enumerate(inner):
            yield from _holders(item, path[1:], (*place, name, index), (*indexes, index))
    elif not listed:
        yield from _holders(inner, path[1:], (*place, name), indexes)


def _goal(node: dict[str, Json], target: list[str], indexes: tuple[int, ...]) -> dict[str, Json] | None:
    """Return the object that the target's last part belongs in, making containers on the way."""
    for part in target[:-1]:
        name, listed = part.removesuffix("[]"), part.endswith("[]")
        inner = node.setdefault(name, [] if listed else {})
        if listed:
            index, *rest = indexes
            indexes = tuple(rest)
            if not isinstance(inner, list) or index > len(inner):
                return None
            if index == len(inner):
                inner.append({})
            inner = inner[index]
        if not isinstance(inner, dict):
            return None
        node = inner
    return node


def _drop_container(resolved: Resolved, path: list[str], aliases: Mapping[str, str]) -> None:
    """Remove the alias's own container once it is empty, or report what is left in it."""
    head = path[0].removesuffix("[]")
    real_heads = {target.split(".")[0].removesuffix("[]") for target in aliases.values()}
    if len(path) == 1 or head in real_heads or head not in resolved.parameters:
        return
    container = resolved.parameters[head]
    items = container if isinstance(container, list) else [container]
    if not all(isinstance(item, dict) for item in items):
        return
    known = [alias.split(".")[-1] for alias in aliases if alias.split(".")[0].removesuffix("[]") == head]
    conflicted = {place for place, _ in resolved.conflicts}
    for index, item in enumerate(items):
        for name in item if isinstance(item, dict) else ():
            place: JsonPlace = (head, index, name) if isinstance(container, list) else (head, name)
            if place not in conflicted:
                resolved.leftovers.append((place, nearest_name(name, known)))
    if items:
        del resolved.parameters[head]
