"""Tools on pipes: started on first use, ended with us.

A worker's input ends however this process ends, and workers stop at its end: no port, token, lock or stale file.
"""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import IO, Final, TypeVar

from rails.core import limits, lock
from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.processes import programs

#: A worker is replaced after this many requests, so that what a plugin leaks is bounded.
_REQUESTS: Final = 500
#: Two fill the two cores of a small machine; more of them cost 40 MB each.
_WORKERS: Final = 2

_SCRIPT: Final = Path(__file__).parents[1] / "languages" / "python" / "worker.py"
#: What an unprivileged process may ask for on Linux.
_PIPE_BYTES: Final = 1 << 20

J = TypeVar("J")
R = TypeVar("R")


class Pipe:
    """A process that answers each line of standard input with one on standard output.

    A thread reads, so neither side blocks. ``end`` stops a process that a kill does not.
    """

    def __init__(
        self,
        name: str,
        process: programs.ToolProcess,
        end: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self._process = process
        self._end = end
        self._input, output = programs.pipes(self._process)
        self._ended = False
        lock.widen(self._input, _PIPE_BYTES)
        self._errors = bytearray()
        if self._process.stderr is not None:
            threading.Thread(
                target=self._listen, args=(self._process.stderr,), daemon=True, name=f"hear {name}"
            ).start()
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(output,), daemon=True, name=f"read {name}").start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs and its output is open."""
        return not self._ended and self._process.poll() is None

    def ask_json(self, message: Mapping[str, object]) -> dict[str, Json]:
        """Return the answer to a JSON line. Raises CheckError; the process is then unusable."""
        line = json.dumps(dict(message)).encode() + b"\n"
        try:
            self._input.write(line)
            self._input.flush()
        except (OSError, ValueError) as error:
            raise CheckError(f"{self.name} stopped: {self._last_words()}") from error
        try:
            told = self._answers.get(timeout=limits.CHECK_SECONDS)
        except queue.Empty:
            raise CheckError(f"{self.name} did not answer in time and was stopped.") from None
        if told is None:
            raise CheckError(f"{self.name} stopped: {self._last_words()}")
        try:
            answer: Json = json.loads(told)
        except ValueError as error:
            raise CheckError(f"{self.name} answered something that is not JSON.") from error
        if not isinstance(answer, dict):
            raise CheckError(f"{self.name} answered something unknown.")
        return answer

    def close(self) -> None:
        """Stop the process and its children."""
        self._end() if self._end else programs.kill_tool(self._process)

    def _read(self, output: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in output:
                self._answers.put(line)
        self._ended = True
        self._answers.put(None)

    def _listen(self, complaints: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in complaints:
                self._errors = (self._errors + line)[-1000:]

    def _last_words(self) -> str:
        code = programs.exit_code(self._process, 0.2)
        if code is None:
            return "it closed its output."
        words = one_line(" ".join(bytes(self._errors).decode(errors="replace").split()[-30:]), 200)
        return f"exit code {code}. {words}".strip()


class _Worker:
    def __init__(self, start: Callable[[Path], Pipe]) -> None:
        self._start = start
        self._pipe: Pipe | None = None
        self._requests = 0

    @property
    def pid(self) -> int:
        return self._pipe.pid if self._pipe and self._pipe.alive else 0

    def ask(self, message: Mapping[str, object]) -> Mapping[str, object]:
        if not self._pipe or not self._pipe.alive or self._requests >= _REQUESTS:
            self.close()
            self._pipe = self._start(_SCRIPT)
        self._requests += 1
        try:
            return self._pipe.ask_json(message)
        except CheckError:
            self.close()
            raise

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = None
        self._requests = 0


def _by_ours(script: Path) -> Pipe:
    return Pipe("The Python worker", programs.start_tool([sys.executable, "-I", str(script)]))


class PythonPool:
    """Processes with black and flake8 (``languages/python/worker.py``), isolated from the project, that share the work.

    ``start`` starts them otherwise: a project's Python, contained.
    """

    def __init__(self, size: int = _WORKERS, start: Callable[[Path], Pipe] = _by_ours) -> None:
        self.workers = tuple(_Worker(start) for _ in range(size))
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self._idle.put(worker)

    def ask(self, message: Mapping[str, object]) -> Mapping[str, object]:
        """Ask a free worker, waiting for one if needed. Raises CheckError for a crash, timeout or invalid answer."""
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
