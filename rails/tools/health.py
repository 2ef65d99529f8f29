"""Is what a tool needs there? Nothing is run to find out.

A program is looked for, a connection is opened and closed, an MCP server is asked for its list of tools.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from rails.core.text import one_line
from rails.tools.registry import Builtin, Command, Definition, Http, Mcp
from rails.tools.runners.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Reached:
    """Whether a tool could be used now, why, and how long it took to find out."""

    ok: bool
    text: str
    duration_ms: float = 0.0


def reach(definition: Definition, project: Path, *, seconds: float = 10.0) -> Reached:
    """Find out whether what the tool needs is there, without running it."""
    started = time.perf_counter()
    secrets = Secrets.find(definition.secrets, project)
    found = Reached(False, secrets.complaint()) if secrets.missing else _look(definition, project, seconds, secrets)
    return replace(found, duration_ms=(time.perf_counter() - started) * 1000)


def _look(definition: Definition, project: Path, seconds: float, secrets: Secrets) -> Reached:
    transport = definition.transport
    match transport:
        case Builtin():
            return Reached(True, "built in")
        case Command():
            return _program(transport.command[0], project)
        case Http():
            return _port(os.environ.get(transport.endpoint_env) or transport.endpoint, transport.endpoint_env, seconds)
        case Mcp():
            return _server(transport, project, seconds, secrets)


def _program(name: str, project: Path) -> Reached:
    from rails.tools.runners.command import clean_environment, find_program

    found = find_program(name, clean_environment(project)["PATH"], project)
    return Reached(True, found) if found else Reached(False, f"the program {one_line(name)!r} was not found")


def _port(endpoint: str, variable: str, seconds: float) -> Reached:
    if not endpoint:
        return Reached(False, f"no address; set {variable}")
    parts = urlsplit(endpoint)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    try:
        socket.create_connection(place, seconds).close()
    except OSError as error:
        return Reached(False, f"{place[0]}:{place[1]} could not be reached: {one_line(str(error), 200)}")
    return Reached(True, f"{place[0]}:{place[1]} accepts connections")


def _server(transport: Mcp, project: Path, seconds: float, secrets: Secrets) -> Reached:
    from rails.tools.runners.jsonrpc import McpError
    from rails.tools.runners.mcp import list_tools

    try:
        tools = list_tools(transport, project, seconds, secrets)
    except McpError as error:
        return Reached(False, str(error))
    if transport.tool not in {tool.get("name") for tool in tools}:
        return Reached(False, f"the server answers, but has no tool {transport.tool!r}")
    return Reached(True, f"the server answers and has {len(tools)} tools")
