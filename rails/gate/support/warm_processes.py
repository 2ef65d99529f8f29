"""Tools on pipes: started on first use, ended with us.

A worker's input ends however this process ends, and workers stop at its end: no port, token, lock or stale file.
"""

from __future__ import annotations

import contextlib
import json
import queue
import select
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.processes import programs

if TYPE_CHECKING:
    from rails.sandbox.values import SandboxView

#: Two fill the two cores of a small machine; more of them cost 40 MB each.
_WORKERS: Final = 2
#: The program with black and flake8.
SCRIPT: Final = Path(__file__).parents[1] / "languages" / "python" / "worker.py"

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

    @property
    def pid(self) -> int:
        """The process id, or 0 when it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else 0

    def ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        """Return the answer. Raises CheckError: for an answer with an ``error``, a crash or timeout."""
        if self._process is None or not self.pid:
            self.close()
            self._process, self._end = self._start()
            # What it complains about is read, so that it never waits for somebody to read it.
            self._complaints: deque[bytes] = deque(maxlen=10)
            hearing = threading.Thread(
                target=_keep_lines,
                args=(self._process.stderr, self._complaints),
                daemon=True,
            )
            hearing.start()
        try:
            answer = msgspec.json.decode(
                self._answer(self._process, message),
                type=dict[str, Any],
            )
        except (CheckError, msgspec.DecodeError) as error:
            self.close()
            raise CheckError(f"{self.name} failed: {error}") from error
        if "error" in answer:
            raise CheckError(one_line(str(answer["error"]), 200))
        return answer

    def close(self) -> None:
        """Stop the process and its children."""
        self._end()
        self._process = None
        self._end = lambda: None

    def _answer(self, process: programs.ToolProcess, message: Mapping[str, object]) -> bytes:
        source, sink = programs.pipes(process)
        try:
            source.write(json.dumps(message, default=str).encode() + b"\n")
            source.flush()
            waiting = select.poll()
            waiting.register(sink, select.POLLIN)
            if not waiting.poll(limits.CHECK_SECONDS * 1000):
                raise CheckError("it did not answer in time and was stopped")
            answer = sink.readline()
        except (OSError, ValueError):  # a ValueError: another thread closed it
            answer = b""
        if not answer:
            code = programs.exit_code(process, 0.2)
            words = b"".join(self._complaints).decode(errors="replace").split()
            raise CheckError(f"exit code {code}. {one_line(' '.join(words[-30:]), 200)}")
        return answer


def _keep_lines(complaints: IO[bytes], lines: deque[bytes]) -> None:
    with contextlib.suppress(ValueError):  # it was ended and its pipes closed
        lines.extend(complaints)


def _start_ours() -> tuple[programs.ToolProcess, Callable[[], object]]:
    process = programs.start_tool([sys.executable, "-I", str(SCRIPT)])
    return process, lambda: programs.kill_tool(process)


def contained(argv: Sequence[str], view: SandboxView) -> StartProcess:
    """Return what starts a program in a sandbox, as well as this machine has one."""

    def begin() -> tuple[programs.ToolProcess, Callable[[], object]]:
        from rails.sandbox import probe, run  # most projects have our versions, or none

        running = run.start(argv, view, label=probe.label())
        return running.process, running.end

    return begin


class PythonPool:
    """Processes with black and flake8 (``languages/python/worker.py``), isolated from the project, that share the work.

    ``start`` starts them otherwise: a project's Python, contained.
    """

    def __init__(
        self,
        size: int = _WORKERS,
        start: StartProcess = _start_ours,
        name: str = "The Python worker",
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
