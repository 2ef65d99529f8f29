"""JavaScript's own methods and global names, as far as they are modelled.

A method is a function of the value and its arguments. Where none of a name is known, a text, number, list … has the
method of n8n's of that name (``extensions``), or the dry run says that it does not model it.
"""

from __future__ import annotations

import functools
import json
import math
import random
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rails.n8n.try_run import patterns, values
from rails.n8n.try_run.dates import DateTime, Duration, JsDate
from rails.n8n.try_run.interpreter import call_function
from rails.n8n.try_run.patterns import RegExp
from rails.n8n.try_run.values import UNDEFINED, NotModelled, OverBudget, Value, is_numeric, to_number, to_text, truthy


class Constructor:
    """A global such as ``Date``: called, made by ``new``, asked by ``instanceof``, with members of its own."""

    kind = "function"

    def __init__(
        self,
        called: Callable[..., Value] | None = None,
        construct: Callable[..., Value] | None = None,
        has_made: Callable[[Value], bool] = lambda _: False,
        **members: Value,
    ) -> None:
        self._called, self.construct, self.has_made, self.members = called, construct, has_made, members

    def __call__(self, *given: Value) -> Value:
        """Call it without ``new``."""
        if self._called is None:
            raise values.error("Class constructor cannot be invoked without 'new'")
        return call_function(self._called, *given)

    def __str__(self) -> str:
        return "function () { [native code] }"


class Collection:
    """A ``Map`` or a ``Set``: what is put in, by the identity that JavaScript gives values."""

    def __init__(self, kind: str) -> None:
        self.kind, self.entries = kind, dict[Any, tuple[Value, Value]]()

    @staticmethod
    def of(value: Value) -> Any:  # noqa: ANN401 - any hashable
        """Return what stands for a value among the entries."""
        if isinstance(value, bool) or value in values.NOTHING:
            return (type(value), value is True)
        return value if isinstance(value, str | int | float) else (id(value),)

    def property(self, key: str) -> Value:
        """Return how many entries there are."""
        return len(self.entries) if key == "size" else UNDEFINED

    def put(self, key: Value, value: Value) -> Collection:
        """Set what is under a key."""
        self.entries[self.of(key)] = (key, value)
        return self

    def __iter__(self) -> Iterator[Value]:
        for key, value in list(self.entries.values()):
            yield key if self.kind == "set" else [key, value]


def _collection(kind: str) -> Callable[[Value], Collection]:
    def make(given: Value = UNDEFINED) -> Collection:
        made = Collection(kind)
        for one in given or ():
            made.put(*(one if kind == "map" else (one, one)))
        return made

    return make


def member(of: Value, key: str) -> Value:
    """Return a property of a value: its own, or a method bound to it."""
    if isinstance(of, dict) and key in of:
        return of[key]
    if isinstance(of, list | str):
        if key == "length":
            return len(of)
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
    if method is None:
        return _unknown(of, kind, key)
    return functools.partial(_method, method, of)


def _method(method: Callable[..., Value], of: Value, *given: Value) -> Value:
    return call_function(method, of, *given)


def _unknown(of: Value, kind: str, key: str) -> Value:
    from rails.n8n.try_run import extensions

    method = extensions.METHODS.get(kind, {}).get(key) or extensions.METHODS["any"].get(key)
    if method is not None:
        return functools.partial(_method, method, of)
    if kind in {"object", "function", "boolean"} or key not in _KNOWN_ELSEWHERE:
        return UNDEFINED
    raise NotModelled(f"the method .{key}() of a value of type {kind}")


#: Methods that JavaScript, luxon or n8n have and that are not modelled: what is in no list is ``undefined``.
_KNOWN_ELSEWHERE: Final = frozenset(
    {"codePointAt", "copyWithin", "toLocaleString", "toRelative", "toRelativeCalendar", "toHTTP", "toRFC2822", "toBSON",
     "setLocale", "removeMarkdown", "replaceSpecialChars", "extractUrlPath", "toHuman", "shiftTo", "rescale",
     "normalize", "until", "toLocaleParts", "toLocaleDateString", "toLocaleTimeString", "numberList", "parseJwt"}
)  # fmt: skip


