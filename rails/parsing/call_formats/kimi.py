"""Kimi: ``<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`` in a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.reader import NAME, CallMarks, FormCall, marked_calls

_MARKS: Final = CallMarks(
    lazy(r"<\|tool_calls_section_begin\|>\s*"),
    lazy(rf"<\|tool_call_begin\|>\s*{NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*"),
    lazy(r"<\|tool_call_end\|>\s*"),
    lazy(r"(?:<\|tool_calls_section_end\|>\s*)?\Z"),
    ("<|tool_call_begin|> and the name of a tool", "<|tool_call_end|>"),
)


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a section or single call."""
    return marked_calls(text, _MARKS)
