"""JavaScript's values in Python: what they are, how they compare, and how they become texts and numbers.

``null`` is ``None``, objects are ``dict``, arrays ``list``, numbers ``int`` where they are whole and ``float`` else.
A text's places count characters, where JavaScript counts UTF-16 units: behind an emoji they differ.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final, TypeAlias

#: Any value of JavaScript. The name says that no part of ours knows more of it.
Value: TypeAlias = Any

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|Infinity)", re.ASCII)
_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_SAFE: Final = 2**53


class Undefined:
    """JavaScript's ``undefined``: a value that is not there, as opposed to ``null``."""

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = Undefined()
NOTHING: Final = (None, UNDEFINED)


def whole(number: float) -> int | float:
    """Return a number in the form in which we keep it."""
    if isinstance(number, int):
        return number if abs(number) <= _SAFE else whole(float(number))
    return int(number) if math.isfinite(number) and number == int(number) and abs(number) <= _SAFE else number


def is_numeric(value: Value) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_number(value: Value) -> int | float:
    """Return ``Number(value)``."""
    if isinstance(value, bool):
        return int(value)
    if is_numeric(value):
        return value  # type: ignore[no-any-return]
    if value is None:
        return 0
    if isinstance(value, list):
        return to_number(to_text(value))
    if isinstance(value, str):
        return _read_number(value.strip())
    return math.nan


def _read_number(text: str) -> int | float:
    base = _BASES.get(text[:2].lower())
    if base:
        try:
            return whole(int(text[2:], base))
        except (ValueError, OverflowError):
            return math.nan
    if not text:
        return 0
    return whole(float(text.replace("Infinity", "inf"))) if _NUMBER.fullmatch(text) else math.nan


def number_text(number: float) -> str:
    """Return a number as JavaScript writes it."""
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if abs(number) >= 1e21 or (number and abs(number) < 1e-6):
        return re.sub(r"e([+-])0*(\d)", r"e\1\2", repr(number)).replace(".0e", "e")
    written = repr(number)
    if "e" in written:
        written = f"{Decimal(written):f}"
    return written.removesuffix(".0")


def to_text(value: Value) -> str:
    """Return ``String(value)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_numeric(value):
        return number_text(value)
    if value is None or value is UNDEFINED:
        return "null" if value is None else "undefined"
    if isinstance(value, list):
        return ",".join("" if one in NOTHING else to_text(one) for one in value)
    return "[object Object]"


def value_of_json(text: str) -> Value:
    """Return what JSON holds. Raises ValueError."""

    def refuse(name: str) -> Value:
        raise ValueError(name)

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def to_boolean(value: Value) -> bool:
    """Return a value as n8n takes it for true or false. Raises ValueError for one that it does not."""
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not (isinstance(value, str) and not value.strip()) and to_number(value) in (0, 1):
        return to_number(value) == 1
    raise ValueError(value)


def parsed_as(wanted: type, value: Value) -> Value:
    """Return a list or an object, which n8n also takes as a text of JSON. Raises ValueError for anything else."""
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
    """Return what keys and indexes lead to, ``undefined`` where they end."""
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part, UNDEFINED)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return UNDEFINED
    return value
