"""A project's warm gate: serves hooks on a private socket until ten minutes idle.

One per project, version and Python (:mod:`~rails.integrations.daemon.place`), for this user only. In: a line of JSON
and the host's input; out: a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rails.core.errors import FAULT
from rails.core.lock import held
from rails.integrations.daemon import place
from rails.integrations.daemon.warm import WarmGate

#: How long nobody may ask before the process ends.
IDLE_SECONDS: Final = 600.0
#: Calls that wait: one is answered at a time, as a log has one writer, and a gate judges one change set.
_WAITING: Final = 64
#: A host's input: a file of the largest size, as JSON.
_INPUT_BYTES: Final = 32_000_000
#: For the next piece of an input to come: the others wait meanwhile.
_READ_SECONDS: Final = 5.0


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
            listening.listen(_WAITING)
            on_ready()
            warm = WarmGate(project)
            try:
                _loop(listening, warm, idle)
            finally:
                file.unlink(missing_ok=True)
                warm.close()


def _loop(listening: socket.socket, warm: WarmGate, idle: float) -> None:
    listening.settimeout(1.0)
    file = listening.getsockname()
    quiet = time.monotonic()
    while time.monotonic() < quiet + idle:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            # Somebody cleaned up, or an upgrade.
            if not Path(file).exists() or place.socket_of(str(warm.project)) != file:
                return
        else:
            _serve_one(connection, warm)
            quiet = time.monotonic()


def _serve_one(connection: socket.socket, warm: WarmGate) -> None:
    """Answer a message whose head says how long its input is; one that is not whole has no answer."""
    connection.settimeout(_READ_SECONDS)
    with connection, contextlib.suppress(*FAULT), connection.makefile("rb") as given:
        head = json.loads(given.readline(_INPUT_BYTES))
        data = given.read(_INPUT_BYTES)
        if isinstance(head, dict) and head.get("bytes") == len(data):
            connection.sendall(json.dumps(vars(warm.answer(head, data))).encode() + b"\n")
