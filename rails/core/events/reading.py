"""Values of events read from JSON. Never raises: a log may be newer, older or damaged.

What is missing or of the wrong type becomes its default, or empty (``""``, 0, ``()``, ``False``), in an array left out;
an unknown word the first of its set; a text kept elsewhere a :class:`StoredText`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from rails.core.conversation import Message, message_from_json
from rails.core.events.members import hints_of, members_of
from rails.core.events.values import StoredText
from rails.core.tool_request import Json
from rails.core.verdict import Verdict

T = TypeVar("T")
#: Returns a value of one type, or ``_ODD``.
Reader = Callable[[Json], object]

_ODD: Final = object()
_MOST: Final = 1e300
_UNIONS: Final = (Union, types.UnionType)


def read_object(kind: type[T], value: Mapping[str, Json]) -> T:
    """Return an instance of the class ``kind`` from an object."""
    found: dict[str, Any] = {}
    for name, key, read, required, hint in _plan(cast(Hashable, kind)):
        item = read(value[key]) if key in value else _ODD
        if item is not _ODD:
            found[name] = item
        elif required:
            found[name] = _empty(hint)
    return kind(**found)


@cache
def _plan(kind: Any) -> tuple[tuple[str, str, Reader, bool, Hashable], ...]:  # noqa: ANN401 - as in members_of
    hints = hints_of(kind)
    members = members_of(kind)
    return tuple((one.name, one.key, _reader(hints[one.name]), one.required, hints[one.name]) for one in members)


def read_typed(kind: type[T], value: Json) -> T:
    """Return a value of any type that an event may have."""
    hint = cast(Hashable, kind)
    read = _reader(hint)(value)
    return cast(T, _empty(hint) if read is _ODD else read)


@cache
def _reader(hint: Hashable) -> Reader:
    if simple := _READERS.get(hint):
        return simple
    origin = get_origin(hint)
    args = get_args(hint)
    if origin in _UNIONS:
        return _optional(args)
    if origin is Literal:
        return lambda value: value if value in args else _ODD
    if origin is tuple:
        return _array(_reader(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_reader(args[1]))
    if isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or hasattr(hint, "__match_args__")):
        return lambda value: read_object(hint, value) if isinstance(value, Mapping) else _ODD
    return lambda value: value


def _empty(hint: Hashable) -> object:
    if hint in _EMPTY:
        return _EMPTY[hint]
    origin = get_origin(hint)
    args = get_args(hint)
    if origin is Literal:
        return args[0]
    if origin is tuple:
        return ()
    if origin is not None and origin not in _UNIONS:
        return {}
    return read_object(hint, {}) if isinstance(hint, type) else None


def _optional(args: tuple[Hashable, ...]) -> Reader:
    inner = [one for one in args if one not in (None, type(None))]
    if len(inner) > 1:  # anything that JSON can hold
        return lambda value: value
    read = _reader(inner[0])
    return lambda value: None if value is None else read(value)


def _array(read: Reader) -> Reader:
    def items(value: Json) -> object:
        if not isinstance(value, list | tuple):
            return _ODD
        return tuple(found for item in value if (found := read(item)) is not _ODD)

    return items


def _mapping(read: Reader) -> Reader:
    def members(value: Json) -> object:
        if not isinstance(value, Mapping):
            return _ODD
        return {key: found for key, item in value.items() if (found := read(item)) is not _ODD}

    return members


def _text(value: Json) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("blob"), str):
        return StoredText.of(read_typed(str, value.get("head")), read_typed(float, value.get("bytes")), value)
    return _ODD


def _integer(value: Json) -> object:
    if isinstance(value, int):
        return _ODD if isinstance(value, bool) else value
    return int(value) if isinstance(value, float) and value.is_integer() else _ODD


def _number(value: Json) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _ODD
    return value if 0 <= value <= _MOST else _ODD


def _message(value: Json) -> object:
    try:
        return message_from_json(value)
    except ValueError:
        return _ODD


def _verdict(value: Json) -> object:
    """Read a verdict, whose proposal is in no log."""
    return read_object(Verdict, {**value, "proposal": None}) if isinstance(value, Mapping) and value else _ODD


_READERS: Final[dict[Hashable, Reader]] = {
    **{str: _text, int: _integer, float: _number},
    bool: lambda value: value if isinstance(value, bool) else _ODD,
    Message: _message,
    Verdict: _verdict,
}
_EMPTY: Final[dict[Hashable, object]] = {str: "", int: 0, float: 0.0, bool: False}
