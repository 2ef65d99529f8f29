"""Which ruff to ask: the warm server, or the command when the server cannot be trusted with a file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.paths import WorkspacePath
from rails.gate.languages.python import config as settings
from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.ruff import RuffCli
from rails.gate.languages.python.ruff_server import BadConfigurationError, RuffRequest, RuffServer
from rails.gate.support.diagnostics import Diagnostic, first_ones
from rails.gate.support.read_file import read_from_disk
from rails.processes import programs

if TYPE_CHECKING:
    pass

T = TypeVar("T")
#: So many files are looked at before the gate asks for them.
_AHEAD: Final = 16


def head_start(project: Path, paths: Sequence[WorkspacePath], after: bytes | None = None) -> Ruff | None:
    """Begin to start ruff for the first Python files among ``paths``, and have it look at them.

    ``after`` is what they are to hold. ``None`` when there is nothing for it to do or it is not installed. Whoever
    gets it closes it.
    """
    first = list(islice((path for path in paths if str(path).endswith((".py", ".pyi"))), _AHEAD))
    tool = programs.find_ruff() if first else None
    if tool is None:
        return None
    made = Ruff(tool, project)
    made.warm(first, after)
    return made


class Ruff:
    """ruff for one project: one server for each way to be configured, started when first asked."""

    def __init__(self, tool: programs.Tool, project: Path) -> None:
        self.tool = tool
        self._command = RuffCli(tool, project)
        self._project = project
        self._servers: dict[object, RuffServer] = {}
        self._command_only: set[object] = set()
        self._lock = threading.RLock()
        self._closed = False

    @property
    def servers(self) -> tuple[RuffServer, ...]:
        """The servers that run, for reports and tests."""
        return tuple(self._servers.values())

    def lint(self, path: str, data: bytes, settings: RuffSettings) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` as the content of ``path``. Raises CheckError."""

        def cold() -> list[Diagnostic]:
            return self._command.lint(path, data, settings)

        if len(data) > limits.SERVED_BYTES:
            return cold()
        return self._ask(settings, lambda server: first_ones(server.lint(path, data)), cold)

    def format(self, path: str, data: bytes, settings: RuffSettings) -> bytes:
        """Return ``data`` formatted. Raises CheckError."""
        return self._ask(
            settings, lambda server: server.format(path, data), lambda: self._command.format(path, data, settings)
        )

    def expect(self, questions: Sequence[RuffRequest], settings: RuffSettings) -> None:
        """Have a server prepare what will be asked. A failure is reported when it is asked.

        One that does not run yet is started meanwhile: whoever asks it waits for it.
        """
        questions = [asked for asked in questions if len(asked[2]) <= limits.SERVED_BYTES]
        if (settings.project, settings.options) in self._servers:
            self._expected(questions, settings)
        else:
            job = (questions, settings)
            threading.Thread(target=self._expected, args=job, daemon=True, name="start ruff").start()

    def _expected(self, questions: Sequence[RuffRequest], settings: RuffSettings) -> None:
        with self._lock, contextlib.suppress(MemoryError):
            server = None if self._closed else self._server(settings)
            if server is not None and questions:
                try:
                    server.expect(questions)
                except CheckError as error:
                    self._drop(settings, error)

    def forget(self) -> None:
        """Discard what was expected and never asked for."""
        for server in self.servers:
            server.forget()

    def warm(self, paths: Sequence[WorkspacePath], after: bytes | None = None) -> None:
        """Begin to ask about these files; returns at once, decides nothing, never fails.

        Whoever asks for the server meanwhile waits for it, and gets it only if the configuration is still the same;
        an answer counts only for the very bytes that were sent. Files that are configured otherwise than the first
        one are left out: reading that configuration starts the server anew.
        """
        by_folder: dict[tuple[str, ...], RuffSettings] = {}
        questions: list[RuffRequest] = []
        try:
            config = settings.read_python_settings(self._project)
            for path in paths:
                folder = path.parts[:-1]
                if folder not in by_folder:
                    by_folder[folder] = settings.ruff_for(self._project, str(path), config)
                if by_folder[folder] == by_folder[paths[0].parts[:-1]]:
                    questions += _questions(str(path), read_from_disk(self._project, path), config.formatter, after)
        except CheckError:
            pass  # the caller that asks gets the reason
        for how in list(by_folder.values())[:1]:
            self.expect(questions, how)

    def lint_isolated(self, data: bytes) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` without any configuration. Raises CheckError."""
        return self._command.lint("canary.py", data, RuffSettings(False))

    def _ask(self, settings: RuffSettings, warm: Callable[[RuffServer], T], cold: Callable[[], T]) -> T:
        """Ask the server; when it fails, the command, which says what is wrong."""
        server = self._server(settings)
        if server is not None:
            try:
                return warm(server)
            except CheckError as error:
                self._drop(settings, error)
        return cold()

    def close(self) -> None:
        """Stop every server, also one that is just starting."""
        with self._lock:
            self._closed = True
            for server in self._servers.values():
                server.close()
            self._servers.clear()

    def _server(self, settings: RuffSettings) -> RuffServer | None:
        key = settings.project, settings.options
        with self._lock:
            if (key, settings.digest) in self._command_only:
                return None
            server = self._servers.get(key)
            if server is not None and server.alive and server.knows(settings):
                return server
            if server is not None:
                server.close()
            seen = server.seen if server is not None else {}
            try:
                server = self._servers[key] = RuffServer(self.tool, self._project, settings)
            except CheckError:
                self._servers.pop(key, None)
                self._command_only.add((key, settings.digest))
                return None
            server.seen = {**seen, **server.seen}
            return server

    def _drop(self, settings: RuffSettings, error: CheckError) -> None:
        """Stop a server that failed. One that cannot read a configuration is not tried again with it."""
        key = settings.project, settings.options
        with self._lock:
            server = self._servers.pop(key, None)
            if server is not None:
                server.close()
            if isinstance(error, BadConfigurationError):
                self._command_only.add((key, settings.digest))


def _questions(
    path: str, read: tuple[bytes, int] | str, formatter: settings.Formatter, after: bytes | None
) -> list[RuffRequest]:
    """Return what will be asked about a file, if it could be read."""
    if isinstance(read, str):
        return []
    asked: list[RuffRequest] = [("lint", path, read[0])]
    if after is not None:
        asked.append(("lint", path, after))
    return [*asked, ("format", path, read[0] if after is None else after)] if formatter in settings.BY_RUFF else asked
