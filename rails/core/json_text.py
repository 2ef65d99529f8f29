"""Frozen values as JSON, for log, reports and contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from rails.core.events.members import members_of
from rails.core.tool_request import Json


def to_json(value: Any, part: Callable[[object], Json] | None = None) -> Json:  # noqa: ANN401 - a class of msgspec
    """Return ``value`` as JSON: objects of fields, arrays. ``part``: the same for what is inside."""
    part = part or to_json
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [part(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): part(item) for key, item in value.items()}
    sparse = value.__struct_config__.omit_defaults
    members = [(one, getattr(value, one.name)) for one in members_of(type(value))]
    return {one.key: part(found) for one, found in members if not sparse or one.required or found != one.default}


def json_object(value: object, part: Callable[[object], Json] | None = None) -> dict[str, Json]:
    """Return a value with fields, or a mapping, as a JSON object."""
    return cast("dict[str, Json]", to_json(value, part))


def json_leaves(value: Json | Mapping[str, Json], place: str = "") -> Iterator[tuple[str, Json]]:
    """Yield leaves with places below ``place``: ``edits[0].old_string``."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from json_leaves(item, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from json_leaves(item, f"{place}[{number}]")
    else:
        yield place, value  # type: ignore[misc]
