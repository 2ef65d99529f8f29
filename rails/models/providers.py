"""The table of providers, and a way to open their models."""

from __future__ import annotations

import os
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.core.errors import ModelError, UsageError
from rails.core.text import one_line
from rails.models.model import Model, ModelOptions

if TYPE_CHECKING:
    from rails.models.wire import ServerModel


class Provider(Struct, frozen=True):
    """A provider: its API's class, address ("": the class's), and environment variables for key and address.

    ``suffix`` ends every address. ``protocol``: the best for its models, if known. ``temperature``: recommended for
    code (None: default). A class without ``URL`` has a class method ``opened(name, options)``.
    """

    adapter: str
    example: str
    key: str = ""
    url_key: str = ""
    url: str = ""
    suffix: str = ""
    protocol: Literal["native", "json", "edits", ""] = "native"
    temperature: float | None = None


#: Sources of ``temperature``: DeepSeek's parameter settings ("coding: 0.0"); Google asks to leave Gemini's as it is.
PROVIDERS: Final = {
    "anthropic": Provider(
        "anthropic:AnthropicModel", "anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
    ),
    "openai": Provider("openai:OpenAIModel", "openai:MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "responses": Provider("responses:ResponsesModel", "responses:MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "gemini": Provider("gemini:GeminiModel", "gemini:MODEL", "GEMINI_API_KEY", "GEMINI_BASE_URL"),
    "ollama": Provider(
        "openai:OpenAIModel", "ollama:MODEL", "", "OLLAMA_BASE_URL", "http://127.0.0.1:11434", "/v1", ""
    ),
    "openrouter": Provider(
        "openai:OpenAIModel", "openrouter:VENDOR/MODEL", "OPENROUTER_API_KEY", "", "https://openrouter.ai/api/v1"
    ),
    "deepseek": Provider(
        "openai:OpenAIModel", "deepseek:MODEL", "DEEPSEEK_API_KEY", "", "https://api.deepseek.com/v1", temperature=0.0
    ),
    "recorded": Provider("recorded:RecordedModel", "recorded:FILE", protocol=""),
}


def open_model(spec: str, *, base_url: str | None = None, options: ModelOptions | None = None) -> Model:
    """Open a model, such as ``anthropic:claude-sonnet-5-5`` or ``recorded:FILE``; no network before the first answer.

    ``base_url`` overrides ``options``. Raises UsageError for an unknown provider, missing name, address that is not
    HTTP or unreadable recording; ModelError for a missing key.
    """
    name, _, rest = spec.partition(":")
    provider = PROVIDERS.get(name)
    if provider is None:
        examples = ", ".join(one.example for one in PROVIDERS.values())
        raise UsageError(f"Unknown model {spec!r}: write it as {examples}")
    if not rest:
        raise UsageError(f"The model {spec!r} has no name: write it as {provider.example}")
    chosen = options or ModelOptions()
    return _opened(provider, rest, replace(chosen, base_url=base_url or chosen.base_url))


def named_server(spec: str) -> tuple[str, str | None]:
    """Split ``openai:NAME@http://HOST/v1`` into model and server, if any."""
    name, at, url = spec.partition("@http")
    return name, f"http{url}" if at else None


def _opened(provider: Provider, name: str, options: ModelOptions) -> Model:
    adapter: Any = resolve_name(f"rails.models.{provider.adapter}")
    if not hasattr(adapter, "URL"):  # it asks no server
        found: Model = adapter.opened(name, options)
        return found
    environment = os.environ if options.environment is None else options.environment
    chosen = options.base_url or environment.get(provider.url_key)
    url = (chosen or provider.url or adapter.URL).rstrip("/").removesuffix(provider.suffix) + provider.suffix
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"The base URL {one_line(url)!r} must begin with http:// or https://")
    key = environment.get(provider.key, "").strip()
    if provider.key and not key and (not chosen or url == adapter.URL):
        raise ModelError(
            f"{provider.key} is not set. Set it, or choose another model: --model ollama:MODEL on this machine, "
            "openai:MODEL with OPENAI_BASE_URL for any other server or with OPENAI_API_KEY, openrouter:VENDOR/MODEL "
            "with OPENROUTER_API_KEY, or recorded:FILE. ai-rails doctor names the servers that run here."
        )
    strict = {"1": True, "0": False}.get(environment.get("AI_RAILS_STRICT", ""), url == adapter.URL)
    model: ServerModel = adapter(name, key, url, options.max_tokens, strict=strict, seed=options.seed)
    window = model.WINDOW if model.url == model.URL else model.window
    # A local model answers a task best with its likeliest words; its server's own default is made for talk.
    return replace(model, window=window, temperature=0.0 if model.local else provider.temperature)
