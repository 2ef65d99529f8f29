"""A model's server on loopback: real HTTP and server-sent events, scripted answers and faults.

Anthropic's ``…/v1/messages``, OpenAI's ``…/chat/completions`` and ``…/responses``, Gemini's
``…:streamGenerateContent``; streaming only, any key.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal, Self

from msgspec import Struct

from rails.core.conversation import NativeCall
from rails.core.tool_request import Json
from rails.testing.wire import Part, anthropic_events, event, gemini_events, openai_events, responses_events

_WIRES: Final = {
    "/responses": responses_events,
    "/chat/completions": openai_events,
    ":streamGenerateContent": gemini_events,
}


class Reply(Struct, frozen=True):
    """A scripted answer and its faults.

    ``stop_reason``: Anthropic's word, ``None`` for none. A ``status`` but 200 sends an error body and ``retry_after``
    (seconds, or any text). ``hang_s``: wait before the first byte. ``chunk_chars``, ``pause_s``: the stream's pieces.
    ``cut_after``: events before the break; ``cut``: a clean end ("end"), a close inside the body ("close") or a
    "reset". ``error_event``: an error event instead of the cut. ``raw`` replaces the body.
    """

    parts: tuple[Part, ...] = ()
    stop_reason: str | None = "end_turn"
    status: int = 200
    message: str = ""
    retry_after: float | str | None = None
    hang_s: float = 0.0
    chunk_chars: int = 16
    pause_s: float = 0.0
    cut_after: int | None = None
    cut: Literal["end", "close", "reset"] = "end"
    error_event: str | None = None
    raw: bytes | None = None


def says(*parts: Part, **options: Any) -> Reply:  # noqa: ANN401 - the fields of Reply
    """Return a reply; its stop reason is "tool_use" if it has a call."""
    called = any(isinstance(part, NativeCall) for part in parts)
    return Reply(parts, **{"stop_reason": "tool_use" if called else "end_turn", **options})


def call(name: str, arguments: str, *, call_id: str = "toolu_1", **options: Any) -> Reply:  # noqa: ANN401
    """Return a reply of a native call; ``arguments`` may be invalid JSON."""
    return says(NativeCall(call_id, name, arguments), **options)


class Request(Struct, frozen=True):
    """A request. Header names are lower-case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class StubServer:
    """Serves ``replies`` in order on a free port of 127.0.0.1, within ``with``.

    ``url``: for an adapter; ``requests``: received; HTTP 400 after the last reply. ``documents``: at other paths
    ("/props"), not counted. The end of ``with`` ends hanging answers.
    """

    def __init__(self, replies: Sequence[Reply] = (), documents: Mapping[str, Json] | None = None) -> None:
        self.requests: list[Request] = []
        self.documents = dict(documents or {})
        self._replies = list(replies)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, *replies: Reply) -> None:
        """Append replies."""
        with self._lock:
            self._replies.extend(replies)

    def next_reply(self, request: Request) -> Reply:
        """Record ``request``; return the next reply."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            if number < len(self._replies):
                return self._replies[number]
        return Reply(status=400, message=f"the stub has {number} replies, and one more was asked for")

    def wait(self, seconds: float) -> None:
        """Wait, at most until the end of ``with``."""
        self._stopping.wait(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    stub: StubServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the base class's signature
        """Ignore clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        found = self.server.stub.documents.get(self.path)
        self._whole(404 if found is None else 200, json.dumps(found).encode())

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path in self.server.stub.documents:
            self.do_GET()
            return
        body = json.loads(data or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.stub.next_reply(Request(self.path, headers, body))
        self.server.stub.wait(reply.hang_s)
        if reply.status != 200:
            self._refuse(reply)
        else:
            self._stream(reply, str(body.get("model", "")))

    def _refuse(self, reply: Reply) -> None:
        error = {"type": "stub_error", "message": reply.message or f"scripted status {reply.status}"}
        data = json.dumps({"type": "error", "error": error}).encode()
        self._whole(reply.status, reply.raw or data, reply.retry_after)

    def _whole(self, status: int, data: bytes, retry_after: float | str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Reply, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, data in enumerate(self._events(reply, model)):
            if number == reply.cut_after:
                if reply.error_event:
                    body = {"type": reply.error_event, "message": reply.message or "scripted"}
                    self._chunk(event("error", error=body))
                elif reply.cut != "end":
                    self._break_off(reset=reply.cut == "reset")
                    return
                break
            self._chunk(data)
            if reply.pause_s:
                self.server.stub.wait(reply.pause_s)
        self.wfile.write(b"0\r\n\r\n")

    def _events(self, reply: Reply, model: str) -> Iterator[bytes]:
        if reply.raw is not None:
            return iter([reply.raw])
        speak = anthropic_events
        for end, events in _WIRES.items():
            if self.path.partition("?")[0].endswith(end):
                speak = events
        return speak(reply.parts, reply.stop_reason, model, reply.chunk_chars)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _break_off(self, *, reset: bool) -> None:
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR) if not reset else self.connection.close()
