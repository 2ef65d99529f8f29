"""Strict JSON: without the parts that two readers could read differently.

Refused beyond RFC 8259, because a value would be lost or invented: duplicate keys, NaN and infinities (also by
overflow: ``1e999``), numbers of more than ``limits.NUMBER_CHARS`` significant digits, lone surrogates (raw or escaped),
nesting beyond ``limits.JSON_DEPTH``, texts beyond ``limits.BLOCK_CHARS``. A byte-order mark is not white space.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple, NoReturn

from msgspec import Struct

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.text import excerpt, line_column
from rails.core.tool_request import Json, Repair
from rails.data_formats.positions import every_value, repeated_keys


class ParsedJson(NamedTuple):
    """A value and its repairs. ``repeats_keys``: an object has a key twice; the last counts."""

    value: Json
    repairs: tuple[Repair, ...] = ()
    repeats_keys: bool = False


class JsonFault(Struct, frozen=True):
    """The reason why a text is not (one) JSON value: a stable code, a sentence part and a character offset."""

    code: str
    message: str
    offset: int = 0


class JsonRules(NamedTuple):
    """Exceptions from strictness, for files that other programs read as well.

    ``any_number``: one beyond floats is infinite, as in JavaScript, and a huge integer a float.
    """

    repeated: bool = False
    surrogates: bool = False
    any_number: bool = False
    depth: int = limits.JSON_DEPTH


STRICT: Final = JsonRules()
_NUMBER: Final = lazy(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
#: Digits from which on an integer is read as a float: Python refuses to read some thousands of them.
_INTEGER_DIGITS: Final = 300


class _Refused(ValueError):
    """Raised inside the decoder's hooks, which cannot return a fault."""

    def __init__(self, code: str, message: str, token: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.token = token


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refused("duplicate_key", f'the key "{twice[:80]}" occurs twice in one object', twice)
    return members


def _constant(name: str) -> NoReturn:
    raise _Refused("not_a_number", f"{name} is not a JSON value", name)


def real(token: str) -> float:
    """Return a JSON number as a float. Raises ValueError if it would change."""
    number = float(token)
    if len(token) <= limits.NUMBER_CHARS and number and number - number == 0:
        return number
    mantissa = token.lower().partition("e")[0].lstrip("-+").replace(".", "").lstrip("0")
    if len(mantissa) > limits.NUMBER_CHARS or not math.isfinite(number) or (mantissa and number == 0):
        raise _Refused("number", "the number cannot be held exactly enough", token)
    return number


def _whole(token: str) -> int:
    if len(token) > limits.NUMBER_CHARS and len(token.lstrip("-")) > limits.NUMBER_CHARS:
        raise _Refused("number", f"a number has more than {limits.NUMBER_CHARS} digits", token)
    return int(token)


def number_from_text(text: str) -> int | float | None:
    """Return a text's number by the rules above, or ``None``."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    try:
        return real(text) if found[1] or found[2] else _whole(text)
    except ValueError:
        return None


def _any_whole(token: str) -> int | float:
    return int(token) if len(token) < _INTEGER_DIGITS else float(token)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_constant=_constant, parse_float=real, parse_int=_whole
)


class _Members:
    """Makes objects in which the last of equal keys counts, and notes them."""

    def __init__(self) -> None:
        self.repeated = False

    def __call__(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        members = dict(pairs)
        self.repeated = self.repeated or len(members) != len(pairs)
        return members


#: Up to this length of text, counting brackets and looking for escapes tells most of what a look at the value would.
_SHORT: Final = 4_000
_SURROGATE_ESCAPE: Final = lazy(r"\\u[dD][89a-fA-F]")
_STRING_OR_BRACKET: Final = lazy(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.S)


def parse_strict(text: str) -> ParsedJson | JsonFault:
    """Read exactly one JSON value."""
    if len(text) > limits.BLOCK_CHARS:
        return JsonFault("too_long", f"the block has {len(text)} characters; {limits.BLOCK_CHARS} are allowed")
    return read_json(text)


def read_json(text: str, rules: JsonRules = STRICT) -> ParsedJson | JsonFault:
    """Read exactly one JSON value by ``rules``: any length."""
    raw = -1 if rules.surrogates else _raw_surrogate(text)
    if raw >= 0:
        return JsonFault("surrogate", "there is a lone surrogate, which is not a character", raw)
    members = _Members()
    try:
        value: Json = (_DECODER if rules == STRICT else _decoder(rules, members)).decode(text)
    except json.JSONDecodeError as error:
        return JsonFault("syntax", error.msg, error.pos)
    except _Refused as error:
        return _fault(text, error)
    except RecursionError:
        return _too_deep(text, rules.depth)
    return _bounds(text, value, rules) or ParsedJson(value, repeats_keys=members.repeated)


def _decoder(rules: JsonRules, members: _Members) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=members if rules.repeated else _members,
        parse_constant=_constant,
        parse_float=float if rules.any_number else real,
        parse_int=_any_whole if rules.any_number else _whole,
    )


def _bounds(text: str, value: Json, rules: JsonRules = STRICT) -> JsonFault | None:
    if too_deep(value, text, rules.depth):
        return _too_deep(text, rules.depth)
    if not rules.surrogates and (len(text) > _SHORT or "\\u" in text) and has_surrogate(value):
        found = _SURROGATE_ESCAPE.search(text)
        return JsonFault(
            "surrogate", "there is a lone surrogate escape, which is not a character", found.start() if found else 0
        )
    return None


def too_deep(value: Json, text: str, allowed: int = limits.JSON_DEPTH, start: int = 0, end: int = -1) -> bool:
    """Return whether ``value``, from ``text[start:end]``, has more than ``allowed`` levels. No recursion."""
    end = len(text) if end < 0 else end
    if end - start <= _SHORT and text.count("[", start, end) + text.count("{", start, end) <= allowed:
        return False
    containers = [value] if isinstance(value, dict | list) else []
    for _ in range(allowed):
        if not containers:
            return False
        containers = [item for item in _inside(containers) if type(item) is dict or type(item) is list]
    return bool(containers)


def _inside(containers: list[dict[str, Json] | list[Json]]) -> Iterator[Json]:
    return chain.from_iterable(one.values() if type(one) is dict else one for one in containers)


def has_surrogate(value: Json) -> bool:
    """Return whether a string or key of a value that is not too deep has a lone surrogate."""
    return _raw_surrogate(json.dumps(value, ensure_ascii=False)) >= 0


def _raw_surrogate(text: str) -> int:
    if text.isascii():
        return -1
    try:
        text.encode("utf-32-le")  # the quickest of the codecs that refuse surrogates
    except UnicodeEncodeError as error:
        return error.start
    return -1


def _fault(text: str, refused: _Refused, pos: int = 0) -> JsonFault:
    if refused.code == "duplicate_key":
        places = ((key.path[-1], key.start) for key in repeated_keys(text, pos))
    else:
        places = ((text[span.start : span.end], span.start) for _, span in every_value(text, pos))
    place = next((start for token, start in places if token == refused.token), pos)
    return JsonFault(refused.code, refused.message, place)


def read_prefix(text: str, pos: int) -> tuple[Json, int] | JsonFault | None:
    """Return the strict value at ``pos`` and its end; a fault if it breaks a rule above; None if it is not JSON."""
    if _raw_surrogate(text) >= 0:
        return None
    try:
        value, end = _DECODER.raw_decode(text, pos)
    except _Refused as error:
        return _fault(text, error, pos)
    except (ValueError, RecursionError):
        return None
    return _bounds(text[pos:end], value) or (value, end)


def read_container(text: str, pos: int, allowed: int) -> tuple[Json, int] | None:
    """Return the container at ``pos`` and its end, or None. Lone surrogates are not checked."""
    try:
        value, end = _DECODER.raw_decode(text, pos)
    except (ValueError, RecursionError):
        return None
    return None if too_deep(value, text, allowed, pos, end) else (value, end)


def _too_deep(text: str, allowed: int = limits.JSON_DEPTH) -> JsonFault:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += (match[0] in "{[") - (match[0] in "}]") if len(match[0]) == 1 else 0
        if depth > allowed:
            return JsonFault("depth", f"values are nested more than {allowed} deep", match.start())
    return JsonFault("depth", f"values are nested more than {allowed} deep")


#: A string, or one that is not closed up to the end of the text, so that no later mark is tried as a beginning.
_STRING: Final = lazy(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+("|\Z)', re.S)


def explain_json_fault(text: str, fault: JsonFault, first: tuple[int, int] = (1, 1), whole: str = "") -> str:
    """Return what is wrong and where: message, place, context, unbalanced brackets.

    Places are the text's, or those of the ``whole`` (" of the answer") in which it begins at ``first``.
    """
    line, column = line_column(text, fault.offset, first)
    place = f"at line {line}, column {column}{whole}"
    return f"{fault.message.removesuffix(' at')} {place}, near: {excerpt(text, fault.offset)}{balance(text, first)}"


def balance(text: str, first: tuple[int, int] = (1, 1)) -> str:
    """Return a sentence about unpaired brackets, or ""."""
    outside = _STRING.sub("", text)
    open_string = next((found.start() for found in _STRING.finditer(text) if not found[1]), -1)
    counts = {bracket: outside.count(bracket) for bracket in "{}[]"}
    parts = [_surplus(counts[a] - counts[b], a, b) for a, b in ("{}", "[]")]
    if open_string >= 0:
        line, column = line_column(text, open_string, first)
        parts.append(f"the string that starts at line {line}, column {column} is not closed")
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _surplus(count: int, opening: str, closing: str) -> str:
    if count > 0:
        return f"{count} closing {closing} missing"
    return f"{-count} closing {closing} too many (or {opening} missing)" if count < 0 else ""
