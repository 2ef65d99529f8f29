"""Harmony (gpt-oss): ``<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.reader import NAME, CallMarks, FormCall, marked_calls

_MARKS: Final = CallMarks(
    lazy(""),
    lazy(
        rf"(?:<\|start\|>\w*\s*+)?(?:<\|channel\|>\s*+\w*\s*+)?to={NAME}\s*+(?:<\|channel\|>\s*+\w+\s*+)?"
        r"(?:(?:<\|constrain\|>\s*+)?json\s*+)?<\|message\|>\s*"
    ),
    lazy(r"(?:<\|(?:call|end|return)\|>\s*)?\Z"),
    lazy(r"\Z"),
    ("a channel to a function, and <|message|>", "<|call|>"),
)


def read(text: str) -> Sequence[FormCall]:
    """Return the message's call."""
    return marked_calls(text, _MARKS)
