"""The reader of each container, if its dialect is named, and the dialects that a model writes.

These containers are recognised anyway (``rails.parsing.quoted``); ``line_calls`` reads the other dialects.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.reader import FormReader


class WireForm(NamedTuple):
    """A form: the module whose ``read`` reads it, and its containers' labels."""

    module: str
    labels: Set[str]


#: Dialect -> form. A module is imported when the first answer needs it.
FORMS: Final[Mapping[str, WireForm]] = {
    "glm": WireForm("glm", frozenset({"tool_call"})),
    "kimi": WireForm("kimi", frozenset({"tool calls begin", "tool call begin"})),
    "deepseek": WireForm("deepseek", frozenset({"tool calls begin", "tool call begin", "DSML"})),
    "minimax": WireForm("invokes", frozenset({"tool_call", "tool_calls", "function_calls", "invoke"})),
    "claude": WireForm("invokes", frozenset({"function_calls", "invoke"})),
    "invoke": WireForm("invokes", frozenset({"function_calls", "invoke"})),
    "qwen": WireForm("qwen", frozenset({"tool_call", "function"})),
    "hermes": WireForm("qwen", frozenset({"tool_call", "function_call"})),
    "harmony": WireForm("harmony", frozenset({"a channel to a function"})),
    "llama": WireForm("llama", frozenset({"<|python_tag|>", "function"})),
    "cohere": WireForm("cohere", frozenset({"<|START_ACTION|>"})),
    "granite": WireForm("cohere", frozenset({"<|tool_call|>"})),
    "gemini": WireForm("pythonic", frozenset({"tool_code"})),
}
#: What of a model's name says which forms it writes when it does not use its provider's own calls.
_MODELS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = tuple(
    (lazy(rf"(?:^|[^a-z]){pattern}", re.IGNORECASE), dialects)
    for pattern, dialects in (
        (r"glm", ("glm",)),
        (r"(?:kimi|moonshot)", ("kimi",)),
        (r"deepseek", ("deepseek",)),
        (r"minimax", ("minimax",)),
        (r"(?:qwen|qwq|hermes)", ("qwen",)),
        (r"gpt-?oss", ("harmony",)),
        (r"(?:code|mini|magi|dev)?(?:mistral|stral|mixtral)", ("mistral",)),
        (r"llama", ("llama",)),
        (r"(?:command-?[ar]|c4ai|cohere)", ("cohere",)),
        (r"granite", ("granite",)),
        (r"gem(?:ini|ma)", ("gemini",)),
        (r"claude", ("claude",)),
    )
)


def dialects_of(model: str) -> tuple[str, ...]:
    """Return the dialects that a model writes, if known."""
    return next(((*dialects, "json") for pattern, dialects in _MODELS if pattern.search(model)), ())


def reader_of(label: str, dialects: Set[str]) -> tuple[str, FormReader] | None:
    """Return a container's (dialect, reader), or None."""
    name = next((name for name, form in FORMS.items() if name in dialects and label in form.labels), "")
    return (name, _reader(FORMS[name].module)) if name else None


def read_bare(text: str) -> FormReader | None:
    """Return the reader of an answer that looks like Llama's calls, or None."""
    module = importlib.import_module("rails.parsing.call_formats.llama")
    return _reader("llama") if module.is_bare(text) else None


def _reader(module: str) -> FormReader:
    reader: FormReader = importlib.import_module(f"rails.parsing.call_formats.{module}").read
    return reader
