"""Cohere and Granite: a JSON list of calls between tokens, such as ``<|START_ACTION|>[…]<|END_ACTION|>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.parsing.call_formats.reader import Cursor, FormCall, json_calls

_OPENING: Final = re.compile(r"(?:<\|START_ACTION\|>|<\|tool_calls?\|?>)\s*", re.IGNORECASE)
_CLOSING: Final = re.compile(
    r"(?:(?:<\|END_ACTION\|>|<\|/tool_calls?\|>|</tool_calls?\|>|<tool_calls?\|>|</?\|(?:end|end_of_text)\|>)\s*+)?\Z",
    re.IGNORECASE,
)


def read(text: str) -> Sequence[FormCall]:
    """Return the list's calls."""
    cursor = Cursor(text)
    cursor.take(_OPENING, "<|START_ACTION|>")
    value, repairs = cursor.json(_CLOSING)
    start = cursor.pos
    cursor.take(_CLOSING, "<|END_ACTION|>")
    return [*json_calls(value, start, repairs)]
