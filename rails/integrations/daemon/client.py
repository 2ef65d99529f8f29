"""Asks a project's warm gate, and starts it if needed.

A host waits, so this imports little and only passes data on. Failures are answers too.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from collections.abc import Mapping
from typing import Final

from rails.core.errors import RailsError
from rails.integrations.daemon import place
from rails.integrations.daemon.place import HookAnswer

#: The host's own limit is above this (the installed settings say 60 s), so that the last word is ours.
DEADLINE_SECONDS: Final = 50.0
#: For a new process to be ready to listen.
_START_SECONDS: Final = 15.0
#: One that ends before it has answered is started again: it may have found another that was just ending.
_STARTS: Final = 9


def answer_call(host: str, data: bytes, environment: Mapping[str, str], *, strict: bool = False) -> HookAnswer:
    """Answer a call of ``host``; ``data``: its raw input."""
    until = time.monotonic() + DEADLINE_SECONDS
    named = environment.get("CLAUDE_PROJECT_DIR", "") if host == "claude-code" else ""
    folder = named or _folder_of(data)
    head = {"host": host, "folder": named, "strict": strict, "bytes": len(data)}
    try:
        file = place.socket_of(place.project_around(folder))
        said = _ask(file, json.dumps(head).encode() + b"\n" + data, folder, until)
        return HookAnswer(**json.loads(said))
    except (RailsError, OSError, ValueError, TypeError) as error:
        return _unanswered(host, data, named, str(error) or type(error).__name__, strict=strict)


def let_go(project: str) -> None:
    """Have a running gate close its logs until the next call."""
    with contextlib.suppress(RailsError, OSError):
        _exchange(place.socket_of(project), b'{"rest": true, "bytes": 0}\n', time.monotonic() + _START_SECONDS)


def _folder_of(data: bytes) -> str:
    try:
        return str(json.loads(data)["cwd"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return os.getcwd()  # noqa: PTH109 - as in place


def _ask(file: str, message: bytes, folder: str, until: float) -> bytes:
    for start in range(_STARTS):
        with contextlib.suppress(FileNotFoundError, ConnectionError):
            said = _exchange(file, message, until)
            if said.endswith(b"\n"):
                return said
        if time.monotonic() > until:
            break
        time.sleep(0.005 * start)  # the first one listens by now, or another does in a moment
        _start(folder)
    raise OSError("the gate did not answer; run: ai-rails doctor")


def _exchange(file: str, message: bytes, until: float) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(max(until - time.monotonic(), 0.01))
        connection.connect(file)
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def _start(folder: str) -> None:
    """Start the gate of ``folder``'s project in its own session, and wait until it listens.

    A fork of this process (single-threaded), to save imports. A pipe closes once it listens or ended, as polling is
    slower.
    """
    ready, told = os.pipe()
    if os.fork():
        os.close(told)
        select.select([ready], [], [], _START_SECONDS)
        os.close(ready)
        return
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # whoever reads what this process prints does not wait for the gate
            os.dup2(null, number)
        from pathlib import Path

        from rails.integrations.daemon.server import serve

        serve(Path(place.project_around(folder)), on_ready=lambda: os.close(told))
    finally:
        os._exit(0)


def _unanswered(host: str, data: bytes, folder: str, why: str, *, strict: bool) -> HookAnswer:
    from pathlib import Path

    from rails.integrations.hooks.contract import HookCall, host_of, not_judged, read_hook_call

    try:
        call = read_hook_call(host, data, folder)
    except ValueError as error:
        call = HookCall(host, "before", "", Path())
        why = f"the host's input is not JSON ({error})"
    if call is None:
        return HookAnswer()
    return host_of(host).printed(call, not_judged(call, why, strict=strict))
