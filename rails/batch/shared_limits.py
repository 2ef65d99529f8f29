"""All jobs' limits for a provider: requests and tokens per minute, pauses for all.

The count is two times in a file: when the next request and token may go. Places are taken under its lock, waits are
outside; ``ray:NAME`` is an actor instead.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from rails.batch.job_spec import JobSpec
from rails.batch.pace import Pace, PaceKeeper, PaceTurn
from rails.core import atomic_file, lock
from rails.core.conversation import Delta, Message, ModelAnswer, ToolSpec
from rails.core.errors import ModelRetryable, RailsError
from rails.models.model import Model

_LOCK_SECONDS: Final = 60.0


class PaceFiles(msgspec.Struct, frozen=True):
    """Paces in a folder, for one machine's processes."""

    folder: Path

    def __call__(self, provider: str, what: PaceTurn, seconds: float) -> float:
        """Apply :meth:`Pace.after`; return when a request may go."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{provider}.json"
        with lock.held(self.folder / f"{provider}.lock", _LOCK_SECONDS) as had:
            if not had:
                raise RailsError(f"The limits in {self.folder} are held by another process. Nothing was asked.")
            pace = Pace()
            with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
                pace = msgspec.json.decode(file.read_bytes(), type=Pace)
            start, pace = pace.after(what, time.time(), seconds)
            atomic_file.replace_file(file, msgspec.json.encode(pace), durable=False)
        return start


def limited(model: Model, spec: JobSpec) -> Model:
    """Return ``model`` within shared limits, if any."""
    limits = spec.limits
    if not limits.place:
        return model
    if limits.place.startswith("ray:"):
        from rails.batch.ray_pace import pace_actor

        keep: PaceKeeper = pace_actor(limits.place.removeprefix("ray:"))
    else:
        keep = PaceFiles(Path(limits.place))
    every = 60 / limits.requests if limits.requests else 0.0
    every_token = 60 / limits.tokens if limits.tokens else 0.0
    same = model.name, model.silence_s, model.window, model.max_tokens
    return _Paced(model, keep, spec.model.partition(":")[0], every, every_token, *same)


class _Paced(Model, msgspec.Struct, frozen=True):
    model: Model
    keep: PaceKeeper
    service: str
    every: float
    every_token: float
    name: str
    silence_s: float
    window: int
    max_tokens: int

    @property
    def provider(self) -> str:
        return self.model.provider

    @property
    def local(self) -> bool:
        return self.model.local

    def for_agent(self, role: str) -> Model:
        return replace(self, model=self.model.for_agent(role))

    def at(self, temperature: float, /) -> Model:
        return replace(self, model=self.model.at(temperature))

    def served_window(self) -> int:
        return self.model.served_window()

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        time.sleep(max(0.0, self.keep(self.service, "ask", self.every) - time.time()))
        try:
            for piece in self.model.stream(system=system, messages=messages, tools=tools):
                if isinstance(piece, ModelAnswer):
                    used = piece.usage.input_tokens + piece.usage.output_tokens + piece.usage.cache_write_tokens
                    self.keep(self.service, "use", used * self.every_token)
                yield piece
        except ModelRetryable as error:
            if error.retry_after or "HTTP 429" in str(error):
                self.keep(self.service, "pause", error.retry_after or 1.0)
            raise
