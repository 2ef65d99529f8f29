"""The warm gate of one project: answers hooks over a private socket until nobody has asked for ten minutes.

One process for each project, version and Python (:mod:`~rails.integrations.daemon.place`). A line of JSON and the
host's input come in, one line of JSON goes out. Only processes of the same user are answered.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.errors import RailsError
from rails.core.lock import held
from rails.gate.gate import Gate
from rails.integrations.daemon import place
from rails.integrations.hooks.contract import HookAnswer, HookCall, HookSettings
from rails.integrations.hooks.handle import handle
from rails.integrations.hooks.hosts import host_of, read_hook_call
from rails.session.hosted import HostedSession

#: How long nobody may ask before the process ends.
IDLE_SECONDS: Final = 600.0
#: Calls that are answered at a time; more wait.
_AT_ONCE: Final = 16
#: A host's input: a file of the largest size, as JSON.
_INPUT_BYTES: Final = 32_000_000
_HEAD_BYTES: Final = 65_536
#: For the whole input to come.
_READ_SECONDS: Final = 20.0


class WarmGate:
    """Answers calls about one project. Sessions stay open; each is used by one call at a time."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.gate = Gate(project)
        self._sessions: dict[tuple[str, str], HostedSession] = {}
        self._turn = threading.Lock()

    def answer(self, head: Mapping[str, object], data: bytes) -> HookAnswer:
        """Return the answer to one call."""
        host = host_of(str(head.get("host")))
        told = head.get("environment")
        if host is None:
            return HookAnswer("", "ai-rails hook: this host is not known.\n", 1)
        settings = HookSettings(strict=head.get("strict") is True, rewrite=head.get("rewrite") is True)
        try:
            call = read_hook_call(host, data, told if isinstance(told, dict) else {})
        except ValueError as error:
            return HookAnswer("", f"ai-rails hook: the host's input cannot be read: {error}\n", 1)
        if call is None:
            return HookAnswer()
        with self._turn:  # a log has one writer, and a gate judges one change set at a time anyway
            answer = handle(host, call, self._session, settings)
            if call.event == "end":
                self._forget(call)
        return answer

    def _session(self, call: HookCall) -> HostedSession:
        key = (call.host, call.session)
        if key not in self._sessions:
            self._sessions[key] = HostedSession(self.project, self.gate, call.host, call.session, model=call.model)
        return self._sessions[key]

    def _forget(self, call: HookCall) -> None:
        if session := self._sessions.pop((call.host, call.session), None):
            session.close()

    def close(self) -> None:
        """Close every log and the gate."""
        for session in self._sessions.values():
            with contextlib.suppress(RailsError):
                session.close()
        self.gate.close()


def serve(project: Path, *, idle: float = IDLE_SECONDS) -> None:
    """Answer calls until nobody has asked for ``idle`` seconds. Returns at once where somebody serves already."""
    file = place.socket_of(project)
    with held(file.with_suffix(".lock")) as mine:
        if not mine:
            return
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
        warm = WarmGate(project)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(file))
            file.chmod(0o600)
            listening.listen(64)
            try:
                _loop(listening, warm, idle)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    file.unlink()
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
            if not file.exists() or place.socket_of(warm.project) != file:  # somebody cleaned up, or an upgrade
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
            place.require_own(connection)
            head, data = _read(connection)
            answer = warm.answer(head, data)
            line = json.dumps({"out": answer.out, "err": answer.err, "code": answer.code})
            connection.settimeout(_READ_SECONDS)
            connection.sendall(line.encode() + b"\n")
    finally:
        slots.release()


def _read(connection: socket.socket) -> tuple[Mapping[str, object], bytes]:
    """Return the head and the input of a message. Raises ValueError for one that is none or too long."""
    got = b""
    while b"\n" not in got:
        part = connection.recv(1 << 16)
        got += part
        if not part or (len(got) > _HEAD_BYTES and b"\n" not in got):
            raise ValueError("there is no head")
    line, _, body = got.partition(b"\n")
    head = json.loads(line)
    size = head.get("bytes") if isinstance(head, dict) else None
    if not isinstance(size, int) or not 0 <= size <= _INPUT_BYTES:
        raise ValueError("the size is none")
    parts, length = [body], len(body)
    while length < size:
        part = connection.recv(1 << 16)
        if not part:
            raise ValueError("the input broke off")
        parts.append(part)
        length += len(part)
    return head, b"".join(parts)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
