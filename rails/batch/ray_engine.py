"""Jobs as Ray tasks on several machines; Ray schedules and retries lost nodes' jobs.

Workers stay warm and store results themselves, so that lost nodes lose none; the store is a shared folder or URL.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from rails.batch.engine import JobFunction
from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.ray_pace import load_ray
from rails.batch.run_job import run_job
from rails.batch.store import work
from rails.core.errors import RailsError, UsageError
from rails.core.text import one_line

#: Begun beyond what there is room for, so that no slot waits for us.
_AHEAD: Final = 2
_TRIES: Final = 3
_PROBE_SECONDS: Final = 5
_REFUSED: Final = (
    "Ray at {place} does not take this token (RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token). "
    "Use the token that the cluster was started with, and RAY_AUTH_MODE=token. Nothing was run."
)


class RayEngine:
    """A cluster: ``address`` is "auto" (this machine's), "local" (new) or HOST:PORT."""

    def __init__(self, place: str, address: str, run: JobFunction = run_job) -> None:
        self._ray, self._place, self._run = load_ray(), place, run
        self._own = not self._ray.is_initialized()
        if self._own:
            _connect(self._ray, address)
        self._task = self._ray.remote(work).options(num_cpus=1, max_retries=_TRIES)
        self._running: dict[Any, JobSpec] = {}

    @property
    def free(self) -> int:
        """Return how many jobs the cluster takes now, with a few to queue."""
        slots = int(self._ray.cluster_resources().get("CPU", 1))
        return max(slots, 1) * _AHEAD - len(self._running)

    def submit(self, spec: JobSpec) -> None:
        """Give a job to the cluster."""
        self._running[self._task.remote(self._place, spec, self._run)] = spec

    def finished(self, seconds: float) -> Sequence[JobResult]:
        """Return results as they come."""
        done, _ = self._ray.wait([*self._running], timeout=seconds)
        found = []
        for reference in done:
            spec = self._running.pop(reference)
            try:
                found.append(self._ray.get(reference))
            except Exception as error:
                found.append(JobResult.of(spec, one_line(f"Ray: {error}", 500)))
        return found

    def close(self, *, at_once: bool = False) -> None:
        """Leave the cluster; ``at_once``: cancel our tasks."""
        for reference in self._running if at_once else ():
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._own:
            self._ray.shutdown()


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401 - a module without types
    if address == "local":
        ray.init(log_to_driver=False, configure_logging=False, include_dashboard=False)
        return
    place = address
    if address == "auto":
        place = (
            os.environ.get("RAY_ADDRESS") or import_module("ray._private.services").find_bootstrap_address(None) or ""
        )
        if not place:
            raise UsageError("There is no Ray on this machine: name its address, or --ray local. Nothing was run.")
    _check_token(place)
    try:
        ray.init(address=place, log_to_driver=False, configure_logging=False)
    except Exception as error:
        raise RailsError(f"Ray at {one_line(place)} cannot be used: {one_line(str(error), 300)}") from error


def _check_token(place: str) -> None:
    """Make an empty request. Raises UsageError for a refused token, which Ray reports late."""
    if place.startswith("ray://"):
        return
    try:
        client = import_module("ray._raylet").GcsClient(address=place)
        client.internal_kv_get(b"ai-rails", None, timeout=_PROBE_SECONDS)
    except Exception as error:
        words = str(error)
        if "auth" in f"{type(error).__name__} {words}".casefold():
            raise UsageError(_REFUSED.format(place=one_line(place))) from error
        raise RailsError(
            f"Ray at {one_line(place)} does not answer: {one_line(words, 300)}. Nothing was run."
        ) from error
