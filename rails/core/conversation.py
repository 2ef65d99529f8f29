"""What a model and AI-Rails say to each other, independent of any provider.

Messages are append-only: a conversation is never rewritten, because providers bind caches and thinking
to the exact history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: Why a model stopped. Only "end_turn" and "tool_use" let native tool calls run.
StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "cut"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A provider's own tool call. ``arguments`` is the JSON text as it came, not yet parsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class NativeResult:
    """The answer to one :class:`NativeCall`; every call of an answer gets one, run or not."""

    id: str
    text: str
    is_error: bool


Part: TypeAlias = Text | NativeCall | NativeResult


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``user`` messages carry the task, feedback and tool results."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[NativeCall, ...]:
        """The native tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, NativeCall))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the provider counted them (0: not told)."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of streamed text."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete model answer: the last thing a stream yields."""

    message: Message
    stop_reason: StopReason
    usage: Usage = Usage()
    model: str = ""
    #: Set when the stop reason needs words ("the answer was cut at 4096 tokens").
    note: str = ""


Delta: TypeAlias = TextDelta | Answer


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a provider is told of it: name, description and the JSON Schema of its parameters."""

    name: str
    description: str
    schema: str
