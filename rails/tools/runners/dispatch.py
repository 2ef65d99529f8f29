"""From a validated request to its runner."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rails.core.tool_request import ToolRequest, ToolResult
from rails.tools.registry import Builtin, BuiltinRunner, Command, Definition, Http

if TYPE_CHECKING:
    from rails.tools.runners.command import Contain


def run_request(
    request: ToolRequest,
    definition: Definition,
    project: Path,
    runners: Mapping[str, BuiltinRunner] | None = None,
    keeps_back: Callable[[str], str] | None = None,
    *,
    contain: Contain | None = None,
) -> ToolResult:
    """Run a validated, approved request, by the ``definition`` that validated it.

    ``runners``: the registry's; ``keeps_back``: why a file is not shown (""); ``contain``: the session's sandbox. Edit
    tools and a changed definition give a failed result.
    """
    started = time.perf_counter()
    if definition.digest != request.definition_digest:
        result = ToolResult(False, f"The definition of {definition.tool_name} changed after the request was checked.")
    elif definition.effect == "edit":
        result = ToolResult(False, f"{definition.tool_name} is an edit; edits are planned, checked and approved first.")
    elif runner := (runners or {}).get(getattr(definition.transport, "name", "")):
        result = runner(request.parameters, project)
    else:
        result = _run(request, definition, project, keeps_back, contain)
    return replace(result, duration_ms=(time.perf_counter() - started) * 1000)


def _run(
    request: ToolRequest,
    definition: Definition,
    project: Path,
    keeps_back: Callable[[str], str] | None,
    contain: Contain | None,
) -> ToolResult:
    """Return a result, failures included; raises only for our bugs.

    Nothing started stays, no secret is in the result.
    """
    match definition.transport:
        case Builtin():
            from rails.tools.runners.files import run_builtin_tool

            return run_builtin_tool(request, definition, project, keeps_back)
        case Command():
            from rails.tools.runners.command import run_command_tool

            return run_command_tool(request, definition, project, contain)
        case Http():
            from rails.tools.runners.http import run_http_tool

            return run_http_tool(request, definition, project)
        case _:
            from rails.tools.runners.mcp import run_mcp_tool

            return run_mcp_tool(request, definition, project)
