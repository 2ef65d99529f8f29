"""The known hosts by name."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rails.integrations.hooks.contract import HookCall, hook_call

if TYPE_CHECKING:
    from rails.integrations.hooks.contract import Host

_HOSTS: Final = ("claude-code", "codex", "gemini")


def host_of(name: str) -> Host | None:
    """Return a host's module or None; imports only that one."""
    if name not in _HOSTS:
        return None
    module: Host = importlib.import_module(f"rails.integrations.hooks.{name.replace('-', '_')}")
    return module


def read_hook_call(host: str, data: bytes, environment: Mapping[str, str]) -> HookCall | None:
    """Return the call in a host's input, or None for an ignored event. Raises ValueError for invalid JSON."""
    try:
        payload = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(payload, dict):
        raise ValueError("the input is not a JSON object")
    module: Any = host_of(host)
    if hasattr(module, "call_of"):  # a host whose input has another form
        return module.call_of(payload, environment)  # type: ignore[no-any-return]
    folder = environment.get("CLAUDE_PROJECT_DIR", "") if host == "claude-code" else ""
    return hook_call(host, payload, folder)
