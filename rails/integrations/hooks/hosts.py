"""The known hosts by name."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Final

from rails.integrations.hooks.contract import HookCall, hook_call

if TYPE_CHECKING:
    from rails.integrations.hooks.contract import Host

_HOSTS: Final = ("claude-code", "codex", "gemini")


def host_of(name: str) -> Host:
    """Return a host's module; imports only that one. Raises ValueError for an unknown one."""
    if name not in _HOSTS:
        raise ValueError("this host is not known")
    module: Host = importlib.import_module(f"rails.integrations.hooks.{name.replace('-', '_')}")
    return module


def read_hook_call(host: str, data: bytes, folder: str) -> HookCall | None:
    """Return the call in a host's input, or None for an ignored event. Raises ValueError for invalid JSON.

    ``folder``: the project, where the host names it beside its input.
    """
    try:
        payload = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(payload, dict):
        raise ValueError("the input is not a JSON object")
    # A host whose input has another form reads it by itself.
    call_of = getattr(host_of(host), "call_of", hook_call)
    return call_of(host, payload, folder)  # type: ignore[no-any-return]
