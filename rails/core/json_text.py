"""Frozen values as JSON, for log, reports and contracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.tool_request import Json


def to_json(value: object) -> Json:
    """Return ``value`` as JSON: objects of fields, arrays, paths as strings.

    A file change becomes path, kind and hashes, never contents. Raises TypeError for what JSON cannot hold.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, WorkspacePath):
        return value.text
    if isinstance(value, ChangeSet):
        return [to_json(change) for change in value.changes]
    if isinstance(value, FileChange):
        hashes = {"before_sha256": value.before_sha256, "after_sha256": value.after_sha256}
        return {"path": value.path.text, "kind": value.kind, **hashes}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    if names is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return {name: to_json(getattr(value, name)) for name in names}


def json_object(value: object) -> dict[str, Json]:
    """Return a value with fields, or a mapping, as a JSON object."""
    result = to_json(value)
    if not isinstance(result, dict):
        raise TypeError(f"{type(value).__name__} is not an object in JSON")
    return result


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
