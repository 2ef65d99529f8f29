"""A recorded conversation as the model: for demonstrations, tests and replays.

JSON Lines; each line is an answer by ``rails.core.conversation.answer_to_json`` with an optional ``agent``:

    {"agent": "coder", "role": "assistant", "content": "I will read the file first."}
    {"role": "assistant", "content": [{"type": "text", "text": "Now the edit."},
     {"type": "tool_use", "id": "c1", "name": "edit_file", "input_json": "{…}"}], "stop_reason": "tool_use"}

After n answers comes line n + 1 (a message counts the answers it replaces), so that a resumed session continues.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core import limits
from rails.core.conversation import Delta, Message, ModelAnswer, TextDelta, ToolSpec, answer_from_json
from rails.core.errors import ModelError, UsageError
from rails.core.text import counted
from rails.models.model import Model, ModelOptions

#: How much of an answer comes at a time.
_PIECE_CHARS: Final = 24


class RecordedModel(Model, Struct, frozen=True):
    """Streams a file's answers. ``lines``: each with its agent (``""``: any)."""

    source: str
    lines: tuple[tuple[str, ModelAnswer], ...]
    role: str = ""

    @classmethod
    def opened(cls, file: str, _options: ModelOptions) -> RecordedModel:
        """Read ``file``. Raises UsageError that names the line."""
        return cls(file, _read(Path(file)))

    @property
    def provider(self) -> str:
        """A recording."""
        return "recorded"

    @property
    def name(self) -> str:
        """``recorded:`` and the file's name."""
        return f"recorded:{Path(self.source).name}"

    def for_agent(self, role: str) -> RecordedModel:
        """Return an agent's view: its lines and those without one."""
        lines = tuple(line for line in self.lines if line[0] in ("", role))
        return replace(self, lines=lines, role=role)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Replay the next answer. Raises ModelError if there is none."""
        del system, tools
        answered = sum(message.stands_for + (message.role == "assistant") for message in messages)
        if answered >= len(self.lines):
            whose = f" for the agent {self.role!r}" if self.role else ""
            raise ModelError(
                f"The recording {self.source} has {counted(len(self.lines), 'answer')}{whose}, and "
                f"answer {answered + 1} was asked for. The conversation differs from the recorded one; record it "
                "again or add the answer."
            )
        _, answer = self.lines[answered]
        text = answer.message.text
        for start in range(0, len(text), _PIECE_CHARS):
            yield TextDelta(text[start : start + _PIECE_CHARS])
        yield answer if answer.model else replace(answer, model=self.name)


def _read(path: Path) -> tuple[tuple[str, ModelAnswer], ...]:
    try:
        if path.stat().st_size > limits.RECORDING_BYTES:
            raise UsageError(f"The recording {path} is larger than {limits.RECORDING_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The recording {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"The recording {path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    numbered = enumerate(text.split("\n"), start=1)
    lines = tuple(_line(path, number, line) for number, line in numbered if line.strip())
    if not lines:
        raise UsageError(f"The recording {path} holds no answer")
    return lines


def _line(path: Path, number: int, text: str) -> tuple[str, ModelAnswer]:
    try:
        value = json.loads(text)
        answer = answer_from_json(value)
        agent = value.get("agent", "")
        if isinstance(agent, str):
            return agent, answer
        why: object = '"agent" must be a string'
    except (ValueError, RecursionError) as error:
        why = error
    raise UsageError(f"{path}:{number}: not a recorded answer: {why}")
