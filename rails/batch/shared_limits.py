"""What all jobs together ask of a provider: requests and tokens in a minute, and a pause for all when one is told to.

The count is two moments in a file: from when on the next request, and the next token, may go. Whoever asks takes the
next place under the file's lock and waits outside of it; the same arithmetic runs in a Ray actor (``ray:NAME``).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from rails.batch.job_spec import JobSpec
from rails.core import atomic_file, lock
from rails.core.conversation import Delta, Message, ModelAnswer, ToolSpec
from rails.core.dataclass import dataclass
from rails.core.errors import ModelRetryable, RailsError
from rails.models.model import Model

_LOCK_SECONDS: Final = 60.0
#: A moment further ahead than this was written by a clock that has been set since.
_MOST_AHEAD: Final = 3_600.0


class Pace(msgspec.Struct, frozen=True):
    """From when on, in seconds since 1970, the next request and the next token may go."""

    request: float = 0.0
    token: float = 0.0

    def asked(self, now: float, every: float) -> tuple[float, Pace]:
        """Return when a request may go that is asked for ``now``, and the pace after it; one goes ``every`` seconds."""
        start = max(now, min(max(self.request, self.token), now + _MOST_AHEAD))
        return start, Pace(start + every, self.token)

    def used(self, now: float, seconds: float) -> Pace:
        """Return the pace after tokens that take ``seconds`` of their allowance."""
        return Pace(self.request, max(now, self.token) + seconds)

    def paused(self, until: float) -> Pace:
        """Return the pace where nobody asks before ``until``."""
        return Pace(max(self.request, until), self.token)


class PaceKeeper(Protocol):
    """Where the pace of a provider is kept."""

    def ask(self, provider: str, every: float) -> float:
        """Return when a request may go, and take that place."""
        ...

    def use(self, provider: str, seconds: float) -> None:
        """Count tokens that take ``seconds`` of their allowance."""
        ...

    def pause(self, provider: str, seconds: float) -> None:
        """Let nobody ask for so long."""
        ...


@dataclass(frozen=True, slots=True)
class PaceFiles:
    """The paces in files of a folder, for the processes of one machine."""

    folder: Path

    def ask(self, provider: str, every: float) -> float:
        """Return when a request may go, and take that place."""
        moments: list[float] = []

        def turn(pace: Pace) -> Pace:
            start, after = pace.asked(time.time(), every)
            moments.append(start)
            return after

        self._changed(provider, turn)
        return moments[0]

    def use(self, provider: str, seconds: float) -> None:
        """Count tokens."""
        self._changed(provider, lambda pace: pace.used(time.time(), seconds))

    def pause(self, provider: str, seconds: float) -> None:
        """Let nobody ask for so long."""
        self._changed(provider, lambda pace: pace.paused(time.time() + seconds))

    def _changed(self, provider: str, change: Callable[[Pace], Pace]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{provider}.json"
        with lock.held(self.folder / f"{provider}.lock", _LOCK_SECONDS) as had:
            if not had:
                raise RailsError(f"The limits in {self.folder} are held by another process. Nothing was asked.")
            with contextlib.suppress(FileNotFoundError, ValueError):
                facts = json.loads(file.read_bytes())
                atomic_file.replace_file(file, msgspec.json.encode(change(Pace(**facts))), durable=False)
                return
            atomic_file.replace_file(file, msgspec.json.encode(change(Pace())), durable=False)


def limited(model: Model, spec: JobSpec) -> Model:
    """Return ``model`` within the limits that the job shares with others; itself where it has none."""
    limits = spec.limits
    if not limits.place:
        return model
    if limits.place.startswith("ray:"):
        from rails.batch.ray_engine import pace_actor

        keeper: PaceKeeper = pace_actor(limits.place.removeprefix("ray:"))
    else:
        keeper = PaceFiles(Path(limits.place))
    every = 60 / limits.requests if limits.requests else 0.0
    return _Paced(model, keeper, spec.model.partition(":")[0], every, 60 / limits.tokens if limits.tokens else 0.0)


@dataclass(frozen=True, slots=True)
class _Paced:
    """A model that waits for its place. One that is told to wait makes all wait."""

    model: Model
    keeper: PaceKeeper
    provider: str
    every: float
    every_token: float

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    def __getattr__(self, name: str) -> object:
        """Return what else the model has, such as its window; a wait for a place does not count as silence."""
        return getattr(self.model, name)

    def for_agent(self, role: str) -> Model:
        """Return the model that plays ``role``, at the same pace."""
        return _Paced(self.model.for_agent(role), self.keeper, self.provider, self.every, self.every_token)

    def steady(self) -> Model:
        """Return the steady model, at the same pace."""
        return _Paced(self.model.steady(), self.keeper, self.provider, self.every, self.every_token)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Answer when it is this job's turn."""
        while (left := self.keeper.ask(self.provider, self.every) - time.time()) > 0:
            time.sleep(left)
            break
        try:
            for piece in self.model.stream(system=system, messages=messages, tools=tools):
                if isinstance(piece, ModelAnswer):
                    used = piece.usage.input_tokens + piece.usage.output_tokens + piece.usage.cache_write_tokens
                    self.keeper.use(self.provider, used * self.every_token)
                yield piece
        except ModelRetryable as error:
            if error.retry_after or "HTTP 429" in str(error):
                self.keeper.pause(self.provider, error.retry_after or 1.0)
            raise
