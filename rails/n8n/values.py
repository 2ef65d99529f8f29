"""JavaScript's values in Python: ``null`` is ``None``, objects ``dict``, arrays ``list``, numbers ``int`` or ``float``.

Places count characters, not UTF-16 units.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

#: Any value of JavaScript. The name says that no part of ours knows more of it.
Value: TypeAlias = Any

_NUMBER: Final = re.compile(r"[+-]?(?:\d++(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|Infinity)", re.ASCII)


class Undefined:
    """JavaScript's ``undefined``, as opposed to ``null``."""

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = Undefined()
NOTHING: Final = (None, UNDEFINED)


def is_numeric(value: Value) -> bool:
    """Return whether a value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_number(value: Value) -> float:
    """Return ``Number(value)``."""
    if value is None or isinstance(value, int | float):
        return value or 0
    if isinstance(value, list):
        value = to_text(value)
    return _read_number(value.strip()) if isinstance(value, str) else math.nan


def _read_number(text: str) -> float:
    return float(text.replace("Infinity", "inf") or 0) if not text or _NUMBER.fullmatch(text) else math.nan


def to_text(value: Value) -> str:
    """Return ``String(value)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_numeric(value):
        return repr(value).removesuffix(".0")
    if value is None or value is UNDEFINED:
        return "null" if value is None else "undefined"
    if isinstance(value, list):
        return ",".join("" if one in NOTHING else to_text(one) for one in value)
    return "[object Object]"


def value_of_json(text: str) -> Value:
    """Return the value of JSON. Raises ValueError."""

    def refuse(name: str) -> Value:
        raise ValueError(name)

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def to_boolean(value: Value) -> bool:
    """Return n8n's true or false. Raises ValueError."""
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not (isinstance(value, str) and not value.strip()) and to_number(value) in (0, 1):
        return to_number(value) == 1
    raise ValueError(value)


def parsed_as(wanted: type, value: Value) -> Value:
    """Return a list or object, also from a text of JSON. Raises ValueError."""
    if isinstance(value, wanted):
        return value
    text = to_text(value)
    for one in (text, text.replace("'", '"')) if wanted is list else (text,):
        with contextlib.suppress(ValueError):
            made = value_of_json(one)
            if isinstance(made, wanted):
                return made
    raise ValueError(value)


def at_parts(value: Value, parts: Iterable[str]) -> Value:
    """Return the value at keys and indexes, or ``undefined``."""
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part, UNDEFINED)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return UNDEFINED
    return value
