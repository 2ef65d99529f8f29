"""Strict JSON: what the standard calls JSON, without the parts that two readers could read differently.

Beyond RFC 8259 these are refused, because a value would be lost or invented: duplicate keys, NaN and
infinities (also by overflow: ``1e999``), numbers of more than ``limits.NUMBER_CHARS`` significant
digits, lone surrogates (raw or escaped), nesting beyond ``limits.JSON_DEPTH`` and texts beyond
``limits.BLOCK_CHARS``. A byte-order mark is not white space. Valid text is never changed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from operator import countOf
from typing import Final, NoReturn

from rails.core import limits
from rails.core.requests import Json, Repair
from rails.core.text import excerpt, line_column


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value, and what had to be repaired to read it.

    ``closed_by_us`` is whether closing brackets were added at the end of the text.
    """

    value: Json
    repairs: tuple[Repair, ...] = ()
    closed_by_us: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is not (one) JSON value: a stable code, a sentence part and a character offset."""

    code: str
    message: str
    offset: int = 0


class _Refused(ValueError):
    """Raised inside the decoder's hooks, which cannot return a fault."""

    def __init__(self, code: str, message: str, token: str) -> None:
        super().__init__(message)
        self.code, self.message, self.token = code, message, token


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refused("duplicate_key", f'the key "{twice[:80]}" occurs twice in one object', json.dumps(twice))
    return members


def _constant(name: str) -> NoReturn:
    raise _Refused("not_a_number", f"{name} is not a JSON value", name)


def real(token: str) -> float:
    """Turn a JSON number with a fraction or exponent into a float. Raises ValueError if it would not survive."""
    mantissa = token.lower().partition("e")[0].lstrip("-+").replace(".", "").lstrip("0")
    number = float(token)
    if len(mantissa) > limits.NUMBER_CHARS or not math.isfinite(number) or (mantissa and number == 0):
        raise _Refused("number", "the number cannot be held exactly enough", token)
    return number


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant, parse_float=real)
_LARGEST: Final = 10**limits.NUMBER_CHARS
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.S)


def strict(text: str) -> Parsed | Fault:
    """Read ``text`` as exactly one JSON value by the rules above."""
    if len(text) > limits.BLOCK_CHARS:
        return Fault("too_long", f"the block has {len(text)} characters; {limits.BLOCK_CHARS} are allowed")
    try:
        text.encode()
        value: Json = _DECODER.decode(text)
    except UnicodeEncodeError as error:
        return Fault("surrogate", "there is a lone surrogate, which is not a character", error.start)
    except json.JSONDecodeError as error:
        return Fault("syntax", error.msg, error.pos)
    except _Refused as error:
        return Fault(error.code, error.message, _place(text, error.token))
    except RecursionError:
        return _too_deep(text)
    except ValueError:
        return Fault("number", f"a number has more than {limits.NUMBER_CHARS} digits", _long_number(text))
    return _bounds(text, value) or Parsed(value)


def _bounds(text: str, value: Json) -> Fault | None:
    """Check what the decoder lets through: nesting, huge integers, lone surrogate escapes."""
    code = _beyond(value)
    if code == "depth":
        return _too_deep(text)
    if code == "number":
        return Fault("number", f"a number has more than {limits.NUMBER_CHARS} digits", _long_number(text))
    found = _SURROGATE_ESCAPE.search(text)
    if found and has_surrogate(value):
        return Fault("surrogate", "there is a lone surrogate escape, which is not a character", found.start())
    return None


def _beyond(value: Json, allowed: int = limits.JSON_DEPTH) -> str:
    """Return "depth" or "number" for a value beyond the bounds, else ""; ``allowed`` levels may be nested.

    Level by level, without recursion; a level that holds nothing but strings is the last, and is
    passed at the speed of C.
    """
    if type(value) is int and abs(value) >= _LARGEST:
        return "number"
    containers = [value] if isinstance(value, dict | list) else []
    depth = 0
    while containers:
        depth += 1
        if depth > allowed:
            return "depth"
        if countOf(map(type, _inside(containers)), str) == sum(map(len, containers)):
            return ""
        others = [item for item in _inside(containers) if type(item) is not str]
        if any(type(item) is int and abs(item) >= _LARGEST for item in others):
            return "number"
        containers = [item for item in others if isinstance(item, dict | list)]
    return ""


