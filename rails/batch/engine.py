"""The protocol of an engine, and the process pool.

Workers stay warm, and end with their parent, even if it is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, forkserver, util
from typing import Final, Protocol

from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.run_job import run_job
from rails.batch.store import work
from rails.core.scratch import room_for_sockets

_OF_TERMINAL: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
#: How long a job that is stopped has to clear up.
_ENDING_S: Final = 5.0
JobFunction = Callable[[JobSpec], JobResult]


class JobEngine(Protocol):
    """Runs jobs in parallel; keeps results in its store."""

    @property
    def free(self) -> int:
        """Return how many more jobs can start."""
        ...

    def submit(self, spec: JobSpec) -> None:
        """Start a job."""
        ...

    def finished(self, seconds: float) -> Sequence[JobResult]:
        """Return new results: at least one, or none after ``seconds``."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """End the workers; ``at_once``: with their jobs."""
        ...


class PoolEngine:
    """Processes of this machine, each a pool of its own: one that dies takes no other's job with it."""

    def __init__(self, place: str, workers: int, run: JobFunction = run_job) -> None:
        self._place, self._run = place, run
        self._before = {*multiprocessing.active_children()}
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["rails.batch.engine"])
        with room_for_sockets(), _undisturbed(deaf=True):
            util.get_temp_dir()  # where it listens, made once
            forkserver.ensure_running()
        self._idle = [self._worker() for _ in range(workers)]
        self._running: dict[Future[JobResult], tuple[JobSpec, ProcessPoolExecutor]] = {}

    def _worker(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, mp_context=self._context, initializer=_begin)

    @property
    def free(self) -> int:
        """Return the number of idle workers."""
        return len(self._idle)

    def submit(self, spec: JobSpec) -> None:
        """Start a job."""
        worker = self._idle.pop()
        with _undisturbed():
            try:
                future = worker.submit(_work, self._place, spec, self._run)
            except BrokenProcessPool:  # it died while it had nothing to do
                worker = self._worker()
                future = worker.submit(_work, self._place, spec, self._run)
            self._running[future] = spec, worker

    def finished(self, seconds: float) -> Sequence[JobResult]:
        """Return new results; a job whose worker died is an error."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        found = []
        for future in done:
            spec, worker = self._running.pop(future)
            try:
                found.append(future.result())
            except BrokenProcessPool:
                worker = self._worker()
                found.append(JobResult.of(spec, "its worker process died"))
            except Exception as error:
                found.append(JobResult.of(spec, f"its result could not be kept: {error}"))
            self._idle.append(worker)
        return found

    def close(self, *, at_once: bool = False) -> None:
        """End the workers."""
        if at_once:
            for child in {*multiprocessing.active_children()} - self._before:
                child.terminate()
        for worker in (*self._idle, *(worker for _, worker in self._running.values())):
            worker.shutdown(cancel_futures=True)
        self._running.clear()


@contextlib.contextmanager
def _undisturbed(*, deaf: bool = False) -> Iterator[None]:
    """Start processes with interrupts deferred, so that no half-started one is left.

    ``deaf``: they never get terminal signals.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield
        return
    came: list[int] = []
    taken = signal.SIG_IGN if deaf else lambda number, _frame: came.append(number)
    before = {one: signal.signal(one, taken) for one in (_OF_TERMINAL if deaf else (*_OF_TERMINAL, signal.SIGTERM))}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        if came:
            signal.raise_signal(came[0])


def _begin() -> None:
    for number in _OF_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True, name="end with the parent").start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ENDING_S)
    os._exit(1)


def _work(place: str, spec: JobSpec, run: JobFunction) -> JobResult:
    """Run a job; SIGTERM stops it as Ctrl-C stops a session, and ends the worker."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        return work(place, spec, run)
    except KeyboardInterrupt:
        os._exit(1)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
