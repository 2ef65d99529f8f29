"""A small HTTP server on loopback whose answers a test scripts."""

import contextlib
import http.server
import json
import threading
from dataclasses import dataclass, field


@dataclass
class Seen:
    method: str
    path: str
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Loopback:
    """``answer(seen)`` returns ``(status, headers, body)``, or ``None`` to drop the connection."""

    answer: object
    seen: list = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def serving(answer):
    state = Loopback(answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen = Seen(self.command, self.path, {k.casefold(): v for k, v in self.headers.items()}, body)
            state.seen.append(seen)
            answered = state.answer(seen)
            if answered is None:
                self.close_connection = True
                self.connection.close()
                return
            status, headers, content = answered
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            sent = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

        def log_message(self, *arguments):
            pass

        def handle(self):
            with contextlib.suppress(OSError, ValueError):
                super().handle()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
