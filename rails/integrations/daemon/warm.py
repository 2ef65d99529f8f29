"""What answers in the warm gate of a project: its sessions, and the gate that they share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path

from rails.core.changes import ChangeSet
from rails.core.errors import RailsError
from rails.gate.gate import Gate
from rails.integrations.hooks.contract import HookAnswer, HookCall, HookSettings
from rails.integrations.hooks.handle import handle
from rails.integrations.hooks.hosts import host_of, read_hook_call
from rails.session.hosted import HostedSession


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
            self._begin_with(call)
            self._sessions[key] = HostedSession(self.project, self.gate, call.host, call.session, model=call.model)
        return self._sessions[key]

    def _begin_with(self, call: HookCall) -> None:
        """Have the gate look at what is proposed while a new session takes its snapshot: both mostly wait."""
        host = host_of(call.host) if call.event == "before" else None
        proposal = host.proposed(call, self.project) if host else None
        for change in proposal.changes[:1] if isinstance(proposal, ChangeSet) else ():
            if change.after is not None:
                self.gate.prefetch(str(change.path), change.after.decode("utf-8", "replace"))

    def _forget(self, call: HookCall) -> None:
        if session := self._sessions.pop((call.host, call.session), None):
            session.close()

    def close(self) -> None:
        """Close every log and the gate."""
        for session in self._sessions.values():
            with contextlib.suppress(RailsError):
                session.close()
        self.gate.close()
