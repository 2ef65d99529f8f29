"""The protocol of a language model.

It gets the entire conversation at every call, so that a session resumes from its log alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from rails.core import limits
from rails.core.conversation import Delta, Message, ToolSpec


class Model:
    """Answers a conversation; ``name``: for log and screen, such as ``claude-sonnet-5-5``.

    ``silence_s``: permitted silence in seconds; ``window``: tokens of prompt and answer; ``max_tokens``: of an answer
    (0: unknown).
    """

    __slots__ = ()
    silence_s: float = math.inf
    window: int = 0
    max_tokens: int = 0

    @property
    def name(self) -> str:
        """Return its name."""
        raise NotImplementedError

    @property
    def provider(self) -> str:
        """Return its API; "" if no server."""
        return ""

    @property
    def local(self) -> bool:
        """Whether it runs on this machine."""
        return False

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Yield pieces of text (empty: still going on), and last, exactly once, an ``Answer``.

        It holds every call's arguments as sent. Raises ModelRetryable for a passing fault, ModelError for others;
        pieces already yielded stay valid.
        """
        raise NotImplementedError

    def for_agent(self, role: str) -> Model:
        """Return the model for ``role``: itself, unless roles have their own answers."""
        del role
        return self

    def at(self, _temperature: float, /) -> Model:
        """Return the model at this temperature (0 to 2), its default if the provider refuses one."""
        return self

    def served_window(self) -> int:
        """Return the server's window in tokens, 0 if unknown."""
        return 0


class ModelOptions(Struct, frozen=True):
    """Options of a model; each provider takes what applies.

    ``max_tokens`` bounds an answer. ``environment``: where keys are (None: this process's). ``seed``: for repeatable
    answers.
    """

    base_url: str | None = None
    max_tokens: int = limits.ANSWER_TOKENS
    environment: Mapping[str, str] | None = None
    seed: int | None = None
