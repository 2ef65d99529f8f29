"""Frozen values as JSON, for log, reports and contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import NODEFAULT

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
    members = [(key, getattr(value, name), default) for name, key, default in members_of(type(value))]  # type: ignore[arg-type]
    return {key: part(found) for key, found, default in members if not sparse or found != default}


@cache
def members_of(kind: Any) -> tuple[tuple[str, str, object], ...]:  # noqa: ANN401 - as above
    """Return the fields of a class in order: names in Python and JSON, default (``NODEFAULT``: it is required)."""
    names = kind.__struct_fields__
    required = [NODEFAULT] * (len(names) - len(kind.__struct_defaults__))
    return tuple(zip(names, kind.__struct_encode_fields__, [*required, *kind.__struct_defaults__], strict=True))


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
