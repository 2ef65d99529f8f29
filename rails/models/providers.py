"""The language models: one protocol, one dict of providers, one way to open them.

A model gets the whole conversation at every call and keeps nothing between calls, so that a session
can be resumed from its log alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from rails.core.dataclass import replace
from rails.core.errors import ModelError, UsageError
from rails.models.model import Model, ModelOptions


def open_model(spec: str, *, base_url: str | None = None, options: ModelOptions | None = None) -> Model:
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
    chosen = options or ModelOptions()
    return opener(rest, replace(chosen, base_url=base_url or chosen.base_url))


def named_server(spec: str) -> tuple[str, str | None]:
    """Split ``openai:NAME@http://HOST/v1`` into the model and its server, ``None`` where it names none."""
    name, at, url = spec.partition("@http")
    return name, f"http{url}" if at else None


def _anthropic(name: str, options: ModelOptions) -> Model:
    from rails.models.anthropic import AnthropicModel

    return AnthropicModel.from_environment(
        name, base_url=options.base_url, max_tokens=options.max_tokens, environment=options.environment
    )


def _openai(name: str, options: ModelOptions) -> Model:
    from rails.models.openai import OpenAIModel

    found = OpenAIModel.from_environment(
        name, base_url=options.base_url, max_tokens=options.max_tokens, environment=options.environment
    )
    return replace(found, seed=options.seed)


def _ollama(name: str, options: ModelOptions) -> Model:
    """A local server; its address is ``OLLAMA_BASE_URL``, without the version."""
    found = options.environment if options.environment is not None else os.environ
    url = (options.base_url or found.get("OLLAMA_BASE_URL") or "http://127.0.0.1:11434").rstrip("/")
    url = url if url.endswith("/v1") else f"{url}/v1"
    return _openai(name, replace(options, base_url=url, environment={**found, "OPENAI_API_KEY": ""}))


def _openrouter(name: str, options: ModelOptions) -> Model:
    """The service of that name; its key is ``OPENROUTER_API_KEY``."""
    found = options.environment if options.environment is not None else os.environ
    key = found.get("OPENROUTER_API_KEY", "").strip()
    if not key and not options.base_url:
        raise ModelError("OPENROUTER_API_KEY is not set. Set it to your key.")
    url = options.base_url or "https://openrouter.ai/api/v1"
    return _openai(name, replace(options, base_url=url, environment={**found, "OPENAI_API_KEY": key}))


def _recorded(name: str, options: ModelOptions) -> Model:
    from rails.models.recorded import RecordedModel

    return RecordedModel.open(name, chunk_chars=options.chunk_chars, pause_s=options.pause_s)


PROVIDERS: Final[dict[str, Callable[[str, ModelOptions], Model]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "ollama": _ollama,
    "openrouter": _openrouter,
    "recorded": _recorded,
}
#: How a model of each provider is written.
EXAMPLES: Final = {
    "anthropic": "anthropic:claude-sonnet-5-5",
    "openai": "openai:MODEL",
    "ollama": "ollama:MODEL",
    "openrouter": "openrouter:VENDOR/MODEL",
    "recorded": "recorded:FILE",
}
