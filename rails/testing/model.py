"""A scripted model that records calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from rails.core.conversation import (
    Delta,
    Message,
    ModelAnswer,
    NativeCall,
    StopReason,
    TextDelta,
    TextPart,
    ToolSpec,
    Usage,
)
from rails.core.errors import ModelError
from rails.models.model import Model

#: What one answer may be scripted as.
Script = str | NativeCall | Sequence[str | NativeCall] | ModelAnswer | ModelError


class Asked(Struct, frozen=True):
    """A call's arguments of :meth:`ScriptedModel.stream`."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class ScriptedModel(Model, Struct):
    """Gives ``answers`` in order.

    An answer is a text, a native call, a list of both, a :class:`ModelAnswer`, or a ``ModelError`` to raise.
    ``chunk_chars``: size of streamed pieces. Raises ModelError after the last.

        model = ScriptedModel(["Hello", ModelRetryable("busy"), [NativeCall("c1", "read_file", '{"file_path": "a"}')]])
    """

    answers: Sequence[Script]
    name: str = "scripted"
    chunk_chars: int = 7
    asked: list[Asked] = field(default_factory=list)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Record the call; give the next answer."""
        number = len(self.asked)
        self.asked.append(Asked(system, tuple(messages), tuple(tools)))
        if number >= len(self.answers):
            raise ModelError(f"The script has {len(self.answers)} answers, and answer {number + 1} was asked for.")
        return self._play(self.answers[number])

    def _play(self, script: Script) -> Iterator[Delta]:
        if isinstance(script, ModelError):
            raise script
        answer = script if isinstance(script, ModelAnswer) else _answer(script, self.name)
        text = answer.message.text
        for start in range(0, len(text), self.chunk_chars):
            yield TextDelta(text[start : start + self.chunk_chars])
        yield answer


def _answer(script: str | NativeCall | Sequence[str | NativeCall], model: str) -> ModelAnswer:
    pieces = [script] if isinstance(script, str | NativeCall) else script
    parts = tuple(TextPart(piece) if isinstance(piece, str) else piece for piece in pieces)
    stop: StopReason = "tool_use" if any(isinstance(part, NativeCall) for part in parts) else "end_turn"
    return ModelAnswer(Message("assistant", parts), stop, Usage(), model)
