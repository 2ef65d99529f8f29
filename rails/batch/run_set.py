"""Runs a set of jobs: skips finished ones, shares with concurrent runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from rails.batch.engine import JobEngine
from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.store import JobStore

#: How long results, or another's jobs, are waited for between two looks.
_LOOK_SECONDS: Final = 1.0


class SetProgress(Struct):
    """A set's progress. ``skipped``: had a result; ``elsewhere``: run by others; ``stopped``: why it ends early;
    ``cost``: of this run, ``unpriced``: partly unknown.
    """

    total: int
    skipped: int = 0
    done: list[JobResult] = field(default_factory=list)
    running: int = 0
    elsewhere: list[JobSpec] = field(default_factory=list)
    cost: float = 0.0
    unpriced: bool = False
    stopped: str = ""
    began: float = field(default_factory=time.monotonic)

    def add(self, result: JobResult) -> None:
        """Count a result."""
        self.done.append(result)
        self.cost += result.cost or 0.0
        self.unpriced = self.unpriced or result.cost is None

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated seconds left, or None."""
        left = self.total - self.skipped - len(self.done)
        return left * (time.monotonic() - self.began) / len(self.done) if self.done else None


def unfinished(
    store: JobStore, specs: Sequence[JobSpec], retry: Collection[str] = ()
) -> tuple[list[JobSpec], list[JobResult]]:
    """Return the jobs to run, and the others' results. ``retry``: "errors", "failures"."""
    known, left, over = {row.name: row for row in store.rows()}, [], []
    for spec in specs:
        result = known.get(spec.name)
        again = result and (("errors" in retry and result.error) or ("failures" in retry and not result.passed))
        if result is None or again:
            left.append(spec)
        else:
            over.append(result)
    return left, over


def run_set(
    store: JobStore,
    engine: JobEngine,
    specs: Sequence[JobSpec],
    watch: Callable[[SetProgress], object] = lambda _: None,
    *,
    retry: Collection[str] = (),
    max_cost: float | None = None,
) -> SetProgress:
    """Run what has no result; return the progress.

    ``max_cost`` bounds this run: running jobs finish, no new ones begin. After Ctrl-C or a signal, the next run repeats
    what ran.
    """
    left, over = unfinished(store, specs, retry)
    before = {spec.name: found for spec in left if retry and (found := store.result(spec.name))}
    progress, waiting = SetProgress(len(specs), len(over)), deque(left)
    try:
        while waiting or progress.running or (progress.elsewhere and not progress.stopped):
            if max_cost is not None and progress.cost >= max_cost:
                progress.stopped = f"the set's {max_cost:g} (money) are spent ({progress.cost:.4g})"
                waiting.clear()
            while waiting and engine.free > 0:
                _begin(store, engine, waiting.popleft(), progress, before)
            watch(progress)
            for result in engine.finished(_LOOK_SECONDS) if progress.running else ():
                progress.running -= 1
                if store.result(result.name) != result:  # no worker was left to keep it
                    store.put_result(result)
                store.release(result.name)
                progress.add(result)
            if progress.elsewhere and not (waiting or progress.running or progress.stopped):
                time.sleep(_LOOK_SECONDS)
                waiting.extend(progress.elsewhere)
                progress.elsewhere.clear()
    except KeyboardInterrupt as stopped:
        progress.stopped = str(stopped) or "Ctrl-C"
        engine.close(at_once=True)
    finally:
        store.release_all()
    watch(progress)
    return progress


def _begin(
    store: JobStore, engine: JobEngine, spec: JobSpec, progress: SetProgress, before: Mapping[str, JobResult]
) -> None:
    """Submit a job, unless another runs it, or has since (a result other than ``before``)."""
    if not store.claim(spec.name):
        progress.elsewhere.append(spec)
        return
    if (found := store.result(spec.name)) is not None and found != before.get(spec.name):
        progress.skipped += 1
        store.release(spec.name)
        return
    store.put_spec(spec)
    engine.submit(spec)
    progress.running += 1
