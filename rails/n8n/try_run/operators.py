"""JavaScript's operators on two values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.values import OverBudget, Value


def operate(sign: str, left: Value, right: Value) -> Value:
    """Return what an operator makes of two values."""
    if sign == "+":
        return _add(left, right)
    if sign in _COMPARED:
        return _COMPARED[sign](left, right)
    if sign == "instanceof":
        return bool(getattr(right, "has_made", lambda _: False)(left))
    if sign == "in":
        key = values.property_key(left)
        return key in right if isinstance(right, dict) else key.isdigit() and int(key) < len(right)
    return values.whole(_ARITHMETIC[sign](values.to_number(left), values.to_number(right)))


def _add(left: Value, right: Value) -> Value:
    numbers = (int, float, bool, type(None), values.Undefined)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return values.whole(values.to_number(left) + values.to_number(right))
    made = values.to_text(left) + values.to_text(right)
    if len(made) > values.MOST_CHARS:
        raise OverBudget(f"texts of at most {values.MOST_CHARS:,} characters")
    return made


def int32(number: float) -> int:
    """Return a number as the 32 bits that bit operators see."""
    bits = int(number) & 0xFFFFFFFF if math.isfinite(number) else 0
    return bits - (1 << 32) if bits & 0x80000000 else bits


def _divide(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _rest(left: float, right: float) -> float:
    return math.nan if right == 0 or not math.isfinite(left) else math.fmod(left, right)


def _power(left: float, right: float) -> float:
    try:
        made = float(left) ** right
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return math.nan if isinstance(made, complex) else made


_ARITHMETIC: Final[Mapping[str, Callable[[float, float], float]]] = {
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _rest,
    "**": _power,
    "&": lambda a, b: int32(int32(a) & int32(b)),
    "|": lambda a, b: int32(int32(a) | int32(b)),
    "^": lambda a, b: int32(int32(a) ^ int32(b)),
    "<<": lambda a, b: int32(int32(a) << (int32(b) & 31)),
    ">>": lambda a, b: int32(a) >> (int32(b) & 31),
    ">>>": lambda a, b: (int32(a) & 0xFFFFFFFF) >> (int32(b) & 31),
}
_COMPARED: Final[Mapping[str, Callable[[Value, Value], bool]]] = {
    "===": values.same,
    "!==": lambda a, b: not values.same(a, b),
    "==": values.loosely_same,
    "!=": lambda a, b: not values.loosely_same(a, b),
    "<": lambda a, b: values.compare(a, b, operator.lt),
    ">": lambda a, b: values.compare(a, b, operator.gt),
    "<=": lambda a, b: values.compare(a, b, operator.le),
    ">=": lambda a, b: values.compare(a, b, operator.ge),
}
