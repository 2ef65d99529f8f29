"""Values of events read from JSON. Never raises: a log may be newer, older or damaged.

What is missing or of the wrong type becomes its default, or empty (``""``, 0, ``()``, ``False``), in an array left out;
an unknown word the first of its set; a text kept elsewhere a :class:`StoredText`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from rails.core.conversation import Message, message_from_json
from rails.core.events.values import StoredText
from rails.core.tool_request import Json
from rails.core.verdict import Verdict

T = TypeVar("T")

_ODD: Final = object()
_MOST: Final = 1e300


class _Kind(NamedTuple):
    """How a type is read (``_ODD``: the value is of another), and what is empty."""

    read: Callable[[Any], object]
    empty: object = None


def read_object(kind: type[T], value: Mapping[str, Json]) -> T:
    """Return an instance of the class ``kind`` from an object."""
    found: dict[str, Any] = {}
    for member, of in _plan(cast(Hashable, kind)):
        item = of.read(value[member.encode_name]) if member.encode_name in value else _ODD
        if item is not _ODD:
            found[member.name] = item
        elif member.required:
            found[member.name] = of.empty
    return kind(**found)


@cache
def _plan(kind: Any) -> tuple[tuple[FieldInfo, _Kind], ...]:  # noqa: ANN401 - a type is no Hashable to mypy
    return tuple((member, _kind(member.type)) for member in fields(kind))


def read_typed(kind: type[T], value: Json) -> T:
    """Return a value of any type that an event may have."""
    of = _kind(cast(Hashable, kind))
    item = of.read(value)
    return cast(T, of.empty if item is _ODD else item)


@cache
def _kind(hint: Hashable) -> _Kind:
    if hint in _KINDS:
        return _KINDS[hint]
    origin = get_origin(hint)
    args = get_args(hint)
    if origin in (Union, types.UnionType):
        inner = [_kind(one).read for one in args if one is not type(None)]
        if len(inner) == 1:
            return _Kind(lambda value: None if value is None else inner[0](value))
    elif origin is Literal:
        return _Kind(lambda value: value if value in args else _ODD, args[0])
    elif origin is tuple:
        read_item = _kind(args[0]).read
        return _Kind(lambda value: _array(read_item, value), ())
    elif origin is not None and issubclass(origin, Mapping):
        read_member = _kind(args[1]).read
        return _Kind(lambda value: _members(read_member, value), {})
    elif isinstance(hint, type) and issubclass(hint, Struct):
        return _Kind(_verdict if hint is Verdict else lambda value: _object(hint, value), read_object(hint, {}))
    return _Kind(lambda value: value)  # anything that JSON can hold


def _array(read: Callable[[Any], object], value: Json) -> object:
    if not isinstance(value, list | tuple):
        return _ODD
    return tuple(found for item in value if (found := read(item)) is not _ODD)


def _members(read: Callable[[Any], object], value: Json) -> object:
    if not isinstance(value, Mapping):
        return _ODD
    return {key: found for key, item in value.items() if (found := read(item)) is not _ODD}


def _object(kind: type, value: Json) -> object:
    return read_object(kind, value) if isinstance(value, Mapping) else _ODD


def _text(value: Json) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("blob"), str):
        return StoredText.of(read_typed(str, value.get("head")), read_typed(float, value.get("bytes")), value)
    return _ODD


def _integer(value: Json) -> object:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if type(number) is int else _ODD


def _number(value: Json) -> object:
    return value if type(value) in (int, float) and 0 <= value <= _MOST else _ODD  # type: ignore[operator]


def _message(value: Json) -> object:
    try:
        return message_from_json(value)
    except ValueError:
        return _ODD


def _verdict(value: Json) -> object:
    """Read a verdict, whose proposal is in no log."""
    return read_object(Verdict, {**value, "proposal": None}) if isinstance(value, Mapping) and value else _ODD


_KINDS: Final[dict[Hashable, _Kind]] = {
    str: _Kind(_text, ""),
    int: _Kind(_integer, 0),
    float: _Kind(_number, 0.0),
    bool: _Kind(lambda value: value if isinstance(value, bool) else _ODD, False),
    Message: _Kind(_message),
}
