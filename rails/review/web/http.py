"""HTTP on the loopback interface: the standard library's server, a thread for each connection, all bounded."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Protocol, TypeAlias

from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.review.web.guard import HEADERS

#: Connections at a time: a browser opens six; a flood of them must not cost the machine its threads.
CONNECTIONS: Final = 32
_CONNECTION_S: Final = 30.0

#: As the standard library types it; for TCP it is always the socket.
Connection: TypeAlias = "socket.socket | tuple[bytes, socket.socket]"
#: Returns all values of a header.
Headers: TypeAlias = Callable[[str], list[str]]


class PageResponse:
    """A status, a content type and a body; or, with ``pieces``, a body that comes piece by piece."""

    def __init__(self, status: int, kind: str, body: bytes, pieces: Iterator[bytes] | None = None) -> None:
        self.status, self.kind, self.body, self.pieces = status, kind, body, pieces

    @classmethod
    def words(cls, status: int, words: str) -> PageResponse:
        """Return a sentence as plain text."""
        return cls(status, "text/plain; charset=utf-8", one_line(words, 500).encode())

    @classmethod
    def json(cls, value: Mapping[str, Json], status: int = 200) -> PageResponse:
        """Return JSON."""
        return cls(status, "application/json", json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class Site(Protocol):
    """What answers: a GET, and a POST whose body is read only when it may be."""

    def answer(self, target: str, headers: Headers) -> PageResponse:
        """Answer a GET."""
        ...

    def take(self, target: str, headers: Headers, read: Callable[[int], bytes]) -> PageResponse:
        """Answer a POST; ``read`` reads so many bytes of its body."""
        ...


class LoopbackServer(ThreadingHTTPServer):
    """Listens on ``127.0.0.1``; ``site`` answers. Raises OSError when the port cannot be used."""

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site: Site
        self._lock = threading.Lock()
        self._open: set[Connection] = set()

    def process_request(self, request: Connection, client_address: object) -> None:
        """Take a connection if there are not too many; else close it."""
        with self._lock:
            full = len(self._open) >= CONNECTIONS
            if not full:
                self._open.add(request)
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Connection) -> None:
        """Close a connection, and free its place."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """End what is open: a kept-alive connection would go on being answered."""
        with self._lock:
            for connection in self._open:
                if isinstance(connection, socket.socket):
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet about connections that broke: the terminal belongs to the user."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ai-rails"
    sys_version = ""
    timeout = _CONNECTION_S
    server: LoopbackServer

    def do_GET(self) -> None:
        """Answer a GET."""
        self._send(self.server.site.answer(self.path, self._all))

    def do_POST(self) -> None:
        """Answer a POST."""
        # What is left of a body that was not read must not be taken for the next request.
        self.close_connection = True
        self._send(self.server.site.take(self.path, self._all, self.rfile.read))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is neither, or no HTTP, in plain words and with our headers."""
        del explain
        self.close_connection = True
        self._send(PageResponse.words(code, message or "This cannot be answered."))

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: request lines are not ours to print."""

    def _all(self, name: str) -> list[str]:
        return list(self.headers.get_all(name, []))

    def _send(self, answer: PageResponse) -> None:
        self.send_response(answer.status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        if answer.pieces is None:
            self.send_header("Content-Length", str(len(answer.body)))
        else:
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(answer.body)
        for piece in answer.pieces or ():
            self.wfile.write(piece)
