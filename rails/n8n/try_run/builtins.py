"""JavaScript's global names, as far as they are modelled: Math, JSON, Object, Date, luxon's DateTime and others."""

from __future__ import annotations

import json
import math
import random
import urllib.parse
from collections.abc import Callable
from typing import Final

from rails.n8n.try_run import patterns, values
from rails.n8n.try_run.dates import DateTime
from rails.n8n.try_run.durations import Duration
from rails.n8n.try_run.js_date import JsDate
from rails.n8n.try_run.methods import bounded_list, index_of, mapped, sign_of
from rails.n8n.try_run.objects import Constructor, collection_maker
from rails.n8n.try_run.patterns import RegExp
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, is_numeric, to_number, to_text, truthy


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


def read_json_text(text: Value, revive: Value = UNDEFINED) -> Value:
    """Return ``JSON.parse(text)``. Raises Thrown."""
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
    return values.stringified(value, index_of(indent) or None)


def _made_list(given: Value, function: Value = UNDEFINED) -> list[Value]:
    if isinstance(given, dict):
        given = bounded_list([UNDEFINED] * min(index_of(given.get("length", 0)), values.MOST_CHARS))
    made = list(given) if hasattr(given, "__iter__") else []
    return made if function is UNDEFINED else mapped(made, function)


def _array_of(*given: Value) -> list[Value]:
    if len(given) == 1 and is_numeric(given[0]):
        return bounded_list([UNDEFINED] * min(index_of(given[0]), values.MOST_CHARS))
    return list(given)


def parse_int(value: Value, base: Value = 10) -> Value:
    """Return ``parseInt(value, base)``."""
    text, number = to_text(value).strip().lower(), index_of(base, 10) or 10
    if text.startswith("0x"):
        text, number = text[2:], 16
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[:number]
    end = next((n for n, letter in enumerate(text) if letter not in digits), len(text))
    return values.whole(sign * int(text[:end], number)) if end else math.nan


def parse_float(value: Value) -> Value:
    """Return ``parseFloat(value)``."""
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
    "max": lambda *n: _math(lambda *of: max(of))(*n) if n else -math.inf,
    "min": lambda *n: _math(lambda *of: min(of))(*n) if n else math.inf,
    "pow": _math(pow),
    "random": random.random,
    "round": _rounded,
    "sign": _math(sign_of),
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
        "JSON": {"parse": read_json_text, "stringify": _stringify},
        "Map": Constructor(None, collection_maker("map"), lambda one: values.kind(one) == "map"),
        "Math": _MATH,
        "NaN": math.nan,
        "Number": Constructor(
            lambda one=0: to_number(one), None, is_numeric, parseFloat=parse_float, parseInt=parse_int,
            isFinite=lambda one: is_numeric(one) and math.isfinite(one), MAX_SAFE_INTEGER=2**53 - 1,
            isInteger=lambda one: is_numeric(one) and math.isfinite(one) and one == int(one),
            isNaN=lambda one: isinstance(one, float) and math.isnan(one)),
        "Object": Constructor(
            lambda one: one, lambda: {}, lambda one: isinstance(one, dict), assign=_assign, entries=_pairs,
            freeze=lambda one: one, fromEntries=lambda pairs: {values.property_key(p[0]): p[1] for p in pairs},
            keys=lambda one: [pair[0] for pair in _pairs(one)], values=lambda one: [pair[1] for pair in _pairs(one)]),
        "Promise": Constructor(None, None, all=list, resolve=lambda one=UNDEFINED: one),
        "RegExp": Constructor(RegExp, RegExp, lambda one: isinstance(one, RegExp)),
        "Set": Constructor(None, collection_maker("set"), lambda one: values.kind(one) == "set"),
        "String": Constructor(lambda one="": to_text(one), None, fromCharCode=lambda *n: "".join(map(chr, n))),
        "console": dict.fromkeys(("log", "warn", "error", "info", "debug"), lambda *_: UNDEFINED),
        "decodeURIComponent": lambda one: urllib.parse.unquote(to_text(one)),
        "encodeURI": lambda one: urllib.parse.quote(to_text(one), safe="-_.!~*'();/?:@&=+$,#"),
        "encodeURIComponent": lambda one: urllib.parse.quote(to_text(one), safe="-_.!~*'()"),
        "isFinite": lambda one: math.isfinite(to_number(one)),
        "isNaN": lambda one: math.isnan(to_number(one)),
        "parseFloat": parse_float,
        "parseInt": parse_int,
        "structuredClone": lambda one: _read(json.loads(values.stringified(one))),
    }  # fmt: skip
