"""HTTP on loopback: uvicorn in a thread. Stalled connections end after a time; if too many are open, the longest
stalled does, so that floods lock nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from rails.core import limits
from rails.review.web.guard import HEADERS

_BACKLOG: Final = 1_024
#: Connections that are taken before others are ended for them: few, or a flood uses up the files in one go.
_BATCH: Final = 8
#: Open files that are left to the rest of the process: logs, the index, a run with its programs.
_OTHER_FILES: Final = 128
_FEWEST: Final = 32
_ENDING_S: Final = 2
_JOIN_S: Final = 10.0


class LoopbackServer:
    """Listens on ``127.0.0.1`` at once, answers after :meth:`start`. Raises OSError."""

    def __init__(self, port: int) -> None:
        # With its protocol named: asyncio sends small pieces at once (TCP_NODELAY) on no other.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(_BACKLOG)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self, app: ASGIApp) -> None:
        """Answer in a thread of its own."""
        server = _Server(_Config(app, most_connections()), self._socket)
        self._server = server
        self._thread = threading.Thread(target=lambda: asyncio.run(server.serve([self._socket])), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Return when the server has stopped; an interrupt comes through."""
        while self._thread and self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """Stop answering and end what is open."""
        if self._server and self._thread:
            self._server.stop()
            self._thread.join(_JOIN_S)
        self._socket.close()


def most_connections() -> int:
    """Return how many connections may be open, after raising the limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.PAGE_CONNECTIONS + _OTHER_FILES
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        return limits.PAGE_CONNECTIONS
    return max(_FEWEST, min(limits.PAGE_CONNECTIONS, soft - _OTHER_FILES))


class _Config(uvicorn.Config):
    def __init__(self, app: ASGIApp, most: int) -> None:
        super().__init__(
            app,
            http=_Connection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",  # request lines, and connections that broke, are not ours to print
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("Server", "ai-rails")],
            backlog=_BATCH,
            timeout_keep_alive=limits.PAGE_IDLE_SECONDS,
            timeout_graceful_shutdown=_ENDING_S,
        )
        self.room = _Room(most)


class _Server(uvicorn.Server):
    def __init__(self, config: _Config, listening: socket.socket) -> None:
        super().__init__(config)
        self._listening = listening
        self._wake: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def stop(self) -> None:
        self.should_exit = True
        if self._wake:
            loop, event = self._wake
            with contextlib.suppress(RuntimeError):  # it has ended already
                loop.call_soon_threadsafe(event.set)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        loop.set_exception_handler(lambda *_: None)  # the terminal belongs to the user
        self._listening.listen(_BACKLOG)  # asyncio has set it to as many as it takes at once
        self._wake = loop, event
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), 1.0)


class _Room:
    """The connections without a request, the longest waiting first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[_Connection, None] = {}

    def wait(self, connection: _Connection, count: int) -> None:
        """Let a connection wait; if ``count`` is too many, the first one makes room."""
        self._waiting[connection] = None
        if count > self._most:
            first = next(iter(self._waiting))
            del self._waiting[first]
            first.make_room()

    def leave(self, connection: _Connection) -> None:
        self._waiting.pop(connection, None)


class _LingeringTransport:
    """Ends its own side on ``close``, reading on until the other ends: closing with unread bytes resets and loses the
    answer (RFC 9112, section 9.6).
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._lingering = False
        self.close_now = transport.close

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._lingering or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        self._lingering = True
        with contextlib.suppress(OSError, RuntimeError):  # the other side has gone
            self._transport.write_eof()
            self._transport.resume_reading()
        self._loop.call_later(limits.PAGE_LINGER_SECONDS, self._transport.close)


class _Connection(H11Protocol):
    """A connection whose request must come, and answer be read, in time."""

    config: _Config
    _lingering: _LingeringTransport
    _coming: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._lingering = _LingeringTransport(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", self._lingering))
        self._expect()
        self.config.room.wait(self, len(self.connections))

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return  # the rest of a request that has its answer
        super().data_received(data)
        if self.cycle and not self.cycle.response_complete and not self.cycle.more_body:
            self._forget()
        elif not self.transport.is_closing():
            self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self.config.room.wait(self, 0)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(limits.PAGE_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_again()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)
        self._read_again()

    def send_400_response(self, msg: str) -> None:
        del msg
        self._refuse(400, "This request cannot be answered.")

    def make_room(self) -> None:
        if self._coming and self.conn.our_state is h11.IDLE:
            self._refuse(503, "Too many connections are open.")
            self._lingering.close_now()  # its file is needed
        else:
            self.transport.abort()

    def _refuse(self, status: int, words: str) -> None:
        headers = [*HEADERS.items(), ("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase),
            h11.Data(data=words.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect(self) -> None:
        if self._coming is None:
            self._coming = self.loop.call_later(limits.PAGE_REQUEST_SECONDS, self.transport.abort)

    def _forget(self) -> None:
        if self._coming:
            self._coming.cancel()
        self._coming = None
        self.config.room.leave(self)

    def _read_again(self) -> None:
        if self._unread:
            self._unread.cancel()
        self._unread = None
