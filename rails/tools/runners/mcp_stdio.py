"""A server that is a program: one JSON message on each line of its standard input and output."""

from __future__ import annotations

import json
import os
import selectors
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass, field
from rails.core.errors import RailsError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.sandbox.none import start_as_user
from rails.sandbox.output import Kept
from rails.sandbox.places import search_path
from rails.sandbox.process import PipedProcess
from rails.sandbox.run import layer_for, start
from rails.sandbox.view import SandboxView
from rails.tools.registry import Mcp
from rails.tools.runners.command import clean_environment, find_program, uncontained
from rails.tools.runners.exchange import ExchangeError
from rails.tools.runners.jsonrpc import McpError, Refused, hello, message, read_message, result_of
from rails.tools.runners.secrets import Secrets

#: How long a server may take to say whether it is stateless; older ones may not answer at all.
_PROBE_SECONDS: Final = 5.0


@contextmanager
def started(
    transport: Mcp, project: Path, secrets: Secrets, changed: Callable[[ChangeSet], object] = lambda _: None
) -> Iterator[PipedProcess]:
    """Start a server; everything that it started is gone afterwards. Raises McpError.

    ``changed`` gets what a contained server changed in the project, which is not in the project yet.
    """
    own = {**secrets.values, **secrets.fill(transport.env)}
    held = transport.contained
    if refused := uncontained("the server") if held else "":
        raise McpError(refused)
    path = search_path(project) if held else clean_environment(project)["PATH"]
    program = find_program(transport.command[0], path, project)
    if program is None:
        raise McpError(f"the program {one_line(transport.command[0])!r} was not found")
    try:
        if not held:
            running = start_as_user([program, *transport.command[1:]], project, {**clean_environment(project), **own})
            layer = None
        else:
            layer = layer_for(project)
            view = SandboxView(project, layer, environment=own)
            running = start(transport.command, view, transport.network)
    except RailsError as error:
        raise McpError(f"the server could not be started: {error}") from None
    try:
        yield running.process
    finally:
        running.end()
        if layer:
            with layer:
                changed(layer.changes()[0])


@dataclass(slots=True)
class StdioChannel:
    """Talks to one process until ``deadline`` (monotonic seconds); ``seconds`` is what the user set."""

    process: PipedProcess
    deadline: float
    seconds: float
    number: int = 0
    legacy: bool = False
    buffer: bytearray = field(default_factory=bytearray)
    stderr: Kept = field(default_factory=lambda: Kept(8_000))
    received: int = 0

    def greet(self) -> None:
        """Find out whether the server is stateless; shake hands with it if it is not."""
        deadline = self.deadline
        self.deadline = min(deadline, time.monotonic() + _PROBE_SECONDS)
        try:
            self.ask("server/discover", {})
        except (Refused, ExchangeError):
            self.deadline, self.legacy = deadline, True
            self.ask("initialize", hello())
            self._tell("notifications/initialized")
        self.deadline = deadline

    def ask(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """Send one request and wait for its answer; what the server asks meanwhile is declined."""
        self.number += 1
        self._write(message(self.number, method, params, meta=not self.legacy))
        while True:
            received = self._next_message()
            if received is not None and "method" not in received and received.get("id") == self.number:
                return result_of(received)
            if received is not None and "method" in received and "id" in received:
                self._decline(received)

    def _tell(self, method: str) -> None:
        self._write(message(None, method, {}, meta=not self.legacy))

    def _decline(self, asked: Mapping[str, Json]) -> None:
        """Answer a request of the server to us: a ping gets its empty answer, everything else a no."""
        reply: dict[str, Json] = {"jsonrpc": "2.0", "id": asked.get("id")}
        if asked.get("method") == "ping":
            reply["result"] = {}
        else:
            reply["error"] = {"code": -32601, "message": "not offered by this client"}
        self._write(json.dumps(reply).encode("utf-8"))

    def _write(self, data: bytes) -> None:
        stream = self.process.stdin
        if stream is None:
            raise McpError("the server has no standard input")
        rest = memoryview(data + b"\n")
        os.set_blocking(stream.fileno(), False)
        while rest:
            try:
                rest = rest[os.write(stream.fileno(), rest[:65_536]) :]
            except BlockingIOError:
                self._pump(wait_to_write=True)
            except OSError:
                raise McpError(f"the server ended{self._last_words()}") from None

    def _next_message(self) -> dict[str, Json] | None:
        """Return the next line as a message; ``None`` for a line that is none, which servers print too."""
        while b"\n" not in self.buffer:
            self._pump()
        line, _, rest = bytes(self.buffer).partition(b"\n")
        self.buffer = bytearray(rest)
        return read_message(line) if line.lstrip().startswith(b"{") else None

    def _pump(self, *, wait_to_write: bool = False) -> None:
        """Wait for output, or for room to write, and take in what came."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ExchangeError(f"no complete answer within {self.seconds:g} s{self._last_words()}")
        with selectors.DefaultSelector() as selector:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None and not stream.closed:
                    selector.register(stream, selectors.EVENT_READ)
            if wait_to_write and self.process.stdin is not None:
                selector.register(self.process.stdin, selectors.EVENT_WRITE)
            for key, _ in selector.select(left):
                if key.fileobj is not self.process.stdin:
                    self._take(key.fd, is_error=key.fileobj is self.process.stderr)

    def _take(self, stream: int, *, is_error: bool) -> None:
        chunk = os.read(stream, 65_536)
        if is_error:
            self.stderr.add(chunk)
            if not chunk and self.process.stderr is not None:
                self.process.stderr.close()
            return
        if not chunk:
            raise McpError(f"the server ended without an answer{self._last_words()}")
        self.received += len(chunk)
        if self.received > limits.OUTPUT_BYTES * 4:
            raise McpError(f"the server sent more than {limits.OUTPUT_BYTES * 4} bytes")
        self.buffer += chunk

    def _last_words(self) -> str:
        """Return the end of what the server printed as errors, for a person."""
        with suppress(OSError, ValueError):
            if self.process.stderr is not None:
                os.set_blocking(self.process.stderr.fileno(), False)
                self.stderr.add(os.read(self.process.stderr.fileno(), 65_536))
        said = self.stderr.text().strip()
        return f": {one_line(said[-400:], 400)}" if said else ""
