"""ruff as a command, asked about several texts at a time: as many processes as there are processors."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, cast

from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.ruff import RuffCli
from rails.gate.support.diagnostics import Diagnostic
from rails.processes import programs

RuffTask = Literal["lint", "format"]
#: What is asked about which path with which content.
RuffRequest = tuple[RuffTask, str, bytes]

_PROCESSES: Final = min(os.cpu_count() or 1, 4)


class Ruff:
    """ruff for one project. What is expected is begun at once; what nobody began with is done when it is asked for."""

    def __init__(self, tool: programs.Tool, project: Path) -> None:
        self.tool = tool
        self._command = RuffCli(tool, project)
        self._waiting: OrderedDict[tuple[RuffRequest, RuffSettings], _Work] = OrderedDict()
        self._begun: dict[tuple[RuffRequest, RuffSettings], _Work] = {}
        self._lock = threading.Lock()
        self._threads = 0

    def lint(self, path: str, data: bytes, settings: RuffSettings) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` as the content of ``path``. Raises CheckError."""
        return cast("list[Diagnostic]", self._result(("lint", path, data), settings))

    def format(self, path: str, data: bytes, settings: RuffSettings) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also when the text does not parse."""
        return cast("bytes", self._result(("format", path, data), settings))

    def lint_isolated(self, data: bytes) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` without any configuration. Raises CheckError."""
        return self._command.lint("canary.py", data, RuffSettings(False))

    def expect(self, requests: Sequence[RuffRequest], settings: RuffSettings) -> None:
        """Begin with what will be asked for soon; returns at once. A failure is raised where it is asked for."""
        with self._lock:
            for request in requests:
                key = (request, settings)
                if key not in self._waiting and key not in self._begun:
                    self._waiting[key] = self._work(request, settings)
            while self._threads < min(_PROCESSES, len(self._waiting)):
                self._threads += 1
                threading.Thread(target=self._go_on, daemon=True, name="ask ruff").start()

    def forget(self) -> None:
        """Discard what was expected and never asked for."""
        with self._lock:
            self._waiting.clear()
            self._begun.clear()

    def close(self) -> None:
        """Begin nothing more."""
        self.forget()

    def _work(self, request: RuffRequest, settings: RuffSettings) -> _Work:
        task, path, data = request
        ask: Callable[..., object] = self._command.lint if task == "lint" else self._command.format
        return _Work(lambda: ask(path, data, settings))

    def _result(self, request: RuffRequest, settings: RuffSettings) -> object:
        key = (request, settings)
        with self._lock:
            begun = self._begun.pop(key, None)
            waiting = self._waiting.pop(key, None)
        if begun is not None:
            return begun.result()
        work = waiting or self._work(request, settings)
        work.run()
        return work.result()

    def _go_on(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                key, work = self._waiting.popitem(last=False)
                self._begun[key] = work
            work.run()


class _Work:
    """One question to ruff, and its answer or what went wrong."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask, self._done = ask, threading.Event()
        self._answer: object = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._answer = self._ask()
        except Exception as error:  # raised again by whoever asks
            self._error = error
        self._done.set()

    def result(self) -> object:
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._answer
