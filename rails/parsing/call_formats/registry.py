"""The containers that each dialect reads, and the dialects that a model writes.

These containers are recognised anyway (``rails.parsing.quoted``); ``line_calls`` reads the other dialects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final

from rails.core.lazy_pattern import lazy

_INVOKE: Final = frozenset({"function_calls", "invoke"})
#: Dialect -> labels of its containers.
FORMS: Final[Mapping[str, Set[str]]] = {
    "glm": {"tool_call"},
    "kimi": {"tool calls begin", "tool call begin"},
    "deepseek": {"tool calls begin", "tool call begin", "DSML"},
    "minimax": {"tool_call", "tool_calls", *_INVOKE},
    "claude": _INVOKE,
    "invoke": _INVOKE,
    "qwen": {"tool_call", "function"},
    "hermes": {"tool_call", "function_call"},
    "harmony": {"a channel to a function"},
    "llama": {"<|python_tag|>", "function"},
    "cohere": {"<|START_ACTION|>"},
    "granite": {"<|tool_call|>"},
    "gemini": {"tool_code"},
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


def dialect_of(label: str, dialects: Set[str]) -> str:
    """Return the dialect that reads a container, "" for none."""
    return next((name for name, labels in FORMS.items() if name in dialects and label in labels), "")
