"""The server: loopback only, a random port, read only. Standard library, a thread for each connection.

    GET /                       the shell, the same for everyone; app.js, app.css, session.css, flow.css
    GET /api/sessions           {html}
    GET /api/search?q=&before=  {html}
    GET /api/session/ID?first=N a window of a session (``pages.Window``)
    GET /api/session/ID/since/N the same once there is more than N, or 204 after a while

There is nothing here that changes anything: deciding needs a terminal.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from rails.core.errors import RailsError, UsageError
from rails.core.requests import Json
from rails.core.text import one_line
from rails.review.web.guard import HEADERS, TOKEN_HEADER, Asked, Guard
from rails.review.web.pages import Pages

#: How long a request for news waits for some.
PATIENCE_S: Final = 15.0
_CONNECTION_S: Final = 30.0
_TARGET_CHARS: Final = 4_096
#: Connections at a time: a browser opens six; a flood of them must not cost the machine its threads.
_CONNECTIONS: Final = 32
_STATIC: Final = {
    "/": ("rails.review.web", "static/shell.html", "text/html; charset=utf-8"),
    "/app.js": ("rails.review.web", "static/app.js", "text/javascript; charset=utf-8"),
    "/app.css": ("rails.review.web", "static/app.css", "text/css; charset=utf-8"),
    "/session.css": ("rails.review", "session.css", "text/css; charset=utf-8"),
    "/flow.css": ("rails.gate.checks.n8n", "picture.css", "text/css; charset=utf-8"),
}
#: As the standard library types it; for TCP it is always the socket.
_Connection: TypeAlias = "socket.socket | tuple[bytes, socket.socket]"
_SESSION: Final = re.compile(r"/api/session/([0-9A-Za-z_-]{1,80})(?:/since/([0-9]{1,12}))?")


class ReviewServer:
    """Serves the sessions below ``state``; use it in ``with``. ``url`` is for the user's eyes only."""

    def __init__(self, state: Path, *, port: int = 0, patience_s: float = PATIENCE_S) -> None:
        self._pages = Pages(state)
        self._patience_s = patience_s
        try:
            self._http = _Http(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be used: {error.strerror}. Leave --port out.") from error
        self.port = self._http.server_address[1]
        self._guard = Guard(self.port, secrets.token_urlsafe(32))
        self._http.answer = self.answer

    @property
    def url(self) -> str:
        """The address with the token in its fragment, which browsers keep to themselves."""
        return f"http://127.0.0.1:{self.port}/#token={self._guard.token}"

    def serve_forever(self) -> None:
        """Answer until :meth:`close`, or an interrupt."""
        self._http.serve_forever(poll_interval=0.2)

    def start(self) -> Self:
        """Answer in a thread of its own."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def close(self) -> None:
        """Stop answering."""
        self._http.shutdown()
        self._http.server_close()
        self._http.end_connections()
        self._pages.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, target: str, headers: Callable[[str], list[str]]) -> Answer:
        """Return the answer to a GET of ``target``; ``headers`` gives all values of a header."""
        parts = urlsplit(target) if target.startswith("/") and len(target) <= _TARGET_CHARS else None
        asked = Asked(
            parts.path if parts else "",
            headers("Host"),
            headers("Origin"),
            headers("Sec-Fetch-Site"),
            headers(TOKEN_HEADER),
        )
        if refused := self._guard.refusal(asked):
            return Answer.words(*refused)
        if parts is None:
            return Answer.words(404, "There is nothing here.")
        if static := _STATIC.get(parts.path):
            package, name, kind = static
            return Answer(200, kind, resources.files(package).joinpath(name).read_bytes())
        query = {key: values[-1] for key, values in parse_qs(parts.query, max_num_fields=10).items()}
        try:
            return self._api(parts.path, query)
        except UsageError as error:
            return Answer.words(400, str(error))
        except RailsError as error:
            return Answer.words(500, str(error))

    def _api(self, path: str, query: Mapping[str, str]) -> Answer:
        if path == "/api/sessions":
            return Answer.json({"html": self._pages.sessions()})
        if path == "/api/search":
            return Answer.json({"html": self._pages.search(query.get("q", ""), query.get("before", ""))})
        if (match := _SESSION.fullmatch(path)) is None:
            return Answer.words(404, "There is nothing here.")
        session_id, seen = match.groups()
        if seen is not None:
            newer = self._pages.newer(session_id, int(seen), self._patience_s)
            return Answer.json(newer.to_json()) if newer else Answer(204, "text/plain", b"")
        first = query.get("first", "")
        window = self._pages.window(session_id, int(first) if first.isascii() and first.isdigit() else None)
        return Answer.json(window.to_json()) if window else Answer.words(404, "There is no such session.")


class Answer:
    """A status, a content type and a body."""

    def __init__(self, status: int, kind: str, body: bytes) -> None:
        self.status, self.kind, self.body = status, kind, body

    @classmethod
    def words(cls, status: int, words: str) -> Answer:
        """Return a sentence as plain text."""
        return cls(status, "text/plain; charset=utf-8", one_line(words, 500).encode())

    @classmethod
    def json(cls, value: Mapping[str, Json]) -> Answer:
        """Return JSON."""
        return cls(200, "application/json", json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 64
    answer: Callable[[str, Callable[[str], list[str]]], Answer]

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()

    def process_request(self, request: _Connection, client_address: object) -> None:
        """Take a connection if there are not too many; else close it."""
        with self._lock:
            full = len(self._open) >= _CONNECTIONS
            if not full:
                self._open.add(request)
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
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
    server: _Http

    def do_GET(self) -> None:
        """Answer a GET."""
        answer = self.server.answer(self.path, lambda name: list(self.headers.get_all(name, [])))
        self._send(answer)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no GET, or no HTTP, in plain words and with our headers."""
        del explain
        self.close_connection = True
        self._send(Answer.words(code, message or "This cannot be answered."))

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: request lines are not ours to print."""

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
