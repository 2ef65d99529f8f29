"""Strict JSON: without the parts that two readers could read differently.

Refused beyond RFC 8259, because a value would be lost or invented: duplicate keys, NaN and infinities (also by
overflow: ``1e999``), numbers of more than ``limits.NUMBER_CHARS`` significant digits, lone surrogates (raw or escaped),
nesting beyond ``limits.JSON_DEPTH``, texts beyond ``limits.BLOCK_CHARS``. A byte-order mark is not white space.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
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
#: Digits from which on an integer is read as a float: Python refuses to read some thousands of them.
_INTEGER_DIGITS: Final = 300


class _Refused(ValueError):
    """Raised inside the decoder's hooks, which cannot return a fault."""

    def __init__(self, code: str, message: str, token: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.token = token


class _Members:
    """Makes objects; of equal keys the last counts, where they are ``allowed``."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed = allowed
        self.repeated = False

    def __call__(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        members = dict(pairs)
        if len(members) != len(pairs):
            self.repeated = True
            if not self.allowed:
                raise _Refused("duplicate_key", "a key occurs twice in one object", "")
        return members


def _constant(name: str) -> NoReturn:
    raise _Refused("not_a_number", f"{name} is not a JSON value", name)


def real(token: str) -> float:
    """Return a JSON number as a float. Raises ValueError if it would change."""
    number = float(token)
    mantissa = re.sub(r"[eE].*|[-.]", "", token).lstrip("0")
    if len(mantissa) > limits.NUMBER_CHARS or not math.isfinite(number) or (mantissa and number == 0):
        raise _Refused("number", "the number cannot be held exactly enough", token)
    return number


def _whole(token: str) -> int:
    if len(token.lstrip("-")) > limits.NUMBER_CHARS:
        raise _Refused("number", f"a number has more than {limits.NUMBER_CHARS} digits", token)
    return int(token)


def _any_whole(token: str) -> int | float:
    return int(token) if len(token) < _INTEGER_DIGITS else float(token)


_SURROGATE_ESCAPE: Final = lazy(r"\\u[dD][89a-fA-F]")
#: A bracket, or a string; one that is not closed goes up to the end of the text.
_STRING_OR_BRACKET: Final = lazy(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+("|\Z)|[{}\[\]]', re.S)


def parse_strict(text: str) -> ParsedJson | JsonFault:
    """Read exactly one JSON value."""
    if len(text) > limits.BLOCK_CHARS:
        return JsonFault("too_long", f"the block has {len(text)} characters; {limits.BLOCK_CHARS} are allowed")
    return read_json(text)


def number_from_text(text: str) -> int | float | None:
    """Return a text's number by the rules above, or ``None``."""
    value = getattr(parse_strict(text), "value", None)
    return value if type(value) in (int, float) and text[-1:].isdigit() and not text[:1].isspace() else None


def read_json(text: str, rules: JsonRules = STRICT) -> ParsedJson | JsonFault:
    """Read exactly one JSON value by ``rules``: any length."""
    raw = -1 if rules.surrogates else _raw_surrogate(text)
    if raw >= 0:
        return JsonFault("surrogate", "there is a lone surrogate, which is not a character", raw)
    members = _Members(allowed=rules.repeated)
    try:
        value: Json = _decoder(rules, members).decode(text)
    except json.JSONDecodeError as error:
        return JsonFault("syntax", error.msg, error.pos)
    except _Refused as error:
        return _fault(text, error)
    except RecursionError:
        return _too_deep(text, rules.depth)
    return _bounds(text, value, rules) or ParsedJson(value, repeats_keys=members.repeated)


def _decoder(rules: JsonRules, members: _Members) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=members,
        parse_constant=_constant,
        parse_float=float if rules.any_number else real,
        parse_int=_any_whole if rules.any_number else _whole,
    )


_DECODER: Final = _decoder(STRICT, _Members(allowed=False))


def _bounds(text: str, value: Json, rules: JsonRules = STRICT) -> JsonFault | None:
    if too_deep(value, rules.depth):
        return _too_deep(text, rules.depth)
    if not rules.surrogates and "\\u" in text and has_surrogate(value):
        place = _SURROGATE_ESCAPE.search(text).start()  # type: ignore[union-attr] # nothing else makes one
        return JsonFault("surrogate", "there is a lone surrogate escape, which is not a character", place)
    return None


def too_deep(value: Json, allowed: int = limits.JSON_DEPTH) -> bool:
    """Return whether ``value`` has more than ``allowed`` levels. No recursion."""
    level = [value]
    while containers := [one for one in level if isinstance(one, dict | list)]:
        if allowed == 0:
            return True
        allowed -= 1
        level = [*chain.from_iterable(one.values() if isinstance(one, dict) else one for one in containers)]
    return False


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
        key = next(repeated_keys(text, pos))
        return JsonFault(refused.code, f'the key "{key.path[-1]!s:.80}" occurs twice in one object', key.start)
    spans = (span for _, span in every_value(text, pos))
    place = next((span.start for span in spans if text[span.start : span.end] == refused.token), pos)
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
    return None if too_deep(value, allowed) else (value, end)


def _too_deep(text: str, allowed: int = limits.JSON_DEPTH) -> JsonFault:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += (match[0] in "{[") - (match[0] in "}]")
        if depth > allowed:
            return JsonFault("depth", f"values are nested more than {allowed} deep", match.start())
    return JsonFault("depth", f"values are nested more than {allowed} deep")


def explain_json_fault(text: str, fault: JsonFault, first: tuple[int, int] = (1, 1), whole: str = "") -> str:
    """Return what is wrong and where: message, place, context, unbalanced brackets.

    Places are the text's, or those of the ``whole`` (" of the answer") in which it begins at ``first``.
    """
    line, column = line_column(text, fault.offset, first)
    place = f"at line {line}, column {column}{whole}"
    return f"{fault.message.removesuffix(' at')} {place}, near: {excerpt(text, fault.offset)}{balance(text, first)}"


def balance(text: str, first: tuple[int, int] = (1, 1)) -> str:
    """Return a sentence about unpaired brackets, or ""."""
    counts = Counter[str]()
    opened = -1
    for match in _STRING_OR_BRACKET.finditer(text):
        counts[match[0][0]] += 1
        opened = match.start() if match[1] == "" else opened
    parts = []
    for opening, closing in ("{}", "[]"):
        surplus = counts[opening] - counts[closing]
        if surplus > 0:
            parts.append(f"{surplus} closing {closing} missing")
        elif surplus:
            parts.append(f"{-surplus} closing {closing} too many (or {opening} missing)")
    if opened >= 0:
        line, column = line_column(text, opened, first)
        parts.append(f"the string that starts at line {line}, column {column} is not closed")
    return f" ({'; '.join(parts)})" if parts else ""
