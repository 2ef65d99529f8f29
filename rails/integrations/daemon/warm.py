"""The sessions of a project's warm gate, and their gate.

Imports are local: git and ruff run meanwhile on the first call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rails.core.errors import RailsError
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.contract import HookCall, host_of, read_hook_call

if TYPE_CHECKING:
    from rails.gate.gate import Gate
    from rails.session.hook_session import HostedSession


class WarmGate:
    """Answers a project's calls, one at a time. Sessions stay open."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._sessions: dict[tuple[str, str], HostedSession] = {}

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
        try:
            host = host_of(name)
            call = read_hook_call(name, data, str(head.get("folder", "")))
        except ValueError as error:
            return HookAnswer("", f"ai-rails hook: the host's input cannot be read: {error}\n", 1)
        if call is None:
            return HookAnswer()
        from rails.integrations.hooks.handle import handle

        answer = handle(host, call, self._session, strict=head.get("strict") is True)
        if call.event == "end" and (session := self._sessions.pop((call.host, call.session), None)):
            session.close()
        return answer

    def rest(self) -> None:
        """Close the logs until the next write, so that others may write them."""
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

    def close(self) -> None:
        """Close every log and the gate."""
        self.rest()
        self.gate.close()
