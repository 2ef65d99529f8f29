"""GLM: ``<tool_call>name <arg_key>k</arg_key> <arg_value>v</arg_value> … </tool_call>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.reader import NAME, SPACE, Cursor, FormCall, tagged_values

_OPENING: Final = lazy(rf"<tool_call>\s*{NAME}\s*")
_KEY: Final = lazy(r"<arg_key>\s*+([^<\n]{1,100}?)\s*+</arg_key>\s*<arg_value>")
_END: Final = lazy(r"</tool_call>\s*\Z")


def read(text: str) -> Sequence[FormCall]:
    """Return the call; values are raw texts."""
    cursor = Cursor(text)
    name = cursor.take(_OPENING, "<tool_call> and the name of a tool")[1]
    cursor.skip(SPACE)
    return [FormCall(name, tagged_values(cursor, _KEY, "</arg_value>", _END))]
