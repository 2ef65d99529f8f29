"""The methods that n8n adds to values in expressions, as far as they are modelled, and its own functions."""

from __future__ import annotations

import base64
import hashlib
import math
import random
import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.builtins import parse_float, parse_int, read_json_text
from rails.n8n.try_run.dates import DateTime
from rails.n8n.try_run.durations import ZONE, zone
from rails.n8n.try_run.js_date import JsDate
from rails.n8n.try_run.methods import fixed
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Value, equal, is_numeric, to_number, to_text

_CURRENCY: Final = re.compile(r"[\u20ac\u00a3\u00a5\u20b9$]")
_MAIL: Final = re.compile(r"[^<>()\[\]\\.,;:\s@\"]+(?:\.[^<>()\[\]\\.,;:\s@\"]+)*@((?:[a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,})")
_SMALL: Final = re.compile(r"(?i)\b(?:an?d?|a[st]|because|but|by|en|for|i[fn]|neither|nor|o[fnr]|only|over|per|so|some|"
                           r"tha[tn]|the|to|up|upon|vs?\.?|versus|via|when|with|without|yet)\b")  # fmt: skip
_URL: Final = re.compile(r"(?:https?|ftp|file)://[^\s\"'<>)\]]+")
_DOMAIN: Final = re.compile(r"(?:https?://)?((?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,})(?:[:/?#].*)?")
_PUNCTUATION: Final = re.compile(r"[\u2000-\u206f\u2e00-\u2e7f\\'!\"#$%&()*+,./:;<=>?@\[\]^`{|}~]")


def absent(name: str, value: Value) -> Value:
    """Return what one of n8n's methods gives on ``null`` or ``undefined``. Raises NodeFault where n8n does."""
    if name in {"isEmpty", "isNotEmpty"}:
        return name == "isEmpty"
    if any(name in methods for methods in METHODS.values()) and name not in {"keys", "values"}:
        raise NodeFault(f"{name}() can't be used on {to_text(value)} value")
    raise values.error(f"Cannot read properties of {to_text(value)} (reading '{name}')")


def _numbers(of: list[Value], name: str) -> list[int | float]:
    if not all(map(is_numeric, of)):
        raise NodeFault(f"{name}(): all array elements must be numbers")
    return of


def _number(text: str, read: Callable[[str], Value], what: str) -> Value:
    number = read(_CURRENCY.sub("", text))
    if isinstance(number, float) and math.isnan(number):
        raise NodeFault(f"cannot convert to {what}")
    return number


def _float(text: str) -> Value:
    if "," in text:
        raise NodeFault("cannot convert to float, expected . as decimal separator")
    return _number(text, parse_float, "float")


def _unique(of: list[Value], *keys: Value) -> list[Value]:
    made: list[Value] = []
    seen: list[Value] = []
    for one in of:
        key = {k: one.get(k, UNDEFINED) for k in keys} if keys and isinstance(one, dict) else one
        if not any(equal(key, other) for other in seen):
            seen.append(key)
            made.append(one)
    return made


def _has(of: list[Value], value: Value) -> bool:
    return any(equal(one, value) for one in of)


def _compact(of: Value) -> Value:
    def kept(one: Value) -> bool:
        return is_numeric(one) or one not in (None, UNDEFINED, "nil", "", {}, [])

    if isinstance(of, list):
        return [_compact(one) if isinstance(one, dict) else one for one in of if kept(one)]
    return {key: _compact(one) if isinstance(one, dict) else one for key, one in of.items() if kept(one)}


def _holds(value: Value, text: Value) -> bool:
    return isinstance(value, str) and to_text(text) in value


def _chunks(of: list[Value], size: Value) -> list[Value]:
    if not is_numeric(size) or size < 1:
        raise NodeFault("chunk(): expected non-zero numeric arg, e.g. .chunk(5)")
    return [of[start : start + int(size)] for start in range(0, len(of), int(size))]


def _pluck(of: list[Value], *fields: Value) -> list[Value]:
    rows = [[one[key] for key in one if key in fields] for one in of if isinstance(one, dict)]
    return [row[0] if len(row) == 1 else row for row in rows if row] if fields else of


def _joined(of: list[Value], key: Value, value: Value) -> dict[str, Value]:
    return {to_text(one[key]): one[value] for one in of if isinstance(one, dict) and key in one and value in one}


def _renamed(of: list[Value], *names: Value) -> list[Value]:
    new = dict(zip(names[::2], names[1::2], strict=False))
    return [{new.get(key, key): value for key, value in one.items()} if isinstance(one, dict) else one for one in of]


