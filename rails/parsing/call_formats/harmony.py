"""Harmony (gpt-oss): ``<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.form import NAME, Cursor, FormCall, bare_name, object_of

_OPENING: Final = lazy(
    rf"\s*(?:<\|start\|>\w*)?\s*(?:<\|channel\|>\s*\w*)?\s*to={NAME}\s*(?:<\|channel\|>\s*\w+)?\s*"
    r"(?:(?:<\|constrain\|>)?\s*json)?\s*<\|message\|>\s*"
)
_END: Final = lazy(r"\s*(?:<\|(?:call|end|return)\|>\s*)?\Z")


def read(text: str) -> Sequence[FormCall]:
    """Return the call of a message on a channel to a function."""
    cursor = Cursor(text)
    name = cursor.take(_OPENING, "a channel to a function, and <|message|>")[1]
    start = cursor.pos
    value, repairs = cursor.json(_END)
    cursor.take(_END, "<|call|>")
    return [FormCall(bare_name(name), object_of(value, start), repairs)]
