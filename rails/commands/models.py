"""Which model each role runs on, which one may take over, and what tokens cost: the operator's choices.

A role's model is, the first that is given: ``--model-for ROLE=MODEL``, ``--model``, the template's
``x-rails.model``, ``AI_RAILS_MODEL``, the default. The model that may take over is ``--stronger-model``, the
template's ``x-rails.stronger_model``, ``AI_RAILS_STRONGER_MODEL``, or none. On the command line a model may name its
server: ``openai:NAME@http://127.0.0.1:8000/v1``; a template may not.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rails.agents.template import Agent, named
from rails.commands.common import DEFAULT_MODEL
from rails.config.prices import Price, no_price, price_of
from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.models.model import Model
from rails.models.providers import open_model
from rails.session.job import SessionJob


@dataclass
class Cast:
    """Opens each model once. ``chosen`` are the specs of ``--model-for`` by agent; ``base_url`` goes with ``model``."""

    agents: Mapping[str, Agent]
    chosen: Mapping[str, str]
    model: str = ""
    base_url: str | None = None
    stronger: str = ""
    opened: dict[str, Model] = field(default_factory=dict)

    def for_role(self, role: str) -> Model:
        """Return the model that plays ``role``. Raises UsageError or ModelError when it cannot be opened."""
        return self._open(self._spec(named(self.agents, role))).for_agent(role)

    def stronger_for(self, role: str) -> Model | None:
        """Return the model that may take over for ``role``, or ``None``."""
        default = os.environ.get("AI_RAILS_STRONGER_MODEL", "")
        spec = self.stronger or named(self.agents, role).stronger or default
        return self._open(spec).for_agent(role) if spec else None

    def _spec(self, agent: Agent) -> str:
        default = os.environ.get("AI_RAILS_MODEL") or DEFAULT_MODEL
        return self.chosen.get(agent.name) or self.model or agent.runs_on or default

    def _open(self, spec: str) -> Model:
        if spec not in self.opened:
            name, at, url = spec.partition("@http")
            main = self.model or os.environ.get("AI_RAILS_MODEL") or DEFAULT_MODEL
            same = name.partition(":")[0] == main.partition(":")[0]
            base = f"http{url}" if at else self.base_url if same else None
            self.opened[spec] = open_model(name, base_url=base)
        return self.opened[spec]


def cast_of(options: argparse.Namespace, agents: Mapping[str, Agent]) -> Cast:
    """Read the command line's choices. Raises UsageError."""
    chosen: dict[str, str] = {}
    for words in options.model_for:
        role, equals, spec = words.partition("=")
        if not equals or not role.strip() or not spec.strip():
            raise UsageError(f"--model-for takes AGENT=MODEL, not {one_line(words)!r}. Nothing was started.")
        chosen[named(agents, role.strip()).name] = spec.strip()
    return Cast(agents, chosen, options.model or "", options.base_url, options.stronger_model or "")


def check_models(cast: Cast, roles: Sequence[str], job: SessionJob, prices: Mapping[str, Price], folder: Path) -> None:
    """Open every model that the job may use, before it begins, and know its price when money is bounded."""
    for role in dict.fromkeys(roles):
        for model in (cast.for_role(role), cast.stronger_for(role) if job.escalate == "model" else None):
            if job.max_cost is not None and model is not None and price_of(model.name, prices) is None:
                raise no_price(model.name, folder)
