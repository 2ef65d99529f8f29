"""The official SDK's MCP client, bounded: time, size, addresses, no redirects.

Imported only to talk to a server: it needs the extra ``mcp``.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, cast

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, Implementation, jsonrpc_message_adapter
from pydantic import ValidationError

from rails import __version__
from rails.core import limits
from rails.core.text import one_line
from rails.sandbox.output import Kept
from rails.tools.runners.exchange import CheckedTransport, ExchangeError, client_over, in_event_loop

if TYPE_CHECKING:
    from mcp.client._transport import Transport

    from rails.sandbox.process import PipedProcess

_BYTES: Final = limits.OUTPUT_BYTES * 4
_GOODBYE_SECONDS: Final = 2.0
#: Its own words go to whoever reads our standard error; what matters of them is in the answer.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
_T = TypeVar("_T")


class TalkError(Exception):
    """The server gave no usable answer. Text for the model and the user."""


def talk_http(
    url: str,
    headers: Mapping[str, str],
    work: Callable[[Client], Awaitable[_T]],
    seconds: float,
    *,
    allow_private: bool,
) -> _T:
    """Return ``work``'s result within ``seconds``. Raises TalkError."""
    reached = _Reached(_BYTES, allow_private=allow_private)

    @asynccontextmanager
    async def connected() -> AsyncIterator[Any]:
        async with client_over(reached, headers) as http, streamable_http_client(url, http_client=http) as streams:
            yield streams

    return _talk(connected(), work, seconds, lambda error: reached.status if error else "")


def talk_stdio(process: PipedProcess, work: Callable[[Client], Awaitable[_T]], seconds: float) -> _T:
    """Return ``work``'s result within ``seconds``. Raises TalkError."""
    errors = Kept(8_000)

    def ending(error: MCPError | None) -> str:
        with suppress(OSError, ValueError):
            assert process.stderr
            errors.add(os.read(process.stderr.fileno(), 65_536))
        said = errors.text().strip()
        words = f": {one_line(said[-400:], 400)}" if said else ""
        closed = error is not None and error.code == CONNECTION_CLOSED
        return f"the server ended without an answer{words}" if closed else words if error is None else ""

    return _talk(_over_pipes(process, errors), work, seconds, ending)


def _talk(
    transport: AbstractAsyncContextManager[Any],
    work: Callable[[Client], Awaitable[_T]],
    seconds: float,
    ending: Callable[[MCPError | None], str],
) -> _T:
    """Run ``work``. ``ending`` explains a protocol error or time-out (None), or ""."""
    found: list[_T] = []

    async def talk() -> _T:
        with anyio.move_on_after(seconds) as scope:
            own = Implementation(name="ai-rails", version=__version__)
            async with Client(cast("Transport", transport), client_info=own, cache=None) as client:
                found.append(await work(client))
                # What is known stays known, however the server takes the good-bye.
                scope.deadline = min(scope.deadline, anyio.current_time() + _GOODBYE_SECONDS)
        if not found:
            raise TimeoutError
        return found[0]

    try:
        return in_event_loop(talk)
    except Exception as error:  # whatever a server's answer makes the SDK raise
        raise TalkError(_words(error, seconds, ending)) from None


def _words(error: BaseException, seconds: float, ending: Callable[[MCPError | None], str]) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return "; ".join(filter(None, (one_line(error.error.message, 400), ending(error))))
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return f"no complete answer within {seconds:g} s{ending(None)}"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return f"the server's answer is not one of the protocol: {place}: {first['msg']}"
    what = one_line(str(error).partition("\n")[0] or type(error).__name__, 400)
    return what if isinstance(error, TalkError | ExchangeError) else f"the server cannot be talked to: {what}"


class _Reached(CheckedTransport):
    """Notes a failed answer's status, unknown to the SDK; refuses redirects."""

    status = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.has_redirect_location:
            raise ExchangeError("the server redirects; redirects are not followed")
        self.status = f"the server answered with status {response.status_code}" if response.is_error else ""
        return response


@asynccontextmanager
async def _over_pipes(process: PipedProcess, errors: Kept) -> AsyncIterator[Any]:
    """Yield a server's streams, a message a line; other lines, such as logs, are left out."""
    stdin = process.stdin
    stdout = process.stdout
    stderr = process.stderr
    assert stdin
    assert stdout
    assert stderr
    arrived, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with arrived:
            async for line in await _reader(stdout):
                if line.lstrip().startswith(b"{"):
                    await arrived.send(_message(line))

    async def write() -> None:
        with suppress(OSError):  # it ended, which the reader sees
            async with outgoing:
                async for one in outgoing:
                    await _write(stdin, one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def complaints() -> None:
        said = await _reader(stderr)
        while chunk := await said.read(65_536):
            errors.add(chunk)

    async with anyio.create_task_group() as tasks:
        for job in (read, write, complaints):
            tasks.start_soon(job)
        try:
            yield receiving, sending
        finally:
            tasks.cancel_scope.cancel()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _reader(stream: IO[bytes]) -> asyncio.StreamReader:
    """Return a pipe's reader; a line of more than ``_BYTES`` is a ValueError."""
    reader = asyncio.StreamReader(_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
    return reader


async def _write(stream: IO[bytes], data: bytes) -> None:
    os.set_blocking(stream.fileno(), False)
    rest = memoryview(data)
    while rest:
        await anyio.wait_writable(stream.fileno())
        with suppress(BlockingIOError):
            rest = rest[os.write(stream.fileno(), rest[:65_536]) :]
