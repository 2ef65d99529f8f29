"""The providers' paces in a Ray actor."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from rails.batch.pace import Pace, PaceKeeper, PaceTurn
from rails.core.errors import UsageError
from rails.core.extras import install_command


def load_ray() -> Any:  # noqa: ANN401 - a module without types
    """Return Ray. Raises UsageError if not installed."""
    try:
        return import_module("ray")
    except ImportError as error:
        raise UsageError(f"Running on Ray needs: {install_command('ray')}. Nothing was run.") from error


class PaceActor:
    """A cluster's paces."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    def turn(self, provider: str, what: PaceTurn, seconds: float) -> float:
        """Apply :meth:`Pace.after`; return when a request may go."""
        start, self._paces[provider] = self._paces.get(provider, Pace()).after(what, time.time(), seconds)
        return start


def pace_actor(name: str) -> PaceKeeper:
    """Return a client of the named actor, made if needed; it outlives its maker."""
    ray, how = load_ray(), {"namespace": "ai-rails", "lifetime": "detached", "max_restarts": -1, "num_cpus": 0}
    actor = ray.remote(PaceActor).options(name=name, get_if_exists=True, **how).remote()
    return lambda provider, what, seconds: float(ray.get(actor.turn.remote(provider, what, seconds)))
