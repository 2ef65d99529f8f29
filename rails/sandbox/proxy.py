"""A proxy on a unix socket: the only way out, to listed hosts.

``bridge.py`` passes the namespace's loopback to it. It resolves names itself and refuses those that lead to this
machine or a private network. Not covered: what a listed host does with the data.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shutil
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import UsageError
from rails.core.scratch import kept_folder, room_for_sockets
from rails.core.text import one_line
from rails.sandbox.bridge import pass_on
from rails.sandbox.values import HOST

#: The script that runs inside.
BRIDGE: Final = Path(__file__).with_name("bridge.py")
_HEAD_BYTES: Final = 16_384
_SECONDS: Final = 30.0
_CONNECTIONS: Final = 64
_PORTS: Final = (80, 443)
_REQUEST: Final = re.compile(rb"([A-Z]+) (?:http://)?([^/ :]+)(?::(\d+))?(/[^ ]*)? HTTP/1\.[01]\r\n", re.ASCII)


def bridged(argv: Sequence[str]) -> tuple[str, ...]:
    """Return ``argv`` behind the bridge."""
    return (sys.executable, "-I", "-S", str(BRIDGE), *argv)


@contextlib.contextmanager
def serve_hosts(hosts: Sequence[str]) -> Iterator[Path]:
    """Yield the socket of a proxy to ``hosts`` (:data:`~rails.sandbox.values.HOST`). Raises UsageError for invalid
    ones.
    """
    for host in hosts:
        if not HOST.fullmatch(host):
            raise UsageError(f"{one_line(host)!r} is not a host's name. Nothing was run.")
    with room_for_sockets():
        folder = kept_folder("proxy")
    place = folder / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place))
        listener.listen(_CONNECTIONS)
        threading.Thread(target=_accept, args=(listener, tuple(hosts)), daemon=True, name="proxy").start()
        try:
            yield place
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            shutil.rmtree(folder, ignore_errors=True)


def _accept(listener: socket.socket, hosts: tuple[str, ...]) -> None:
    room = threading.BoundedSemaphore(_CONNECTIONS)

    def serve(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(_SECONDS)
            _answer(client, hosts)
        room.release()

    with contextlib.suppress(OSError):
        while room.acquire():
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True, name="proxied").start()


def _answer(client: socket.socket, hosts: tuple[str, ...]) -> None:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_BYTES:
        chunk = client.recv(4_096)
        if not chunk:
            return
        head += chunk
    found = _REQUEST.match(head)
    if not found:
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        return
    tunnel = found[1] == b"CONNECT"
    name, port = found[2].decode("ascii", "replace").casefold(), int(found[3] or (443 if tunnel else 80))
    address = allowed_address(name, port, hosts)
    if not address:
        body = f"AI-Rails: {name}:{port} is not on the list of hosts that this command may reach.\n".encode()
        client.sendall(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n" + body)
        return
    with socket.create_connection((address, port), timeout=_SECONDS) as server:
        if tunnel:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            server.sendall(head.partition(b"\r\n\r\n")[2])
        else:
            # One request for one connection: a second one on it could be for another host.
            line = found[1] + b" " + (found[4] or b"/") + b" HTTP/1.1\r\nConnection: close\r\n"
            rest = re.sub(rb"(?im)^(proxy-)?connection:[^\r\n]*\r\n", b"", head[found.end() :])
            server.sendall(line + rest)
        for one in (client, server):
            one.settimeout(None)
        pass_on(client, server)


def allowed_address(name: str, port: int, hosts: Sequence[str]) -> str:
    """Return an allowed address of ``name``, or ""."""
    if not any(names_host(host, name, port) for host in hosts):
        return ""
    if name in ("localhost", "127.0.0.1"):  # only where the list says so itself
        return "127.0.0.1"
    for *_, place in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM):
        if ipaddress.ip_address(place[0]).is_global:
            return str(place[0])
    return ""


def names_host(host: str, name: str, port: int) -> bool:
    """Return whether an entry (:data:`~rails.sandbox.values.HOST`) allows the host."""
    allowed, _, wanted = host.casefold().partition(":")
    if port != int(wanted) if wanted else port not in _PORTS:
        return False
    return name.endswith(allowed[1:]) if allowed.startswith("*.") else name == allowed
