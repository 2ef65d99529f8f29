"""One HTTP exchange with every bound that matters, on the standard library alone.

Rules: redirects are never followed (an answer must come from the address that a person approved); proxies
of the environment are not used; a name that resolves to a private, loopback or link-local address is
refused unless the address was written as ``localhost``, as a number, or the definition says
``allow_private``; link-local addresses (cloud metadata) are always refused; the connection goes to the
address that was checked. Time and size are bounded over the whole exchange, not per packet.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from rails import __version__
from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.text import one_line

_CHUNK: Final = 65_536
_CONNECT_SECONDS: Final = 10.0


class ExchangeError(Exception):
    """No usable answer came. ``is_network`` is whether another try could help."""

    def __init__(self, message: str, *, is_network: bool = False) -> None:
        super().__init__(message)
        self.is_network = is_network


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a server answered. ``headers`` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
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
    """Send one request and return the whole answer. Raises ExchangeError; never retries."""
    deadline = time.monotonic() + seconds
    parts = _split(url)
    address = _resolve(parts, allow_private=allow_private)
    connection = _connection(parts, address, min(seconds, _CONNECT_SECONDS))
    try:
        _send(connection, method, parts, headers, body)
        return _receive(connection, deadline, seconds)
    except TimeoutError:
        raise ExchangeError(f"no complete answer within {seconds:.3g} s", is_network=True) from None
    except ValueError as error:
        raise ExchangeError(f"the request cannot be sent: {one_line(str(error), 200)}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = one_line(str(error) or type(error).__name__, 200)
        raise ExchangeError(f"the connection to {parts.hostname} failed: {reason}", is_network=True) from None
    finally:
        connection.close()


def checked_address(url: str, *, allow_private: bool) -> str:
    """Return the address that a request to ``url`` may go to. Raises ExchangeError."""
    return _resolve(_split(url), allow_private=allow_private)


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
    """Return the address to connect to, once all addresses of the name are allowed."""
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
    plain = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped else ip
    if plain.is_link_local or plain.is_multicast or plain.is_unspecified:
        return "a link-local, multicast or empty address, which tools never reach"
    written_out = host in ("localhost", address, str(plain)) or host.endswith(".localhost")
    if not plain.is_global and not (allow_private or written_out):
        return 'a private address. Add "allow_private": true to the transport if that is meant'
    return ""


def _connection(parts: SplitResult, address: str, timeout: float) -> http.client.HTTPConnection:
    """Connect to ``address`` while speaking to the host by its name, so that the name cannot move between."""
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        plain = socket.create_connection((address, port), timeout)
        if secure:
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        else:
            connection.sock = plain
    except OSError as error:
        raise ExchangeError(
            f"{host}:{port} could not be reached: {one_line(str(error), 200)}", is_network=True
        ) from None
    return connection


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    parts: SplitResult,
    headers: Mapping[str, str],
    body: bytes | None,
) -> None:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    own = {"User-Agent": f"ai-rails/{__version__}", "Accept-Encoding": "identity", "Connection": "close"}
    connection.request(method, target, body=body, headers={**own, **headers})


def _receive(connection: http.client.HTTPConnection, deadline: float, seconds: float) -> HttpResponse:
    _rest(connection, deadline, seconds)
    response = connection.getresponse()
    body = bytearray()
    while True:
        _rest(connection, deadline, seconds)
        chunk = response.read1(_CHUNK)
        if not chunk:
            break
        body += chunk
        if len(body) > limits.OUTPUT_BYTES:
            raise ExchangeError(f"the answer has more than {limits.OUTPUT_BYTES} bytes")
    if response.length:
        raise ExchangeError("the answer was cut off", is_network=True)
    headers = {name.casefold(): value for name, value in response.getheaders()}
    return HttpResponse(response.status, headers, bytes(body))


def _rest(connection: http.client.HTTPConnection, deadline: float, seconds: float) -> None:
    """Give the next read what is left of the whole exchange's time."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise ExchangeError(f"no complete answer within {seconds:.3g} s", is_network=True)
    if connection.sock is not None:
        connection.sock.settimeout(left)
