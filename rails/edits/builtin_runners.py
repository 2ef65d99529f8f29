"""Runners of built-in tools that need packages which ``tools`` may not import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rails.core.builtin_tools import N8N_NODE_INFO
from rails.core.plugins import plugin_of
from rails.core.tool_request import Json, ToolResult


def _node_info(parameters: Mapping[str, Json], _project: Path) -> ToolResult:
    return ToolResult(True, plugin_of("n8n").answer(parameters))


#: By the name of the built-in tool, for ``Registry.with_runners``.
BUILTIN_RUNNERS: Final[Mapping[str, Callable[[Mapping[str, Json], Path], ToolResult]]] = {
    N8N_NODE_INFO.name: _node_info
}
