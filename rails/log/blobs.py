"""Large values, kept once by SHA-256.

A pointer is ``{"blob": sha256, "bytes": length, "head": "the first characters"}``, with ``"json": true`` unless text.
Lookalike values become blobs, so reading is exact.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rails.core import atomic_file, limits
from rails.core.errors import LogError
from rails.core.lazy_pattern import lazy
from rails.core.text import sha256
from rails.core.tool_request import Json
from rails.log import event_codec, files
from rails.log.event_codec import dumps

_NAME: Final = lazy(r"[0-9a-f]{64}")
_POINTER: Final = {"blob", "bytes", "head"}
#: Texts above these sizes leave the record, in this order, until it fits.
_TEXT_LIMITS: Final = (4_096, 1_024)
_MEMBER_LIMIT: Final = 512

Store = Callable[[bytes], str]


def store_blob(state: Path, data: bytes) -> str:
    """Keep ``data`` and return its SHA-256. On disk when this returns. Raises LogError."""
    name = sha256(data)
    if len(data) > limits.CHANGE_BYTES:
        raise LogError(f"A value of {len(data)} bytes is too large for the session log")
    try:
        with files.folder(state, "blobs", name[:2], create=True) as folder:
            atomic_file.create(folder, name, data, begun_in="..")
    except OSError as error:
        raise LogError(f"The session log cannot store a value in {state}/blobs: {error.strerror or error}") from error
    return name


def load_blob(state: Path, name: str) -> bytes:
    """Return the blob ``name``. Raises LogError if it is missing or its hash differs."""
    if not _NAME.fullmatch(name):
        raise LogError(f"{name[:80]!r} is not the name of a blob")
    try:
        with files.folder(state, "blobs", name[:2]) as folder:
            data = files.read_regular_file(folder, name)
    except OSError as error:
        raise LogError(f"The blob {name} cannot be read: {error.strerror or error}") from error
    if sha256(data) != name:
        raise LogError(f"The blob {name} was changed after it was stored")
    return data


def small(text: str) -> bytes | None:
    """Return a payload's JSON if it fits its record, ``None`` if it needs :func:`shrink`."""
    if '"blob":' in text or len(text) > limits.INLINE_BYTES:
        return None
    data = event_codec.escape(text).encode()
    return data if len(data) <= limits.INLINE_BYTES else None


def shrink(details: Mapping[str, Json], keep: Store) -> Mapping[str, Json]:
    """Return ``details`` small enough for a record; ``keep`` gets the largest texts first."""

    def escaped(value: Json) -> Json:
        """Return what only looks like a pointer as one of ours."""
        return _point(value, keep) if _is_pointer(value) else value

    small = _changed(dict(details), escaped)
    for limit in _TEXT_LIMITS:
        if _fits(small):
            break
        small = _changed(small, lambda value: _point(value, keep) if _is_longer(value, limit) else value)  # noqa: B023
    if not _fits(small):
        # The original members, so that a pointer never leads to another pointer.
        small = {
            name: _point(value, keep) if len(dumps(value)) > _MEMBER_LIMIT else _changed(value, escaped)
            for name, value in details.items()
        }
    return small if isinstance(small, dict) and _fits(small) else _point(dict(details), keep)


def expand(details: Mapping[str, Json], state: Path, *, texts: bool = True) -> Mapping[str, Json]:
    """Return ``details`` with pointers replaced (except texts' without ``texts``), or the same object if none. Raises
    LogError.
    """

    def loaded(value: Json) -> Json:
        if not isinstance(value, Mapping) or not _is_pointer(value):
            return value
        is_json = value.get("json") is True
        if not (texts or is_json):
            return value
        data = load_blob(state, str(value["blob"])).decode("utf-8", "surrogatepass")
        found: Json = json.loads(data) if is_json else data
        return found

    if not _has_pointer(details):
        return details
    found = _changed(dict(details), loaded)
    return found if isinstance(found, dict) else {}


def _changed(value: Json, change: Callable[[Json], Json]) -> Json:
    """Return ``value`` with what ``change`` makes of each of its parts, the outer ones first."""
    new = change(value)
    if new is not value:
        return new
    if isinstance(value, Mapping):
        return {name: _changed(member, change) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_changed(item, change) for item in value]
    return value


def _has_pointer(value: Json | Mapping[str, Json]) -> bool:
    if isinstance(value, Mapping):
        return _is_pointer(value) or any(map(_has_pointer, value.values()))
    return isinstance(value, list) and any(map(_has_pointer, value))


def _is_pointer(value: Json | Mapping[str, Json]) -> bool:
    if not isinstance(value, Mapping):
        return False
    return value.keys() - {"json"} == _POINTER and isinstance(value["blob"], str)


def _is_longer(value: Json, limit: int) -> bool:
    return isinstance(value, str) and len(value) > limit


def _fits(details: Json) -> bool:
    return len(dumps(details).encode()) <= limits.INLINE_BYTES


def _point(value: Json, keep: Store) -> dict[str, Json]:
    text = value if isinstance(value, str) else dumps(value)
    data = text.encode("utf-8", "surrogatepass")
    pointer: dict[str, Json] = {"blob": keep(data), "bytes": len(data), "head": text[: limits.HEAD_CHARS]}
    return pointer if isinstance(value, str) else {**pointer, "json": True}
