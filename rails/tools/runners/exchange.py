"""One HTTP exchange, bounded in time and size as a whole.

Redirects are never followed (a person approved the address), nor the environment's proxies used; private, loopback or
link-local addresses are refused unless written as ``localhost``, a number, or ``allow_private``; link-local ones (cloud
metadata) always; the connection goes to the checked address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx2
from msgspec import Struct

from rails import __version__
from rails.core import limits
from rails.core.text import one_line
from rails.sandbox.process import POLL_S, WATCHED

_T = TypeVar("_T")


class ExchangeError(Exception):
    """No usable answer. ``is_network``: another try could help."""

    def __init__(self, message: str, *, is_network: bool = False) -> None:
        super().__init__(message)
        self.is_network = is_network


class HttpResponse(Struct, frozen=True):
    """A server's answer. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The lower-case content type without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().casefold()


def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None,
    seconds: float,
    allow_private: bool = False,
) -> HttpResponse:
    """Send one request. Raises ExchangeError; never retries."""
    own = {"User-Agent": f"ai-rails/{__version__}", **headers}

    async def send() -> HttpResponse:
        with anyio.fail_after(seconds):
            checked = CheckedTransport(limits.OUTPUT_BYTES, allow_private=allow_private)
            async with client_over(checked, {}) as client:
                answer = await client.request(method, url, headers=own, content=body)
                return HttpResponse(answer.status_code, dict(answer.headers), answer.content)

    host = _split(url).hostname
    try:
        return in_event_loop(send)
    except TimeoutError:
        raise ExchangeError(f"no complete answer within {seconds:.3g} s", is_network=True) from None
    except (httpx2.LocalProtocolError, httpx2.InvalidURL, ValueError) as error:
        raise ExchangeError(f"the request cannot be sent: {one_line(str(error), 200)}") from None
    except httpx2.HTTPError as error:
        reason = one_line(str(error) or type(error).__name__, 200)
        raise ExchangeError(f"the connection to {host} failed: {reason}", is_network=True) from None


def client_over(transport: CheckedTransport, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client without the environment's settings; the caller bounds time."""
    own = {"Accept-Encoding": "identity", **headers}
    return httpx2.AsyncClient(transport=transport, headers=own, timeout=None, trust_env=False)


def in_event_loop(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Return ``work``'s result, even under a running event loop; whoever watches this thread's commands may end it."""
    watched = WATCHED.get()

    async def run() -> _T:
        task = asyncio.ensure_future(work())
        while not (await asyncio.wait((task,), timeout=POLL_S))[0]:
            watched(b"", False)
        return task.result()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(run)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: anyio.run(run)).result()


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Connects only to a checked address (resolved once, TLS keeps the name); takes at most ``most`` bytes."""

    def __init__(self, most: int, *, allow_private: bool) -> None:
        self._most = most
        self._allow_private = allow_private
        self._inner = httpx2.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return one answer. Raises ExchangeError."""
        url = request.url
        private = self._allow_private
        address = await anyio.to_thread.run_sync(
            lambda: _resolve(_split(str(url)), allow_private=private), abandon_on_cancel=True
        )
        request.url = url.copy_with(host=address)
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ExchangeError("the answer is compressed, which nobody asked for")
        response.stream = _Bounded(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, most: int) -> None:  # noqa: ANN401 - the library's own
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._stream:
            total += len(chunk)
            if total > self._most:
                raise ExchangeError(f"the answer has more than {self._most} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ExchangeError(f"{one_line(url)!r} is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ExchangeError(f"{one_line(url)!r} is not an http or https address")
    if parts.username or parts.password:
        raise ExchangeError("an address must not hold a user name or password; use a header and a secret")
    return parts


def _resolve(parts: SplitResult, *, allow_private: bool) -> str:
    host = parts.hostname or ""
    try:
        found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ExchangeError(f"the host {one_line(host)} was not found: {error}", is_network=True) from None
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        reason = _refused(address, host, allow_private=allow_private)
        if reason:
            raise ExchangeError(f"the host {one_line(host)} is at {address}, {reason}")
    return addresses[0]


def _refused(address: str, host: str, *, allow_private: bool) -> str:
    ip = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(ip, "ipv4_mapped", None) or ip
    if plain.is_link_local or plain.is_multicast or plain.is_unspecified:
        return "a link-local, multicast or empty address, which tools never reach"
    written_out = host in ("localhost", address, str(plain)) or host.endswith(".localhost")
    if not plain.is_global and not (allow_private or written_out):
        return 'a private address. Add "allow_private": true to the transport if that is meant'
    return ""
