r"""Named, syntax-only repairs: read what has one reading, refuse the rest with its place.

Each is recorded as a ``Repair``. No string, number or key changes, only what is between them, and their quotes:

    A  between tokens   comments, odd white space, literal \n, doubled, trailing and missing commas, bare keys,
                        Python literals, quote style, extra closers, text before and after
    B  inside strings   raw control characters; an unknown escape keeps its backslash
    C  closers          missing } and ] at the end, when the caller knows that nothing was cut off
    D  whole block      escaped once more, as entities or as one JSON string

Refused: elisions, placeholders, expressions, joined strings, unknown escapes mixed with meaningful ones (Windows
paths), unclosed strings, a second value for a key.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Final

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Repair
from rails.data_formats.entities import entities
from rails.data_formats.strict_json import JsonFault, ParsedJson, has_surrogate, parse_strict
from rails.parsing.lenient_json import KnownNames, LenientReader
from rails.parsing.lenient_tokens import CONFIDENCE, Stop

#: One character of a text, as it is written in JSON.
_CHARACTER: Final = lazy(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\?.", re.S)
#: The same of a text whose marks are entities.
_ENTITY_OR_CHARACTER: Final = lazy(r"&#?\w{2,8};|.", re.S)
_ESCAPED_BLOCK: Final = lazy(r"(?:\\[nrt]|\s)*+[{\[](?:\\[nrt]|\s|[{\[])*+\\\"")
_ENTITY_BLOCK: Final = lazy(r"[\s\ufeff]*[{\[][\s{\[]*&(?:quot|#34|#[xX]22);")
#: What shows that not all marks of a text were made entities.
_NO_ENTITY: Final = lazy(r"[\"<]|&(?!(?:lt|gt|quot|apos|amp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")


def repair(
    text: str, *, known: KnownNames = frozenset, closers: bool = False, doubts: bool = False
) -> ParsedJson | JsonFault:
    """Read ``text`` as one value, repairing syntax where there is one reading.

    ``known`` returns the property names that a missing comma may precede on one line. ``closers``: tier C; nothing was
    cut off. ``doubts``: strings with ambiguous backslashes become ``DoubtfulText``, not faults.
    """
    if len(text) > limits.BLOCK_CHARS:
        return JsonFault("too_long", f"the block has {len(text)} characters; {limits.BLOCK_CHARS} are allowed")
    try:
        outer = _escaped_once_more(text)
        if outer is not None:
            return _inside(outer, text, known, doubts)
        return _checked(LenientReader(text, known, closers, doubts).read(), text)
    except Stop as stop:
        return stop.fault


def _checked(parsed: ParsedJson, text: str) -> ParsedJson | JsonFault:
    if (not text.isascii() or "\\" in text) and has_surrogate(parsed.value):
        return JsonFault("surrogate", "there is a lone surrogate, which is not a character")
    if "\\\\" in text and {"literal_newline", "quote_style"} <= {note.name for note in parsed.repairs}:
        return JsonFault("mixed_escaping", "the line endings of the block are escaped as in a string", text.index("\\"))
    return parsed


def _escaped_once_more(text: str) -> str | None:
    body = text.strip(" \t\n\r\ufeff")
    if _ENTITY_BLOCK.match(body):
        if _NO_ENTITY.search(body):
            raise Stop("mixed_escaping", "some marks of the block are entities and some are not", text.find("&"))
        return entities(body)
    if _ESCAPED_BLOCK.match(body):
        if re.search(r'(?<!\\)(?:\\\\)*"', body):
            raise Stop("mixed_escaping", "some quotes of the block are escaped and some are not", text.find('"'))
        try:
            inner: str = json.JSONDecoder(strict=False).decode(f'"{body}"')
        except ValueError as error:
            raise Stop("mixed_escaping", f"the escaped block cannot be unescaped ({error})", 0) from error
        return inner
    outer = parse_strict(body) if body[:1] == '"' else None
    inner_text = outer.value if isinstance(outer, ParsedJson) else None
    return inner_text if isinstance(inner_text, str) and inner_text.lstrip()[:1] in ("{", "[") else None


def _inside(inner: str, text: str, known: KnownNames, doubts: bool) -> ParsedJson | JsonFault:
    note = Repair("double_encoded", 0, "escaped block", "block", CONFIDENCE["double_encoded"])
    parsed = parse_strict(inner)
    if isinstance(parsed, JsonFault):
        try:
            parsed = _checked(LenientReader(inner, known, closers=False, doubts=doubts).read(), inner)
        except Stop as stop:
            begin = re.compile(r'[\s\ufeff]*"?').match(text).end()  # type: ignore[union-attr]
            units = _ENTITY_OR_CHARACTER if _ENTITY_BLOCK.match(text) else _CHARACTER
            before = list(islice(units.finditer(text, begin), stop.fault.offset))
            return JsonFault(stop.fault.code, stop.fault.message, before[-1].end() if before else begin)
    return parsed if isinstance(parsed, JsonFault) else parsed._replace(repairs=(note, *parsed.repairs))
