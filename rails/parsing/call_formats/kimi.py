"""Kimi: ``<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`` in a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.form import NAME, Cursor, FormCall, bare_name, object_of

_SECTION: Final = lazy(r"\s*<\|tool_calls_section_begin\|>\s*")
_CALL: Final = lazy(rf"\s*<\|tool_call_begin\|>\s*{NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*")
_CALL_END: Final = lazy(r"\s*<\|tool_call_end\|>\s*")
_END: Final = lazy(r"\s*(?:<\|tool_calls_section_end\|>\s*)?\Z")


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a section, or of one call without its section."""
    cursor, calls = Cursor(text), list[FormCall]()
    cursor.skip(_SECTION)
    while not (calls and cursor.skip(_END)):
        name = cursor.take(_CALL, "<|tool_call_begin|> and the name of a tool")[1]
        start = cursor.pos
        value, repairs = cursor.json(_CALL_END)
        cursor.take(_CALL_END, "<|tool_call_end|>")
        calls.append(FormCall(bare_name(name), object_of(value, start), repairs))
    return calls
