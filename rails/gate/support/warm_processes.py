"""Tools on pipes: started on first use, ended with us.

A worker's input ends however this process ends, and workers stop at its end: no port, token, lock or stale file.
"""

from __future__ import annotations

import json
import queue
import selectors
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, TypeVar

import msgspec

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.processes import programs

#: Two fill the two cores of a small machine; more of them cost 40 MB each.
_WORKERS: Final = 2
#: The program with black and flake8.
SCRIPT: Final = Path(__file__).parents[1] / "languages" / "python" / "worker.py"

J = TypeVar("J")
R = TypeVar("R")
#: Returns a new process and what ends it, with its children.
StartProcess: TypeAlias = Callable[[], tuple[programs.ToolProcess, Callable[[], object]]]


class Worker:
    """A process that answers each line of JSON on standard input with one on standard output.

    It is started by the first request, and by the next one after it stopped.
    """

    def __init__(self, name: str, start: StartProcess) -> None:
        self.name = name
        self._start = start
        self._process: programs.ToolProcess | None = None
        self._end: Callable[[], object] = lambda: None
        self._errors = b""

    @property
    def pid(self) -> int:
        """The process id, or 0 when it does not run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and running else 0

    def ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        """Return the answer. Raises CheckError: for an answer with an ``error``, a crash or timeout."""
        try:
            answer = msgspec.json.decode(self._answer(json.dumps(message).encode()), type=dict[str, Any])
        except msgspec.DecodeError as error:
            self.close()
            raise CheckError(f"{self.name} answered something that is not JSON.") from error
        except CheckError:
            self.close()
            raise
        if "error" in answer:
            raise CheckError(one_line(str(answer["error"]), 200))
        return answer

    def close(self) -> None:
        """Stop the process and its children."""
        self._end()
        self._process = None
        self._end = lambda: None

    def _answer(self, line: bytes) -> bytes:
        process = self._running()
        source, sink = programs.pipes(process)
        try:
            source.write(line + b"\n")
            source.flush()
            with selectors.DefaultSelector() as waiting:
                waiting.register(sink, selectors.EVENT_READ)
                if not waiting.select(limits.CHECK_SECONDS):
                    raise CheckError(f"{self.name} did not answer in time and was stopped.")
            answer = sink.readline()
        except (OSError, ValueError):  # a ValueError: another thread closed it
            answer = b""
        if not answer:
            raise CheckError(f"{self.name} stopped: {self._last_words(process)}")
        return answer

    def _running(self) -> programs.ToolProcess:
        if self._process is None or not self.pid:
            self.close()
            self._process, self._end = self._start()
            self._errors = b""
            hearing = threading.Thread(
                target=self._hear,
                args=(self._process.stderr,),
                daemon=True,
            )
            hearing.start()
        return self._process

    def _hear(self, complaints: IO[bytes]) -> None:
        """Read what it complains about, so that it never waits for somebody to read it."""
        try:
            for line in complaints:
                self._errors = (self._errors + line)[-1000:]
        except ValueError:
            return  # it was ended and its pipes closed

    def _last_words(self, process: programs.ToolProcess) -> str:
        code = programs.exit_code(process, 0.2)
        if code is None:
            return "it closed its output."
        words = one_line(" ".join(self._errors.decode(errors="replace").split()[-30:]), 200)
        return f"exit code {code}. {words}".strip()


def _start_ours() -> tuple[programs.ToolProcess, Callable[[], object]]:
    process = programs.start_tool([sys.executable, "-I", str(SCRIPT)])
    return process, lambda: programs.kill_tool(process)


class PythonPool:
    """Processes with black and flake8 (``languages/python/worker.py``), isolated from the project, that share the work.

    ``start`` starts them otherwise: a project's Python, contained.
    """

    def __init__(
        self, size: int = _WORKERS, start: StartProcess = _start_ours, name: str = "The Python worker"
    ) -> None:
        self.workers = tuple(Worker(name, start) for _ in range(size))
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self._idle.put(worker)

    def ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        """Ask a free worker, waiting for one if needed. Raises CheckError as a worker does."""
        worker = self._idle.get()
        try:
            return worker.ask(message)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """Stop all workers."""
        for worker in self.workers:
            worker.close()


def side_by_side(work: Callable[[J], R], jobs: Sequence[J], threads: int) -> list[R]:
    """Return ``work(job)`` for each job, in order, on up to ``threads`` threads. Raises the first error."""
    if len(jobs) < 2:
        return [work(job) for job in jobs]
    from concurrent.futures import ThreadPoolExecutor  # which imports logging

    pool = ThreadPoolExecutor(threads)
    try:
        waiting = [pool.submit(copy_context().run, work, job) for job in jobs]
        return [one.result() for one in waiting]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