def _inside(containers: list[dict[str, Json] | list[Json]]) -> Iterator[Json]:
    return chain.from_iterable(one.values() if type(one) is dict else one for one in containers)


def too_deep(value: Json) -> bool:
    """Return whether containers are nested more than ``limits.JSON_DEPTH`` deep."""
    return _beyond(value) == "depth"


def has_surrogate(value: Json) -> bool:
    """Return whether any string or key holds a lone surrogate."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and not _encodable(item):
            return True
        if isinstance(item, dict):
            if not all(map(_encodable, item)):
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(text: str, token: str) -> int:
    """Return where ``token`` occurs last: as a key if it is quoted, else as a bare word outside strings."""
    if token.startswith('"'):
        spots = [match.start() for match in re.finditer(re.escape(token) + r"\s*:", text)]
        return spots[-1] if spots else max(text.rfind(token), 0)
    bare = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|' + re.escape(token), re.S)
    return next((match.start() for match in bare.finditer(text) if match[0] == token), 0)


def _long_number(text: str) -> int:
    found = re.search(rf"[0-9]{{{limits.NUMBER_CHARS + 1}}}", text)
    return found.start() if found else 0


def prefix(text: str, pos: int) -> tuple[Json, int] | Fault | None:
    """Read one strict value that starts at ``pos`` and return it with where it ends; None if it is not strict JSON.

    A fault means that the value is JSON but breaks one of the rules above.
    """
    try:
        text.encode()
        value, end = _DECODER.raw_decode(text, pos)
    except (json.JSONDecodeError, RecursionError, UnicodeEncodeError):
        return None
    except _Refused as error:
        return Fault(error.code, error.message, _place(text, error.token))
    except ValueError:
        return Fault("number", f"a number has more than {limits.NUMBER_CHARS} digits", _long_number(text))
    inside = text[pos:end]
    return _bounds(inside, value) or (value, end)


def inside(text: str, pos: int, allowed: int) -> tuple[Json, int] | None:
    """Read a strict container at ``pos``, of at most ``allowed`` levels, with where it ends; None if it is not one.

    For a reader that goes on by itself then: whether the text holds lone surrogates is its own question.
    """
    try:
        value, end = _DECODER.raw_decode(text, pos)
    except (ValueError, RecursionError):
        return None
    return None if _beyond(value, allowed) else (value, end)


def _too_deep(text: str) -> Fault:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += (match[0] in "{[") - (match[0] in "}]") if len(match[0]) == 1 else 0
        if depth > limits.JSON_DEPTH:
            break
    else:
        return Fault("depth", f"values are nested more than {limits.JSON_DEPTH} deep")
    return Fault("depth", f"values are nested more than {limits.JSON_DEPTH} deep", match.start())


def explain(text: str, fault: Fault) -> str:
    """Say what is wrong and where: message, line, column, the text around it, and what does not balance."""
    line, column = line_column(text, fault.offset)
    place = f"at line {line}, column {column} (character {fault.offset})"
    return f"{fault.message} {place}, near: {excerpt(text, fault.offset)}{balance(text)}"


def balance(text: str) -> str:
    """Return a sentence about brackets that do not pair up outside strings, or an empty string."""
    outside = _STRING.sub("", text)
    left = outside.find('"')
    open_string = len(text) - len(outside) + left if left >= 0 else -1
    outside = outside[:left] if left >= 0 else outside
    counts = {bracket: outside.count(bracket) for bracket in "{}[]"}
    parts = [_surplus(counts[a] - counts[b], a, b) for a, b in ("{}", "[]")]
    if open_string >= 0:
        line, column = line_column(text, open_string)
        parts.append(f"the string that starts at line {line}, column {column} is not closed")
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _surplus(count: int, opening: str, closing: str) -> str:
    if count > 0:
        return f"{count} closing {closing} missing"
    return f"{-count} closing {closing} too many (or {opening} missing)" if count < 0 else ""