def _merged(of: list[Value], others: list[Value]) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for index in range(max(len(of), len(others))):
        for side in (others, of):
            if index < len(side) and isinstance(side[index], dict):
                made.update(side[index])
    return made


def _sentence(text: str) -> str:
    return re.sub(r"([^.!?]*?)([a-zA-Z])([^.!?]*)", lambda one: one[1] + one[2].upper() + one[3].lower(), text)


def _date(text: str, form: Value = UNDEFINED) -> Value:
    if form in {"ms", "s"}:
        return _from_number(to_number(text), form)
    tz = zone(ZONE.get())
    if form is not UNDEFINED and form != "":
        return DateTime.parse(text, to_text(form), tz)
    found = DateTime.read(text, tz, keep=True)
    if found.at is None:
        found = JsDate.read(DateTime.of_millis(0, tz), text).date
    if found.at is None:
        raise NodeFault("cannot convert to Luxon DateTime")
    return found


def _from_number(number: float, form: Value = "ms") -> DateTime:
    factor = {"ms": 1, "s": 1000, "us": 0.001}.get(to_text(form))
    if factor is None:
        raise NotModelled(f".toDateTime({to_text(form)!r})")
    return DateTime.of_millis(number * factor, zone(ZONE.get()))


def _hash(text: str, algorithm: Value = "md5") -> str:
    name = to_text(algorithm).lower()
    if name == "base64":
        return base64.b64encode(text.encode()).decode()
    if name not in {"md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3"}:
        raise NodeFault(f"Unknown algorithm {name}.")
    return hashlib.new("sha3_512" if name == "sha3" else name, text.encode(), usedforsecurity=False).hexdigest()


def _mail(text: str) -> bool:
    return bool(_MAIL.fullmatch(text))


