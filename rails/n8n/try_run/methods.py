"""JavaScript's own methods, as far as they are modelled.

A method is a function of the value and its arguments. Where none of a name is known, a text, number, list … has the
method of n8n's of that name (``extensions``), or the dry run says that it does not model it.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from rails.n8n.try_run import patterns, values
from rails.n8n.try_run.functions import call_function
from rails.n8n.try_run.objects import Constructor
from rails.n8n.try_run.patterns import RegExp
from rails.n8n.try_run.values import UNDEFINED, NotModelled, OverBudget, Value, to_number, to_text, truthy


def member(of: Value, key: str) -> Value:
    """Return a property of a value: its own, or a method bound to it."""
    if isinstance(of, dict) and key in of:
        return of[key]
    if isinstance(of, list | str):
        if key == "length":
            return len(of) + (sum(letter > "\uffff" for letter in of) if isinstance(of, str) else 0)
        if key.lstrip("-").isdigit():
            return of[int(key)] if 0 <= int(key) < len(of) else UNDEFINED
    if isinstance(of, Constructor):
        if key not in of.members:
            raise NotModelled(f".{key} of a global of JavaScript")
        return of.members[key]
    own = getattr(of, "property", None)
    if own is not None and (found := own(key)) is not UNDEFINED:
        return found
    kind = values.kind(of)
    method = METHODS.get(kind, {}).get(key)
    if method is not None:
        return functools.partial(_method, method, of)
    if kind in {"object", "function", "boolean"} or key not in _KNOWN_ELSEWHERE:
        return UNDEFINED
    raise NotModelled(f"the method .{key}() of a value of type {kind}")


def called_in_expression(of: Value, key: str) -> Value:
    """Return the method that an expression calls: n8n's own of this name, else JavaScript's."""
    from rails.n8n.try_run import extensions

    method = extensions.METHODS.get(values.kind(of), {}).get(key) or extensions.METHODS["any"].get(key)
    return functools.partial(_method, method, of) if method is not None else member(of, key)


def _method(method: Callable[..., Value], of: Value, *given: Value) -> Value:
    return call_function(method, of, *given)


#: Methods that JavaScript, luxon or n8n have and that are not modelled: what is in no list is ``undefined``.
_KNOWN_ELSEWHERE: Final = frozenset(
    {"codePointAt", "copyWithin", "toLocaleString", "toRelative", "toRelativeCalendar", "toHTTP", "toRFC2822", "toBSON",
     "setLocale", "removeMarkdown", "replaceSpecialChars", "extractUrlPath", "toHuman", "shiftTo", "rescale",
     "normalize", "until", "toLocaleParts", "toLocaleDateString", "toLocaleTimeString", "numberList", "parseJwt"}
)  # fmt: skip


def _at(of: Value, index: Value = 0) -> Value:
    place = index_of(index)
    return of[place] if -len(of) <= place < len(of) else UNDEFINED


def index_of(value: Value, default: int = 0) -> int:
    """Return a value as a place in a list, ``default`` where it is left out."""
    if value is UNDEFINED:
        return default
    number = to_number(value)
    return 0 if math.isnan(number) else int(max(-1e9, min(1e9, number)))


def _slice(of: Value, start: Value = 0, end: Value = UNDEFINED) -> Value:
    return of[slice(index_of(start), None if end is UNDEFINED else index_of(end))]


def _substring(text: str, start: Value = 0, end: Value = UNDEFINED) -> str:
    first, last = (min(max(index_of(one, len(text)), 0), len(text)) for one in (start, end))
    return text[min(first, last) : max(first, last)]


def _normal(text: str, form: str) -> str:
    if form not in {"NFC", "NFD", "NFKC", "NFKD"}:
        raise values.error(f"The normalization form should be one of NFC, NFD, NFKC, NFKD, not {form}", "RangeError")
    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


def _repeated(text: str, count: Value) -> str:
    if to_number(count) * len(text) > values.MOST_CHARS:
        raise OverBudget(f"texts of at most {values.MOST_CHARS:,} characters")
    return text * index_of(count)


def _pad(text: str, length: Value, filler: Value = " ", *, at_end: bool = False) -> str:
    missing, piece = max(index_of(length) - len(text), 0), to_text(filler)
    padding = _repeated(piece, missing // len(piece) + 1)[:missing] if piece else ""
    return text + padding if at_end else padding + text


def _split(text: str, by: Value = UNDEFINED, most: Value = UNDEFINED) -> list[str]:
    if by is UNDEFINED:
        return [text]
    parts = by.split(text) if isinstance(by, RegExp) else text.split(to_text(by)) if to_text(by) else list(text)
    return parts[: index_of(most, len(parts))]


def _find_in(of: Value, what: Value) -> int:
    if isinstance(of, str):
        return of.find(to_text(what))
    return next((n for n, one in enumerate(of) if values.same(one, what)), -1)


def _includes(of: Value, what: Value, start: Value = 0) -> bool:
    if isinstance(of, str):
        return to_text(what) in of[index_of(start) :]
    return _find_in(of[index_of(start) :], what) >= 0 or (isinstance(what, float) and math.isnan(what) and what in of)


def _last_index(of: Value, what: Value) -> int:
    if isinstance(of, str):
        return of.rfind(to_text(what))
    return next((n for n in reversed(range(len(of))) if values.same(of[n], what)), -1)


def _flat(of: list[Value], depth: Value = 1) -> list[Value]:
    made: list[Value] = []
    for one in of:
        made += _flat(one, to_number(depth) - 1) if isinstance(one, list) and to_number(depth) >= 1 else [one]
    return bounded_list(made)


def bounded_list(made: list[Value]) -> list[Value]:
    """Return a list, unless it is longer than a dry run makes them."""
    if len(made) > values.MOST_CHARS // 10:
        raise OverBudget(f"lists of at most {values.MOST_CHARS // 10:,} values")
    return made


def _sort(of: list[Value], order: Value = UNDEFINED) -> list[Value]:
    if order is UNDEFINED:
        of.sort(key=lambda one: (one is UNDEFINED, to_text(one).encode("utf-16-be", "surrogatepass")))
    else:
        of.sort(key=functools.cmp_to_key(lambda a, b: sign_of(to_number(call_function(order, a, b)), 0)))
    return of


def sign_of(left: Any, right: Any = 0) -> int:  # noqa: ANN401 - anything with an order
    """Return 1, 0 or -1 for the order of two values."""
    return int(left > right) - int(left < right)


def _locale_key(text: str) -> tuple[str, str, str]:
    """Return what a text is ordered by: letters without marks and case, then marks, small letters before large."""
    apart = unicodedata.normalize("NFD", text)
    letters = "".join(one for one in apart if not unicodedata.combining(one)).casefold()
    return letters, apart.casefold(), text.swapcase()


def _splice(of: list[Value], start: Value = 0, count: Value = UNDEFINED, *new: Value) -> list[Value]:
    first = index_of(start)
    first = max(len(of) + first, 0) if first < 0 else min(first, len(of))
    end = len(of) if count is UNDEFINED else first + max(index_of(count), 0)
    taken, of[first:end] = of[first:end], list(new)
    return taken


def _reduce(of: list[Value], function: Value, *start: Value) -> Value:
    if not of and not start:
        raise values.error("Reduce of empty array with no initial value")
    made, rest = (start[0], of) if start else (of[0], of[1:])
    for index, one in enumerate(rest, 0 if start else 1):
        made = call_function(function, made, one, index, of)
    return made


def _push(of: list[Value], *new: Value) -> int:
    of.extend(new)
    return len(bounded_list(of))


def _unshift(of: list[Value], *new: Value) -> int:
    of[:0] = new
    return len(of)


def _fill(of: list[Value], value: Value = UNDEFINED, start: Value = 0, end: Value = UNDEFINED) -> list[Value]:
    for index in range(*slice(index_of(start), index_of(end, len(of))).indices(len(of))):
        of[index] = value
    return of


def _find(of: list[Value], test: Value, *, backwards: bool = False) -> int:
    places = range(len(of))
    found = (n for n in (reversed(places) if backwards else places) if truthy(call_function(test, of[n], n, of)))
    return next(found, -1)


def mapped(of: list[Value], function: Value) -> list[Value]:
    """Return what a function makes of each value."""
    return [call_function(function, one, index, of) for index, one in enumerate(list(of))]


def _concat(of: list[Value], *more: Value) -> list[Value]:
    made = list(of)
    for one in more:
        made += one if isinstance(one, list) else [one]
    return bounded_list(made)


def fixed(number: float, digits: Value = 0) -> str:
    """Return ``number.toFixed(digits)``."""
    if not math.isfinite(number) or abs(number) >= 1e21:
        return values.number_text(number)
    from decimal import ROUND_HALF_UP, Decimal

    return f"{Decimal(number).quantize(Decimal(1).scaleb(-index_of(digits)), ROUND_HALF_UP):f}"


def _in_base(number: float, base: Value = 10) -> str:
    if base is UNDEFINED or index_of(base) == 10 or number != int(number):
        return values.number_text(number)
    left, digits, made = abs(int(number)), "0123456789abcdefghijklmnopqrstuvwxyz", ""
    while left:
        left, digit = divmod(left, index_of(base))
        made = digits[digit] + made
    return ("-" if number < 0 else "") + (made or "0")


def _localised(number: Value, locale: Value = UNDEFINED, options: Value = UNDEFINED) -> str:
    if locale not in (UNDEFINED, "en-US", "en") or options is not UNDEFINED:
        raise NotModelled(".toLocaleString() with a locale or options")
    return f"{round(to_number(number), 3):,}".removesuffix(".0")


_STRING: Final[Mapping[str, Callable[..., Value]]] = {
    "at": _at,
    "charAt": lambda s, n=0: s[index_of(n)] if 0 <= index_of(n) < len(s) else "",
    "charCodeAt": lambda s, n=0: ord(s[index_of(n)]) if 0 <= index_of(n) < len(s) else math.nan,
    "concat": lambda s, *more: s + "".join(map(to_text, more)),
    "endsWith": lambda s, end: s.endswith(to_text(end)),
    "includes": _includes,
    "indexOf": lambda s, what, start=0: s.find(to_text(what), max(index_of(start), 0)),
    "lastIndexOf": _last_index,
    "localeCompare": lambda s, other: sign_of(_locale_key(s), _locale_key(to_text(other))),
    "match": patterns.match,
    "matchAll": patterns.match_all,
    "normalize": lambda s, form="NFC": _normal(s, to_text(form)),
    "padEnd": lambda s, length, filler=" ": _pad(s, length, filler, at_end=True),
    "padStart": _pad,
    "repeat": _repeated,
    "replace": lambda s, what, new: patterns.replaced(s, what, new, every=False),
    "replaceAll": lambda s, what, new: patterns.replaced(s, what, new, every=True),
    "search": patterns.search,
    "slice": _slice,
    "split": _split,
    "startsWith": lambda s, start, at=0: s[index_of(at) :].startswith(to_text(start)),
    "substr": lambda s, start=0, length=UNDEFINED: s[index_of(start) :][: index_of(length, len(s))],
    "substring": _substring,
    "toLocaleLowerCase": lambda s: s.lower(),
    "toLocaleUpperCase": lambda s: s.upper(),
    "toLowerCase": lambda s: s.lower(),
    "toString": lambda s: s,
    "toUpperCase": lambda s: s.upper(),
    "trim": lambda s: s.strip(),
    "trimEnd": lambda s: s.rstrip(),
    "trimStart": lambda s: s.lstrip(),
    "valueOf": lambda s: s,
}
_ARRAY: Final[Mapping[str, Callable[..., Value]]] = {
    "at": _at,
    "concat": _concat,
    "entries": lambda a: [[n, one] for n, one in enumerate(a)],
    "every": lambda a, test: all(truthy(call_function(test, one, n, a)) for n, one in enumerate(a)),
    "fill": _fill,
    "filter": lambda a, test: [one for n, one in enumerate(list(a)) if truthy(call_function(test, one, n, a))],
    "find": lambda a, test: a[n] if (n := _find(a, test)) >= 0 else UNDEFINED,
    "findIndex": _find,
    "findLast": lambda a, test: a[n] if (n := _find(a, test, backwards=True)) >= 0 else UNDEFINED,
    "findLastIndex": lambda a, test: _find(a, test, backwards=True),
    "flat": _flat,
    "flatMap": lambda a, function: _flat(mapped(a, function)),
    "forEach": lambda a, function: mapped(a, function) and UNDEFINED,
    "includes": _includes,
    "indexOf": _find_in,
    "join": lambda a, by=UNDEFINED: ("," if by is UNDEFINED else to_text(by)).join(
        "" if one in values.NOTHING else to_text(one) for one in a
    ),
    "keys": lambda a: list(range(len(a))),
    "lastIndexOf": _last_index,
    "map": mapped,
    "pop": lambda a: a.pop() if a else UNDEFINED,
    "push": _push,
    "reduce": _reduce,
    "reduceRight": lambda a, function, *start: _reduce(a[::-1], function, *start),
    "reverse": lambda a: a.reverse() or a,
    "shift": lambda a: a.pop(0) if a else UNDEFINED,
    "slice": _slice,
    "some": lambda a, test: any(truthy(call_function(test, one, n, a)) for n, one in enumerate(a)),
    "sort": _sort,
    "splice": _splice,
    "toReversed": lambda a: a[::-1],
    "toSorted": lambda a, order=UNDEFINED: _sort(list(a), order),
    "toString": to_text,
    "unshift": _unshift,
    "values": list,
    "with": lambda a, index, value: [*a[: index_of(index)], value, *a[index_of(index) + 1 :]],
}
_COLLECTION: Final[Mapping[str, Callable[..., Value]]] = {
    "add": lambda c, value: c.put(value, value),
    "clear": lambda c: c.entries.clear() or UNDEFINED,
    "delete": lambda c, key: c.entries.pop(c.of(key), None) is not None,
    "entries": lambda c: [list(pair) for pair in c.entries.values()],
    "forEach": lambda c, function: (
        [call_function(function, v, k, c) for k, v in list(c.entries.values())] and UNDEFINED
    ),
    "get": lambda c, key: c.entries.get(c.of(key), (key, UNDEFINED))[1],
    "has": lambda c, key: c.of(key) in c.entries,
    "keys": lambda c: [key for key, _ in c.entries.values()],
    "set": lambda c, key, value: c.put(key, value),
    "values": lambda c: [value for _, value in c.entries.values()],
}
METHODS: Final[Mapping[str, Mapping[str, Callable[..., Value]]]] = {
    "string": _STRING,
    "array": _ARRAY,
    "number": {
        "toFixed": fixed,
        "toLocaleString": _localised,
        "toPrecision": lambda n, digits=UNDEFINED: to_text(n) if digits is UNDEFINED else f"{n:.{index_of(digits)}g}",
        "toString": _in_base,
        "valueOf": lambda n: n,
    },
    "boolean": {"toString": to_text, "valueOf": lambda b: b},
    "object": {
        "hasOwnProperty": lambda o, key: values.property_key(key) in o,
        "toString": to_text,
        "valueOf": lambda o: o,
    },
    "function": {
        "apply": lambda f, this=UNDEFINED, given=(): call_function(f, *given, this=this),
        "bind": lambda f, _this=UNDEFINED, *first: functools.partial(_method, f, *first) if first else f,
        "call": lambda f, this=UNDEFINED, *given: call_function(f, *given, this=this),
    },
    "map": _COLLECTION,
    "set": _COLLECTION,
    "regex": {"exec": lambda r, text: r.exec(to_text(text)), "test": lambda r, text: r.exec(to_text(text)) is not None},
}
