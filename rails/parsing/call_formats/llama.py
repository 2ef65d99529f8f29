"""Llama: JSON or Python behind ``<|python_tag|>``, or as the whole answer; ``<function=name>{…}</function>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.parsing.call_formats import pythonic, qwen
from rails.parsing.call_formats.reader import SPACE, Cursor, FormCall, json_calls

_OPENING: Final = re.compile(r"\s*<\|python_tag\|>\s*")
_CLOSING: Final = re.compile(r"<\|(?:eom_id|eot_id|end_of_text)\|>\s*\Z")
_BETWEEN: Final = re.compile(r";\s*")
_BARE: Final = re.compile(r"\s*(?:\{\s*\"(?:name|type|function)\"|\[\s*(?:\{\s*\"(?:name|type)\"|[A-Za-z_]\w*\())")


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a text."""
    if text.lstrip().startswith("<function="):
        return qwen.read(text)
    inner = _CLOSING.sub("", text[found.end() :] if (found := _OPENING.match(text)) else text)
    if inner.lstrip()[:1] != "{" and not inner.lstrip().startswith("[{"):
        return pythonic.read(inner)
    cursor, calls = Cursor(inner), list[FormCall]()
    while not calls or cursor.skip(_BETWEEN):
        start = cursor.pos
        value, repairs = cursor.json(re.compile(r"\Z"))
        calls += json_calls(value, start, repairs)
    cursor.skip(SPACE)
    cursor.take(re.compile(r"\Z"), "the end of the calls")
    return calls


def is_bare(text: str) -> bool:
    """Return whether a whole answer looks like calls."""
    return _BARE.match(text) is not None