def _at(of: Value, index: Value = 0) -> Value:
    place = _index(index)
    return of[place] if -len(of) <= place < len(of) else UNDEFINED


def _index(value: Value, default: int = 0) -> int:
    if value is UNDEFINED:
        return default
    number = to_number(value)
    return 0 if math.isnan(number) else int(max(-1e9, min(1e9, number)))


def _slice(of: Value, start: Value = 0, end: Value = UNDEFINED) -> Value:
    return of[slice(_index(start), None if end is UNDEFINED else _index(end))]


def _substring(text: str, start: Value = 0, end: Value = UNDEFINED) -> str:
    first, last = (min(max(_index(one, len(text)), 0), len(text)) for one in (start, end))
    return text[min(first, last) : max(first, last)]


def _normal(text: str, form: str) -> str:
    if form not in {"NFC", "NFD", "NFKC", "NFKD"}:
        raise values.error(f"The normalization form should be one of NFC, NFD, NFKC, NFKD, not {form}", "RangeError")
    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


def _repeated(text: str, count: Value) -> str:
    if to_number(count) * len(text) > values.MOST_CHARS:
        raise OverBudget(f"texts of at most {values.MOST_CHARS:,} characters")
    return text * _index(count)


def _pad(text: str, length: Value, filler: Value = " ", *, at_end: bool = False) -> str:
    missing, piece = max(_index(length) - len(text), 0), to_text(filler)
    padding = _repeated(piece, missing // len(piece) + 1)[:missing] if piece else ""
    return text + padding if at_end else padding + text


def _split(text: str, by: Value = UNDEFINED, most: Value = UNDEFINED) -> list[str]:
    if by is UNDEFINED:
        return [text]
    parts = by.split(text) if isinstance(by, RegExp) else text.split(to_text(by)) if to_text(by) else list(text)
    return parts[: _index(most, len(parts))]


def _find_in(of: Value, what: Value) -> int:
    if isinstance(of, str):
        return of.find(to_text(what))
    return next((n for n, one in enumerate(of) if values.same(one, what)), -1)


def _includes(of: Value, what: Value, start: Value = 0) -> bool:
    if isinstance(of, str):
        return to_text(what) in of[_index(start) :]
    return _find_in(of[_index(start) :], what) >= 0 or (isinstance(what, float) and math.isnan(what) and what in of)


def _last_index(of: Value, what: Value) -> int:
    if isinstance(of, str):
        return of.rfind(to_text(what))
    return next((n for n in reversed(range(len(of))) if values.same(of[n], what)), -1)


def _flat(of: list[Value], depth: Value = 1) -> list[Value]:
    made: list[Value] = []
    for one in of:
        made += _flat(one, to_number(depth) - 1) if isinstance(one, list) and to_number(depth) >= 1 else [one]
    return _bounded(made)


def _bounded(made: list[Value]) -> list[Value]:
    if len(made) > values.MOST_CHARS // 10:
        raise OverBudget(f"lists of at most {values.MOST_CHARS // 10:,} values")
    return made


def _sort(of: list[Value], order: Value = UNDEFINED) -> list[Value]:
    if order is UNDEFINED:
        of.sort(key=lambda one: (one is UNDEFINED, to_text(one).encode("utf-16-be", "surrogatepass")))
    else:
        of.sort(key=functools.cmp_to_key(lambda a, b: _sign(to_number(call_function(order, a, b)), 0)))
    return of


def _sign(left: Any, right: Any = 0) -> int:  # noqa: ANN401 - anything with an order
    return int(left > right) - int(left < right)


def _locale_key(text: str) -> tuple[str, str, str]:
    """Return what a text is ordered by: letters without marks and case, then marks, small letters before large."""
    apart = unicodedata.normalize("NFD", text)
    letters = "".join(one for one in apart if not unicodedata.combining(one)).casefold()
    return letters, apart.casefold(), text.swapcase()


def _splice(of: list[Value], start: Value = 0, count: Value = UNDEFINED, *new: Value) -> list[Value]:
    first = _index(start)
    first = max(len(of) + first, 0) if first < 0 else min(first, len(of))
    end = len(of) if count is UNDEFINED else first + max(_index(count), 0)
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
    return len(_bounded(of))


def _unshift(of: list[Value], *new: Value) -> int:
    of[:0] = new
    return len(of)


def _fill(of: list[Value], value: Value = UNDEFINED, start: Value = 0, end: Value = UNDEFINED) -> list[Value]:
    for index in range(*slice(_index(start), _index(end, len(of))).indices(len(of))):
        of[index] = value
    return of


def _find(of: list[Value], test: Value, *, backwards: bool = False) -> int:
    places = range(len(of))
    found = (n for n in (reversed(places) if backwards else places) if truthy(call_function(test, of[n], n, of)))
    return next(found, -1)


def _each(of: list[Value], function: Value) -> list[Value]:
    return [call_function(function, one, index, of) for index, one in enumerate(list(of))]


def _concat(of: list[Value], *more: Value) -> list[Value]:
    made = list(of)
    for one in more:
        made += one if isinstance(one, list) else [one]
    return _bounded(made)


def _fixed(number: float, digits: Value = 0) -> str:
    if not math.isfinite(number) or abs(number) >= 1e21:
        return values.number_text(number)
    from decimal import ROUND_HALF_UP, Decimal

    return f"{Decimal(number).quantize(Decimal(1).scaleb(-_index(digits)), ROUND_HALF_UP):f}"


def _in_base(number: float, base: Value = 10) -> str:
    if base is UNDEFINED or _index(base) == 10 or number != int(number):
        return values.number_text(number)
    left, digits, made = abs(int(number)), "0123456789abcdefghijklmnopqrstuvwxyz", ""
    while left:
        left, digit = divmod(left, _index(base))
        made = digits[digit] + made
    return ("-" if number < 0 else "") + (made or "0")


def _localised(number: Value, locale: Value = UNDEFINED, options: Value = UNDEFINED) -> str:
    if locale not in (UNDEFINED, "en-US", "en") or options is not UNDEFINED:
        raise NotModelled(".toLocaleString() with a locale or options")
    return f"{round(to_number(number), 3):,}".removesuffix(".0")


_STRING: Final[Mapping[str, Callable[..., Value]]] = {
    "at": _at,
    "charAt": lambda s, n=0: s[_index(n)] if 0 <= _index(n) < len(s) else "",
    "charCodeAt": lambda s, n=0: ord(s[_index(n)]) if 0 <= _index(n) < len(s) else math.nan,
    "concat": lambda s, *more: s + "".join(map(to_text, more)),
    "endsWith": lambda s, end: s.endswith(to_text(end)),
    "includes": _includes,
    "indexOf": lambda s, what, start=0: s.find(to_text(what), max(_index(start), 0)),
    "lastIndexOf": _last_index,
    "localeCompare": lambda s, other: _sign(_locale_key(s), _locale_key(to_text(other))),
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
    "startsWith": lambda s, start, at=0: s[_index(at) :].startswith(to_text(start)),
    "substr": lambda s, start=0, length=UNDEFINED: s[_index(start) :][: _index(length, len(s))],
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
    "flatMap": lambda a, function: _flat(_each(a, function)),
    "forEach": lambda a, function: _each(a, function) and UNDEFINED,
    "includes": _includes,
    "indexOf": _find_in,
    "join": lambda a, by=UNDEFINED: ("," if by is UNDEFINED else to_text(by)).join(
        "" if one in values.NOTHING else to_text(one) for one in a
    ),
    "keys": lambda a: list(range(len(a))),
    "lastIndexOf": _last_index,
    "map": _each,
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
    "with": lambda a, index, value: [*a[: _index(index)], value, *a[_index(index) + 1 :]],
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
        "toFixed": _fixed,
        "toLocaleString": _localised,
        "toPrecision": lambda n, digits=UNDEFINED: to_text(n) if digits is UNDEFINED else f"{n:.{_index(digits)}g}",
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


def _assign(target: Value, *sources: Value) -> Value:
    for one in sources:
        target.update(one if isinstance(one, dict) else {})
    return target


def _pairs(of: Value) -> list[list[Value]]:
    if of in values.NOTHING:
        raise values.error("Cannot convert undefined or null to object")
    if isinstance(of, dict):
        return [[key, one] for key, one in of.items()]
    return [[str(n), one] for n, one in enumerate(of)] if isinstance(of, list | str) else []


def _parse_json(text: Value, revive: Value = UNDEFINED) -> Value:
    if revive is not UNDEFINED:
        raise NotModelled("JSON.parse with a reviver")
    try:
        return _read(json.loads(to_text(text), parse_constant=_no_constant))
    except (ValueError, RecursionError) as wrong:
        raise values.error(f"Unexpected token in JSON: {wrong}", "SyntaxError") from None


def _no_constant(name: str) -> Value:
    raise ValueError(name)


def _read(value: Value) -> Value:
    """Return what JSON holds with numbers in our form."""
    if isinstance(value, dict):
        return {key: _read(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_read(one) for one in value]
    return values.whole(value) if is_numeric(value) else value


def _stringify(value: Value, only: Value = UNDEFINED, indent: Value = UNDEFINED) -> Value:
    if only not in values.NOTHING:
        raise NotModelled("JSON.stringify with a replacer")
    return values.stringified(value, _index(indent) or None)


def _made_list(given: Value, function: Value = UNDEFINED) -> list[Value]:
    if isinstance(given, dict):
        given = _bounded([UNDEFINED] * min(_index(given.get("length", 0)), values.MOST_CHARS))
    made = list(given) if hasattr(given, "__iter__") else []
    return made if function is UNDEFINED else _each(made, function)


def _array_of(*given: Value) -> list[Value]:
    if len(given) == 1 and is_numeric(given[0]):
        return _bounded([UNDEFINED] * min(_index(given[0]), values.MOST_CHARS))
    return list(given)


def _parse_int(value: Value, base: Value = 10) -> Value:
    text, number = to_text(value).strip().lower(), _index(base, 10) or 10
    if text.startswith("0x"):
        text, number = text[2:], 16
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[:number]
    end = next((n for n, letter in enumerate(text) if letter not in digits), len(text))
    return values.whole(sign * int(text[:end], number)) if end else math.nan


def _parse_float(value: Value) -> Value:
    text = to_text(value).strip()
    found = patterns.NUMBER_START.match(text)
    return to_number(found.group()) if found else math.nan


def _error(name: str) -> Constructor:
    def make(message: Value = "", *_: Value) -> dict[str, Value]:
        return {"name": name, "message": "" if message is UNDEFINED else to_text(message)}

    return Constructor(make, make, lambda one: isinstance(one, dict) and {"name", "message"} <= one.keys())


def _rounded(number: Value) -> Value:
    value = to_number(number)
    return values.whole(math.floor(value + 0.5)) if math.isfinite(value) else value


def _math(function: Callable[..., float]) -> Callable[..., Value]:
    def run(*given: Value) -> Value:
        numbers = [to_number(one) for one in given]
        try:
            return math.nan if any(map(math.isnan, numbers)) else values.whole(function(*numbers))
        except (ValueError, OverflowError):
            return math.nan if not numbers or math.isfinite(numbers[0]) else numbers[0]

    return run


_MATH: Final[dict[str, Value]] = {
    "E": math.e,
    "PI": math.pi,
    **{name: _math(getattr(math, name)) for name in ("exp", "sin", "cos", "tan", "log2", "log10", "sqrt", "cbrt")},
    "abs": _math(abs),
    "ceil": _math(math.ceil),
    "floor": _math(math.floor),
    "log": _math(math.log),
    "hypot": _math(math.hypot),
    "max": lambda *n: _math(max)(*n) if n else -math.inf,
    "min": lambda *n: _math(min)(*n) if n else math.inf,
    "pow": _math(pow),
    "random": random.random,
    "round": _rounded,
    "sign": _math(_sign),
    "trunc": _math(math.trunc),
}


def global_names(now: Callable[[], DateTime]) -> dict[str, Value]:
    """Return JavaScript's global names, with luxon's; ``now`` is the time of the dry run."""
    dates = {
        "now": lambda: now().millis(),
        "parse": lambda text: JsDate.read(now().in_zone("UTC"), to_text(text)).millis(),
    }
    return {
        "Array": Constructor(_array_of, _array_of, lambda one: isinstance(one, list),
                             isArray=lambda one: isinstance(one, list),
                             **{"from": _made_list, "of": lambda *all_: list(all_)}),
        "Boolean": Constructor(truthy),
        "Date": Constructor(lambda: to_text(JsDate.make(now())),
                            lambda *given: JsDate.make(now().in_zone("UTC"), *given),
                            lambda one: isinstance(one, JsDate), **dates),
        "DateTime": Constructor(None, None, lambda one: isinstance(one, DateTime), **DateTime.makers(now)),
        "Duration": Constructor(None, None, lambda one: isinstance(one, Duration), fromObject=Duration.make,
                                fromMillis=lambda n: Duration.make({"milliseconds": n})),
        **{name: _error(name) for name in ("Error", "TypeError", "RangeError", "SyntaxError")},
        "Infinity": math.inf,
        "JSON": {"parse": _parse_json, "stringify": _stringify},
        "Map": Constructor(None, _collection("map"), lambda one: values.kind(one) == "map"),
        "Math": _MATH,
        "NaN": math.nan,
        "Number": Constructor(
            lambda one=0: to_number(one), None, is_numeric, parseFloat=_parse_float, parseInt=_parse_int,
            isFinite=lambda one: is_numeric(one) and math.isfinite(one), MAX_SAFE_INTEGER=2**53 - 1,
            isInteger=lambda one: is_numeric(one) and math.isfinite(one) and one == int(one),
            isNaN=lambda one: isinstance(one, float) and math.isnan(one)),
        "Object": Constructor(
            lambda one: one, lambda: {}, lambda one: isinstance(one, dict), assign=_assign, entries=_pairs,
            freeze=lambda one: one, fromEntries=lambda pairs: {values.property_key(p[0]): p[1] for p in pairs},
            keys=lambda one: [pair[0] for pair in _pairs(one)], values=lambda one: [pair[1] for pair in _pairs(one)]),
        "Promise": Constructor(None, None, all=list, resolve=lambda one=UNDEFINED: one),
        "RegExp": Constructor(RegExp, RegExp, lambda one: isinstance(one, RegExp)),
        "Set": Constructor(None, _collection("set"), lambda one: values.kind(one) == "set"),
        "String": Constructor(lambda one="": to_text(one), None, fromCharCode=lambda *n: "".join(map(chr, n))),
        "console": dict.fromkeys(("log", "warn", "error", "info", "debug"), lambda *_: UNDEFINED),
        "decodeURIComponent": lambda one: urllib.parse.unquote(to_text(one)),
        "encodeURI": lambda one: urllib.parse.quote(to_text(one), safe="-_.!~*'();/?:@&=+$,#"),
        "encodeURIComponent": lambda one: urllib.parse.quote(to_text(one), safe="-_.!~*'()"),
        "isFinite": lambda one: math.isfinite(to_number(one)),
        "isNaN": lambda one: math.isnan(to_number(one)),
        "parseFloat": _parse_float,
        "parseInt": _parse_int,
        "structuredClone": lambda one: _read(json.loads(values.stringified(one))),
    }  # fmt: skip
