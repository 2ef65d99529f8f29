"""A project's warm gate: serves hooks on a private socket until ten minutes idle.

One per project, version and Python (:mod:`~rails.integrations.daemon.place`), for this user only. In: a line of JSON
and the host's input; out: a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rails.core.lock import held
from rails.integrations.daemon import place
from rails.integrations.daemon.warm import WarmGate

#: How long nobody may ask before the process ends.
IDLE_SECONDS: Final = 600.0
#: Calls that are answered at a time; more wait.
_AT_ONCE: Final = 16
#: A host's input: a file of the largest size, as JSON.
_INPUT_BYTES: Final = 32_000_000
#: For the whole input to come.
_READ_SECONDS: Final = 20.0


def serve(project: Path, *, idle: float = IDLE_SECONDS, on_ready: Callable[[], object] = lambda: None) -> None:
    """Serve until ``idle`` seconds pass without a call; return at once if another serves.

    ``on_ready``: called when listening.
    """
    file = Path(place.socket_of(str(project)))
    with held(file.with_suffix(".lock")) as mine:
        if not mine:
            return
        file.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(file))
            file.chmod(0o600)
            listening.listen(64)
            on_ready()
            warm = WarmGate(project)
            try:
                _loop(listening, warm, idle)
            finally:
                file.unlink(missing_ok=True)
                warm.close()


def _loop(listening: socket.socket, warm: WarmGate, idle: float) -> None:
    slots = threading.Semaphore(_AT_ONCE)
    working: set[threading.Thread] = set()
    listening.settimeout(1.0)
    quiet = time.monotonic()
    file = Path(listening.getsockname())
    while working or time.monotonic() < quiet + idle:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            working = {thread for thread in working if thread.is_alive()}
            if not file.exists() or place.socket_of(str(warm.project)) != str(
                file
            ):  # somebody cleaned up, or an upgrade
                idle = 0.0
            continue
        quiet = time.monotonic()
        slots.acquire()
        thread = threading.Thread(target=_serve_one, args=(connection, warm, slots), daemon=True)
        working.add(thread)
        thread.start()


def _serve_one(connection: socket.socket, warm: WarmGate, slots: threading.Semaphore) -> None:
    try:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(_READ_SECONDS)
            head, data = _read(connection)
            answer = warm.answer(head, data)
            line = json.dumps({"out": answer.out, "err": answer.err, "code": answer.code})
            connection.settimeout(_READ_SECONDS)
            connection.sendall(line.encode() + b"\n")
    finally:
        slots.release()


def _read(connection: socket.socket) -> tuple[Mapping[str, object], bytes]:
    """Return a message's head and input. Raises ValueError if invalid or too long."""
    message = bytearray()
    while part := connection.recv(1 << 16):
        message += part
        if len(message) > _INPUT_BYTES:
            raise ValueError("the input is too long")
    line, _, data = bytes(message).partition(b"\n")
    head = json.loads(line)
    if not isinstance(head, dict) or head.get("bytes") != len(data):
        raise ValueError("the input broke off")
    return head, data
