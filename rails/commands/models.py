"""The models of each role and token prices.

First match: ``--model-for ROLE=MODEL``, ``--model``, template ``x-rails.model``, ``AI_RAILS_MODEL``, user's
``config.toml``, default. Stronger: ``--stronger-model``, ``x-rails.stronger_model``, ``AI_RAILS_STRONGER_MODEL``,
user's file. Overseer: ``--overseer-model``, user's file. A template names no server:
``openai:NAME@http://127.0.0.1:8000/v1``.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rails.agents.template import Agent, named
from rails.approval.pending import answer_key
from rails.commands.common import DEFAULT_MODEL
from rails.config.prices import PRICES_NAME, Price, Prices, load_price_file, no_price, price_of
from rails.core.app_dirs import config_folder
from rails.core.errors import LogError, UsageError
from rails.core.events.session import SessionLimits
from rails.core.text import one_line
from rails.models.model import Model
from rails.models.providers import named_server, open_model
from rails.session.job import SessionJob

#: Words of the command line that a resumed session keeps.
_KEPT: Final = (
    *("model", "base_url", "model_for", "stronger_model", "overseer_model"),
    *("correction", "dialect", "protocol", "file", "tests", "approve"),
)
_USUAL: Final[Mapping[str, str]] = {"correction": "syntax", "approve": "ask"}
#: The prices that ship say when and from where they were taken.
_SHIPPED: Final = Path(__file__).parents[1] / "models" / PRICES_NAME
_ADDRESS: Final = re.compile(r"https?://[^\s/]++\S*")


@dataclass
class Cast:
    """Opens each model once. ``chosen``: ``--model-for`` by agent; ``base_url`` goes with ``model``."""

    agents: Mapping[str, Agent]
    chosen: Mapping[str, str]
    model: str = ""
    base_url: str | None = None
    stronger: str = ""
    usual: str = DEFAULT_MODEL
    usual_stronger: str = ""
    overseer_model: str = ""
    temperatures: Mapping[str, float] = field(default_factory=dict)
    opened: dict[str, Model] = field(default_factory=dict)

    def for_role(self, role: str) -> Model:
        """Return the model of ``role``. Raises UsageError or ModelError."""
        agent = named(self.agents, role)
        return self._open(self.chosen.get(agent.name) or self.model or agent.runs_on or self.usual).for_agent(role)

    def stronger_for(self, role: str) -> Model | None:
        """Return the fallback model, or ``None``."""
        spec = self.stronger or named(self.agents, role).stronger or self.usual_stronger
        return self._open(spec).for_agent(role) if spec else None

    def overseer(self) -> Model | None:
        """Return the monitor's model, or ``None``."""
        return self._open(self.overseer_model).for_agent("overseer") if self.overseer_model else None

    def _open(self, spec: str) -> Model:
        if spec not in self.opened:
            name, url = named_server(spec)
            same = name.partition(":")[0] == (self.model or self.usual).partition(":")[0]
            model = open_model(name, base_url=url or (self.base_url if same else None))
            chosen = self.temperatures.get(name)
            self.opened[spec] = model if chosen is None else model.at(chosen)
        return self.opened[spec]


def cast_of(options: argparse.Namespace, agents: Mapping[str, Agent], configured: Mapping[str, Any]) -> Cast:
    """Return the models by command line, then settings. Raises UsageError."""
    chosen: dict[str, str] = {}
    for words in options.model_for:
        role, equals, spec = words.partition("=")
        if not equals or not role.strip() or not spec.strip():
            raise UsageError(f"--model-for takes AGENT=MODEL, not {one_line(words)!r}. Nothing was started.")
        chosen[named(agents, role.strip()).name] = spec.strip()
    if options.base_url is not None and not _ADDRESS.fullmatch(options.base_url):
        url = one_line(options.base_url)
        raise UsageError(f"--base-url takes an address with http:// or https://, not {url!r}. Nothing was started.")
    usual = os.environ.get("AI_RAILS_MODEL") or configured.get("model", DEFAULT_MODEL)
    stronger = os.environ.get("AI_RAILS_STRONGER_MODEL") or configured.get("stronger_model", "")
    overseer = options.overseer_model or configured.get("overseer_model", "")
    given = options.model or "", options.base_url, options.stronger_model or ""
    return Cast(agents, chosen, *given, usual, stronger, overseer, configured.get("temperature", {}))


def chosen_words(options: argparse.Namespace, session_id: str) -> dict[str, str | tuple[str, ...]]:
    """Return the model options that a resumed session keeps, sealed.

    None without the user's key; no address with a password.
    """
    words = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in {name: getattr(options, name) for name in _KEPT}.items()
        if value
    }
    words = {name: value for name, value in words.items() if value != _USUAL.get(name)}
    if "@" in words.get("base_url", ""):
        del words["base_url"]
    kind, _, file = str(words.get("model", "")).partition(":")
    if kind == "recorded":
        words["model"] = f"recorded:{Path(file).resolve()}"
    try:
        return {**words, "seal": _seal(session_id, words)} if words else {}
    except LogError:
        return {}


def recall(options: argparse.Namespace, before: SessionLimits, session_id: str) -> str:
    """Restore a session's model options where none are given; return a sentence.

    Only with this user's seal, as anybody may write a project's log.
    """
    words = {name: value for name in _KEPT if (value := getattr(before, name))}
    if not words:
        return ""
    try:
        sealed = hmac.compare_digest(before.seal.encode(), _seal(session_id, words).encode())
    except LogError:
        sealed = False
    if not sealed:
        return "Its model and options are not remembered: the log does not show that you chose them. Name them again."
    if options.model or options.base_url:
        words = {name: value for name, value in words.items() if name not in ("model", "base_url")}
    told = []
    for name, value in words.items():
        if not getattr(options, name):
            setattr(options, name, list(value) if isinstance(value, tuple) else value)
            several = value if isinstance(value, tuple) else (value,)
            told += [f"--{name.replace('_', '-')} {one_line(one, 200)}" for one in several]
    return f"as it began: {' '.join(told)}" if told else ""


def _seal(session_id: str, words: Mapping[str, object]) -> str:
    text = json.dumps([session_id, words], sort_keys=True)
    return hmac.new(answer_key(config_folder()), text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def price_table() -> dict[str, tuple[float, float, float]]:
    """Return the user's prices for another process: input, output, cached. Raises UsageError."""
    own = load_price_file(config_folder() / PRICES_NAME).models
    return {name: (one.input, one.output, one.cached) for name, one in own.items()}


def known_prices() -> Prices:
    """Return the user's prices, then shipped ones of that currency. Raises UsageError."""
    own = load_price_file(config_folder() / PRICES_NAME)
    shipped = load_price_file(_SHIPPED)
    if own.currency not in ("", "USD"):
        return own
    return Prices({**own.models, **shipped.models, **own.models}, shipped.currency)


def check_models(cast: Cast, roles: Sequence[str], job: SessionJob, prices: Mapping[str, Price], folder: Path) -> None:
    """Open every model before the job, requiring prices if money is bounded."""
    for role in dict.fromkeys(roles):
        models = [cast.overseer(), cast.for_role(role)]
        models += [cast.stronger_for(role)] if job.escalate == "model" else []
        for model in models:
            if job.max_cost is not None and model is not None and price_of(model.name, prices) is None:
                raise no_price(model.name, folder)
