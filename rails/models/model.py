"""The protocol of a language model.

A model gets the whole conversation at every call and keeps nothing between calls, so that a session
can be resumed from its log alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from rails.core import limits
from rails.core.conversation import Delta, Message, ToolSpec


class Model:
    """Something that answers a conversation; ``name`` is for log and screen, for example ``claude-sonnet-5-5``.

    It may send nothing for ``silence_s`` seconds, takes ``window`` tokens at once, prompt and answer together, and
    answers with at most ``max_tokens`` (0: no bound that is known).
    """

    __slots__ = ()
    silence_s: float = math.inf
    window: int = 0
    max_tokens: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        raise NotImplementedError

    @property
    def provider(self) -> str:
        """Whose interface it speaks; "" where nobody is asked."""
        return ""

    @property
    def local(self) -> bool:
        """Whether it is served on this machine."""
        return False

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Answer ``messages``: pieces of text as they come, and last, exactly once, an ``Answer``.

        An empty piece says that the answer goes on where it has no text just now.

        The answer holds every tool call's arguments as the text that the model sent. Raises
        ModelRetryable for a passing fault and ModelError for one that another try will not cure;
        pieces that were already given out stay valid.
        """
        raise NotImplementedError

    def for_agent(self, role: str) -> Model:
        """Return the model that plays ``role``: itself, unless roles have answers of their own."""
        del role
        return self

    def at(self, _temperature: float, /) -> Model:
        """Return the model at this temperature (0 to 2), or at its own where its provider refuses one."""
        return self

    def served_window(self) -> int:
        """Return what its server says of its window, in tokens; 0 where it says nothing."""
        return 0


class ModelOptions(Struct, frozen=True):
    """What one may choose about a model; every provider takes what concerns it.

    ``base_url`` is the server to use instead of the provider's own. ``max_tokens`` bounds one answer.
    ``pause_s`` (seconds) and ``chunk_chars`` shape the replay of a recording. ``environment`` is where keys are looked
    up (``None``: this process's). ``seed`` makes answers repeatable where the provider knows of seeds.
    """

    base_url: str | None = None
    max_tokens: int = limits.ANSWER_TOKENS
    pause_s: float = 0.0
    chunk_chars: int = 24
    environment: Mapping[str, str] | None = None
    seed: int | None = None
