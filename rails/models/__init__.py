"""The language models: one protocol, one dict of providers, one way to open them.

A model gets the whole conversation at every call and keeps nothing between calls, so that a session
can be resumed from its log alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from rails.core import limits
from rails.core.conversation import Delta, Message, ToolSpec
from rails.core.errors import UsageError
from rails.core.values import dataclass, replace


class Model(Protocol):
    """Something that answers a conversation."""

    @property
    def name(self) -> str:
        """The name for log and screen, for example ``claude-sonnet-5-5``."""
        ...

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Answer ``messages``: pieces of text as they come, and last, exactly once, an ``Answer``.

        The answer holds every tool call's arguments as the text that the model sent. Raises
        ModelRetryable for a passing fault and ModelError for one that another try will not cure;
        pieces that were already given out stay valid.
        """
        ...

    def for_agent(self, role: str) -> Model:
        """Return the model that plays ``role``: itself, unless roles have answers of their own."""
        ...

    def steady(self) -> Model:
        """Return the model at the lowest temperature that its provider lets one choose; itself if none."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What one may choose about a model; every provider takes what concerns it.

    ``base_url`` is the server to use instead of the provider's own. ``max_tokens`` bounds one answer.
    ``pause_s`` (seconds) and ``chunk_chars`` shape the replay of a recording.
    """

    base_url: str | None = None
    max_tokens: int = limits.ANSWER_TOKENS
    pause_s: float = 0.0
    chunk_chars: int = 24


def open_model(spec: str, *, base_url: str | None = None, options: Options | None = None) -> Model:
    """Open the model that ``spec`` names, such as ``anthropic:claude-sonnet-5-5`` or ``recorded:FILE``.

    ``base_url``, where given, overrides the one in ``options``. No network is touched before the first
    answer is asked for. Raises UsageError for an unknown provider, a missing name or an unreadable
    recording, and ModelError when a key is missing.
    """
    provider, _, rest = spec.partition(":")
    opener = PROVIDERS.get(provider)
    if opener is None:
        raise UsageError(f"Unknown model {spec!r}: write it as {', '.join(EXAMPLES.values())}")
    if not rest:
        raise UsageError(f"The model {spec!r} has no name: write it as {EXAMPLES[provider]}")
    chosen = options or Options()
    return opener(rest, replace(chosen, base_url=base_url or chosen.base_url))


def _anthropic(name: str, options: Options) -> Model:
    from rails.models.anthropic import AnthropicModel

    return AnthropicModel.from_environment(name, base_url=options.base_url, max_tokens=options.max_tokens)


def _openai(name: str, options: Options) -> Model:
    from rails.models.openai import OpenAIModel

    return OpenAIModel.from_environment(name, base_url=options.base_url, max_tokens=options.max_tokens)


def _recorded(name: str, options: Options) -> Model:
    from rails.models.recorded import RecordedModel

    return RecordedModel.open(name, chunk_chars=options.chunk_chars, pause_s=options.pause_s)


PROVIDERS: Final[dict[str, Callable[[str, Options], Model]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "recorded": _recorded,
}
#: How a model of each provider is written.
EXAMPLES: Final = {
    "anthropic": "anthropic:claude-sonnet-5-5",
    "openai": "openai:MODEL",
    "recorded": "recorded:FILE",
}
