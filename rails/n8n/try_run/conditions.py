"""n8n's filter of version 2 nodes (If, Filter, Switch) and the conditions of version 1, decided on evaluated values."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Final

from rails.n8n import values
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.values import UNDEFINED, Value, is_numeric, same, to_number, to_text

#: Asks the JavaScript engine for one of its functions for models.
AskEngine = Callable[..., Value]


def holds(call: AskEngine, given: Value, index: int) -> bool:
    """Return whether an evaluated filter is true for the item ``index``. Raises NodeFault where n8n does."""
    if not isinstance(given, dict) or not isinstance(given.get("conditions"), list):
        return True
    options = {"caseSensitive": True, "typeValidation": "strict", "version": 1, **(given.get("options") or {})}
    results = (_condition(call, one, options, number, index) for number, one in enumerate(given["conditions"]))
    return any(results) if given.get("combinator") == "or" else all(results)


def _condition(
    call: AskEngine, one: Mapping[str, Value], options: Mapping[str, Value], number: int, index: int
) -> bool:
    sign = one.get("operator") or {}
    kind, name = sign.get("type"), sign.get("operation")
    place = f"[condition {number}, item {index}]"
    left = _typed(call, one.get("leftValue", UNDEFINED), kind, options, place)
    right_kind = sign.get("rightType") or kind
    single = bool(sign.get("singleValue"))
    right = UNDEFINED if single else _typed(call, one.get("rightValue", UNDEFINED), right_kind, options, place)
    exists = left not in values.NOTHING and left == left  # noqa: PLR0124 - NaN is not itself
    if name in {"exists", "notExists"}:
        return exists is (name == "exists")
    if kind == "string":
        return _string(call, left, right, str(name), ignore_case=not options["caseSensitive"])
    if kind == "array":
        return _array(
            left if isinstance(left, list) else [], right, str(name), ignore_case=not options["caseSensitive"]
        )
    if name in {"empty", "notEmpty"}:
        empty = not exists or (kind == "object" and not left)
        return empty is (name == "empty")
    if kind == "boolean" and name in {"true", "false"}:
        return values.truthy(left) is (name == "true")
    return _ordered(str(kind), left, right, str(name))


def _string(call: AskEngine, left: Value, right: Value, name: str, *, ignore_case: bool) -> bool:
    first, second = ("" if one in values.NOTHING else to_text(one) for one in (left, right))
    if ignore_case:
        first = first.lower()
        second = second if name in {"regex", "notRegex"} else second.lower()
    positive = name[3].lower() + name[4:] if name.startswith("not") else name
    if positive == "regex":
        pattern, flags = second, ""
        if second.startswith("/") and second.rfind("/") > 0:
            pattern, flags = second[1 : second.rfind("/")], second[second.rfind("/") + 1 :]
        found = call("matches", pattern, flags, first) is True
    elif positive in _TEXTS:
        found = _TEXTS[positive](first, second)
    else:
        return False
    return found is not name.startswith("not")


_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda a, b: b in a,
    "empty": lambda a, _: a == "",
    "endsWith": lambda a, b: a.endswith(b),
    "equals": lambda a, b: a == b,
    "startsWith": lambda a, b: a.startswith(b),
}
_ORDER: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "after": operator.gt, "afterOrEquals": operator.ge, "before": operator.lt, "beforeOrEquals": operator.le,
    "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le,
}  # fmt: skip
_LENGTHS: Final = {"lengthEquals": operator.eq, "lengthNotEquals": operator.ne, "lengthGt": operator.gt,
                   "lengthLt": operator.lt, "lengthGte": operator.ge, "lengthLte": operator.le}  # fmt: skip


def _array(left: list[Value], right: Value, name: str, *, ignore_case: bool) -> bool:
    if name in {"contains", "notContains"}:
        found = any(same(one, right) for one in left)
        if ignore_case and isinstance(right, str):
            found = any(isinstance(one, str) and one.lower() == right.lower() for one in left)
        return found is (name == "contains")
    if name in {"empty", "notEmpty"}:
        return (not left) is (name == "empty")
    return bool(_LENGTHS[name](len(left), right)) if name in _LENGTHS and is_numeric(right) else False


def _ordered(kind: str, left: Value, right: Value, name: str) -> bool:
    if kind == "dateTime" and (left in values.NOTHING or right in values.NOTHING):
        return False
    if name in {"equals", "notEquals"}:
        return same(left, right) is (name == "equals")
    if name not in _ORDER or kind not in {"number", "dateTime"}:
        return False
    return _ORDER[name](to_number(left), to_number(right))


def _typed(call: AskEngine, value: Value, kind: Value, options: Mapping[str, Value], place: str) -> Value:
    """Return a value as a comparison of its type takes it. Raises NodeFault where it cannot."""
    strict, version = options["typeValidation"] == "strict", options["version"]
    if value in values.NOTHING or kind == "any":
        return value
    if kind == "number" and value != value:  # noqa: PLR0124 - NaN is not itself
        return value
    try:
        if kind == "boolean" and not strict:
            return values.to_boolean(value) if version >= 2 else values.truthy(value)
        if kind == "number" and version >= 3 and (value == [] or (isinstance(value, str) and not value.strip())):
            return None
        return converted(call, value, str(kind), strict=strict, date="millis")
    except ValueError:
        found = values.type_of(value)
        if kind == "boolean" and not strict:
            return values.truthy(value)
        if strict:
            said = f"Wrong type: '{to_text(value)}' is {_a(found)} but was expecting {_a(str(kind))} {place}"
        else:
            said = f"Conversion error: the {found} '{to_text(value)}' can't be converted to {_a(str(kind))} {place}"
        raise NodeFault(said) from None


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def converted(call: AskEngine, value: Value, kind: str, *, strict: bool = False, date: str = "date") -> Value:
    """Return a value as a field of a type holds it. Raises ValueError for one that cannot be."""
    if strict and not _IS.get(kind, lambda _: True)(value):
        raise ValueError(kind)
    if kind == "string":
        return values.stringified(value) if isinstance(value, dict | list) else to_text(value)
    if kind == "number":
        number = to_number(value)
        if number != number:  # noqa: PLR0124 - NaN is not itself
            raise ValueError(kind)
        return number
    if kind == "boolean":
        return values.to_boolean(value)
    if kind == "dateTime":
        try:
            return call(date, value)
        except NodeFault:
            raise ValueError(value) from None
    if kind in {"array", "object"}:
        return values.parsed_as(list if kind == "array" else dict, value)
    if kind == "binary":
        raise NotModelled("binary data")
    return value


_IS: Final[Mapping[str, Callable[[Value], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": is_numeric,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict | list),
}


def old_conditions_hold(call: AskEngine, given: Value, combined: str) -> bool:
    """Return whether evaluated conditions of version 1 are true."""
    groups = given.items() if isinstance(given, dict) else ()
    results = [_old(call, kind, one) for kind, rows in groups for one in (rows if isinstance(rows, list) else ())]
    return any(results) if combined in {"any", "OR"} else all(results)


_OLD: Final[Mapping[str, Callable[[Value, Value], bool]]] = {
    "contains": lambda a, b: to_text(b) in to_text(a),
    "notContains": lambda a, b: to_text(b) not in to_text(a),
    "endsWith": lambda a, b: to_text(a).endswith(to_text(b)),
    "notEndsWith": lambda a, b: not to_text(a).endswith(to_text(b)),
    "startsWith": lambda a, b: to_text(a).startswith(to_text(b)),
    "notStartsWith": lambda a, b: not to_text(a).startswith(to_text(b)),
    "equal": same,
    "notEqual": lambda a, b: not same(a, b),
    "isEmpty": lambda a, _: a in (None, UNDEFINED, ""),
    "isNotEmpty": lambda a, _: a not in (None, UNDEFINED, ""),
    "larger": lambda a, b: values.compare(a, b, operator.gt),
    "largerEqual": lambda a, b: values.compare(a, b, operator.ge),
    "smaller": lambda a, b: values.compare(a, b, operator.lt),
    "smallerEqual": lambda a, b: values.compare(a, b, operator.le),
    "after": lambda a, b: a > b,
    "before": lambda a, b: a < b,
}
_OLD_DEFAULT: Final = {"number": "smaller", "dateTime": "after"}


def _old(call: AskEngine, kind: str, one: Mapping[str, Value]) -> bool:
    name = str(one.get("operation") or _OLD_DEFAULT.get(kind, "equal"))
    left, right = one.get("value1", ""), one.get("value2", "")
    if kind == "dateTime" and name in {"after", "before"}:
        left, right = (converted(call, side, "dateTime", date="millis") for side in (left, right))
    if name in {"regex", "notRegex"}:
        return call("matches", to_text(right), "", to_text(left)) is (name == "regex")
    if name not in _OLD:
        raise NotModelled(f"the operation {json.dumps(name)} of version 1")
    return _OLD[name](left, right)
