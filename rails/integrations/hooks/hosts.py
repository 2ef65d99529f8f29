"""The hosts whose hooks are answered, by name, and the call in a host's input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from rails.integrations.hooks import claude_code, codex, cursor, gemini
from rails.integrations.hooks.contract import HookCall, Host

_HOSTS: Final[Mapping[str, Host]] = {one.NAME: one for one in (claude_code, codex, gemini, cursor)}


def host_of(name: str) -> Host | None:
    """Return the module of a host, ``None`` for one that there is not."""
    return _HOSTS.get(name)


def read_hook_call(host: Host, data: bytes, environment: Mapping[str, str]) -> HookCall | None:
    """Return the call in a host's input, ``None`` where nothing is to be done. Raises ValueError for no JSON."""
    payload = json.loads(data)
    if not isinstance(payload, dict):
        raise ValueError("the input is not a JSON object")
    return host.call_of(payload, environment)