def _title(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        word, ends = found.group(), found.start() == 0 or found.end() == len(text)
        if re.search(r".[A-Z]|.\..", word) or (_SMALL.search(word) and not ends):
            return word
        return re.sub(r"[A-Za-z0-9\u00c0-\u00ff]", lambda letter: letter.group().upper(), word, count=1)

    return re.sub(r"[^\s:\u2013\u2014-]+", one, text)


def _domain(text: str) -> Value:
    found = _MAIL.fullmatch(text) or _DOMAIN.fullmatch(text)
    return found[1] if found else UNDEFINED


def _first(pattern: re.Pattern[str]) -> Callable[[str], Value]:
    def find(text: str) -> Value:
        found = pattern.search(text)
        return found.group() if found else UNDEFINED

    return find


def _empty(value: Value) -> bool:
    return value in ("", [], {}) and not is_numeric(value) and not isinstance(value, bool)


def _integer(number: float) -> bool:
    return isinstance(number, int) or number == int(number)


METHODS: Final[Mapping[str, Mapping[str, Callable[..., Value]]]] = {
    "string": {
        "base64Decode": lambda s: base64.b64decode(s + "=" * (-len(s) % 4)).decode(errors="replace"),
        "base64Encode": lambda s: base64.b64encode(s.encode()).decode(),
        "extractDomain": _domain,
        "extractEmail": _first(_MAIL),
        "extractUrl": _first(_URL),
        "hash": _hash,
        "isDomain": lambda s: bool(re.fullmatch(r"(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}", s)),
        "isEmail": _mail,
        "isNumeric": lambda s: " " not in s and s != "" and not math.isnan(to_number(s)),
        "isUrl": lambda s: bool(_URL.fullmatch(s)),
        "parseJson": read_json_text,
        "quote": lambda s, mark='"': f"{mark}{s.replace(chr(92), chr(92) * 2).replace(mark, chr(92) + mark)}{mark}",
        "removeTags": lambda s: re.sub(r"<[^>]*>?", "", s),
        "toBoolean": lambda s: s.lower() not in {"", "false", "no", "0"},
        "toDateTime": _date,
        "toFloat": _float,
        "toTitleCase": _title,
        "toInt": lambda s, base=10: _number(s, lambda one: parse_int(one, base), "integer"),
        "toNumber": lambda s: _number(s, to_number, "number"),
        "toSentenceCase": _sentence,
        "toSnakeCase": lambda s: _PUNCTUATION.sub("", re.sub(r"[ \-]", "_", s.lower())),
        "urlDecode": lambda s, _whole=False: urllib.parse.unquote(s),
        "urlEncode": lambda s, whole=False: urllib.parse.quote(s, safe=f"-_.!~*'(){';/?:@&=+$,#' * (whole is True)}"),
    },
    "array": {
        "append": lambda a, *more: [*a, *more],
        "average": lambda a: values.whole(sum(_numbers(a, "average")) / len(a)) if a else 0,
        "chunk": _chunks,
        "compact": _compact,
        "difference": lambda a, other: _unique([one for one in a if not _has(other, one)]),
        "first": lambda a: a[0] if a else UNDEFINED,
        "intersection": lambda a, other: _unique([one for one in [*a, *other] if _has(a, one) and _has(other, one)]),
        "last": lambda a: a[-1] if a else UNDEFINED,
        "max": lambda a: max(_numbers(a, "max"), default=-math.inf),
        "merge": _merged,
        "min": lambda a: min(_numbers(a, "min"), default=math.inf),
        "pluck": _pluck,
        "randomItem": lambda a: random.choice(a) if a else UNDEFINED,  # noqa: S311 - no secret is made of it
        "removeDuplicates": _unique,
        "renameKeys": _renamed,
        "smartJoin": _joined,
        "sum": lambda a: values.whole(sum(_numbers(a, "sum"))),
        "union": lambda a, other: _unique([*a, *other]),
        "unique": _unique,
    },
    "number": {
        "abs": abs,
        "ceil": math.ceil,
        "floor": math.floor,
        "format": lambda n, locale=UNDEFINED: _formatted(n, locale),
        "isEven": lambda n: n % 2 == 0,
        "isInteger": _integer,
        "isOdd": lambda n: n % 2 == 1,
        "round": lambda n, digits=0: to_number(fixed(n, digits)),
        "toBoolean": lambda n: n != 0,
        "toDateTime": _from_number,
        "toFloat": lambda n: n,
        "toInt": lambda n: to_number(fixed(n)),
        "toNumber": lambda n: n,
    },
    "boolean": {"toInt": int, "toFloat": int, "toNumber": int, "toBoolean": lambda b: b},
    "object": {
        "compact": _compact,
        "hasField": lambda o, name: name in o,
        "isEmpty": lambda o: not o,
        "isNotEmpty": bool,
        "keepFieldsContaining": lambda o, text: {k: v for k, v in o.items() if _holds(v, text)},
        "keys": list,
        "removeField": lambda o, name: {k: v for k, v in o.items() if k != name},
        "removeFieldsContaining": lambda o, text: {k: v for k, v in o.items() if not _holds(v, text)},
        "urlEncode": lambda o: urllib.parse.urlencode({k: to_text(v) for k, v in o.items()}),
        "values": lambda o: list(o.values()),
    },
    "any": {
        "isEmpty": _empty,
        "isNotEmpty": lambda value: not _empty(value),
        "toJsonString": values.stringified,
    },
}  # fmt: skip


def _formatted(number: float, locale: Value) -> str:
    if locale not in (UNDEFINED, "en-US"):
        raise NotModelled(".format() of a number with a locale")
    return f"{round(number, 3):,}".removesuffix(".0")


def _if_empty(value: Value, otherwise: Value) -> Value:
    return otherwise if value in values.NOTHING or _empty(value) else value


def _number_list(start: Value, end: Value) -> list[Value]:
    first, last = int(to_number(start)), int(to_number(end))
    if abs(last - first) > 100_000:
        raise NotModelled("numberList() of more than 100,000 numbers")
    return list(range(first, last + 1)) if first < last else list(range(first, last - 1, -1))


def _average(*numbers: Value) -> Value:
    return values.whole(sum(map(to_number, numbers)) / len(numbers)) if numbers else 0


_PLAIN_FUNCTIONS: Final[Mapping[str, Value]] = {
    "average": _average,
    "max": lambda *n: max(map(to_number, n)),
    "min": lambda *n: min(map(to_number, n)),
    "not": lambda value: not values.truthy(value),
}
#: n8n's own functions.
FUNCTIONS: Final[Mapping[str, Value]] = {
    **_PLAIN_FUNCTIONS,
    **{f"${name}": function for name, function in _PLAIN_FUNCTIONS.items()},
    "$if": lambda test, yes=UNDEFINED, no=UNDEFINED: yes if values.truthy(test) else no,
    "$ifEmpty": _if_empty,
    "numberList": _number_list,
    "zip": lambda keys, held: {to_text(key): one for key, one in zip(keys, held, strict=True)},
}
