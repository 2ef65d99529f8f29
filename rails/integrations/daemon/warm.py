"""The sessions of a project's warm gate, and their gate.

Imports are local: git and ruff run meanwhile on the first call.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rails.core.errors import RailsError
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.hosts import host_of, read_hook_call

if TYPE_CHECKING:
    from rails.gate.gate import Gate
    from rails.integrations.hooks.contract import HookCall
    from rails.session.hook_session import HostedSession


class WarmGate:
    """Answers a project's calls. Sessions stay open; each serves one call at a time."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._sessions: dict[tuple[str, str], HostedSession] = {}
        self._turn = threading.Lock()

    @cached_property
    def gate(self) -> Gate:
        """The shared gate, made on first use."""
        from rails.gate.gate import Gate

        return Gate(self.project)

    def answer(self, head: Mapping[str, object], data: bytes) -> HookAnswer:
        """Return the answer to one call."""
        if head.get("rest") is True:
            self.rest()
            return HookAnswer()
        name = str(head.get("host"))
        host = host_of(name)
        told = head.get("environment")
        if host is None:
            return HookAnswer("", "ai-rails hook: this host is not known.\n", 1)
        try:
            call = read_hook_call(name, data, told if isinstance(told, dict) else {})
        except ValueError as error:
            return HookAnswer("", f"ai-rails hook: the host's input cannot be read: {error}\n", 1)
        if call is None:
            return HookAnswer()
        with self._turn:  # a log has one writer, and a gate judges one change set at a time anyway
            from rails.integrations.hooks.handle import handle

            answer = handle(host, call, self._session, strict=head.get("strict") is True)
            if call.event == "end":
                self._forget(call)
        return answer

    def rest(self) -> None:
        """Close the logs until the next write, so that others may write them."""
        with self._turn:
            for session in self._sessions.values():
                with contextlib.suppress(RailsError):
                    session.close()

    def _session(self, call: HookCall) -> HostedSession:
        from rails.session.hook_session import HostedSession

        key = (call.host, call.session)
        if key not in self._sessions:
            session = HostedSession(self.project, self.gate, call.host, call.session, model=call.model)
            self._sessions[key] = session
        return self._sessions[key]

    def _forget(self, call: HookCall) -> None:
        if session := self._sessions.pop((call.host, call.session), None):
            session.close()

    def close(self) -> None:
        """Close every log and the gate."""
        self.rest()
        self.gate.close()
