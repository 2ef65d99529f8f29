"""Checks what a tool needs, without running any.

A program is looked for, a connection opened and closed, an MCP server asked for its tools; a project's only if
trusted, for looking must run nothing else.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from rails.core.text import counted, one_line
from rails.tools.registry import Builtin, Command, Definition, Http, Mcp
from rails.tools.runners.secrets import Secrets

_AT_ONCE: Final = 8
_SECONDS: Final = 10.0


class Reached(Struct, frozen=True):
    """Whether a tool could be used, why, the remedy. ``asked``: False for want of trust."""

    ok: bool
    text: str
    fix: str = ""
    asked: bool = True


def check_health(definitions: Iterable[Definition], project: Path) -> dict[str, Reached]:
    """Return by name whether each tool not built in could be used.

    Side by side. For untrusted ones nothing is started or connected to.
    """
    wanted = [one for one in definitions if not isinstance(one.transport, Builtin)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda one: reach(one, project), wanted)
        return {one.tool_name: reached for one, reached in zip(wanted, found, strict=True)}


def reach(definition: Definition, project: Path) -> Reached:
    """Return whether a tool's needs are there, without running it."""
    secrets = Secrets.find(definition.secrets, project)
    if secrets.missing:
        return Reached(False, f"a secret is missing: {', '.join(secrets.missing)}", secrets.remedy())
    found = _look(definition, project, secrets)
    if not secrets.sources:
        return found
    from_where = ", ".join(f"{name} from {variable}" for name, variable in secrets.sources.items())
    return replace(found, text=f"{found.text}; secret {from_where}")


def _look(definition: Definition, project: Path, secrets: Secrets) -> Reached:
    transport = definition.transport
    assert not isinstance(transport, Builtin)
    if isinstance(transport, Http | Mcp) and not definition.trusted:
        fix = f"Read it, then: ai-rails tools trust {definition.tool_name}"
        return Reached(True, "not tried: nobody has trusted this definition yet", fix, asked=False)
    match transport:
        case Command():
            return _program(transport.command[0], project)
        case Http():
            return _port(os.environ.get(transport.endpoint_env) or transport.endpoint, transport.endpoint_env)
        case _:
            return _server(transport, project, secrets)


def _program(name: str, project: Path) -> Reached:
    from rails.tools.runners.command import clean_environment, find_program

    found = find_program(name, clean_environment(project)["PATH"], project)
    if found:
        return Reached(True, f"the program is {found}")
    fix = "Install it, correct its name in transport.command, or add its folder to PATH."
    return Reached(False, f"the program {one_line(name)!r} was not found", fix)


def _port(endpoint: str, variable: str) -> Reached:
    if not endpoint:
        return Reached(False, "no address", f"Set the environment variable {variable} to the service's address.")
    parts = urlsplit(endpoint)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    shown = f"{one_line(place[0], 200)}:{place[1]}"
    try:
        socket.create_connection(place, _SECONDS).close()
    except (OSError, UnicodeError) as error:
        fix = f"Start the service{f', or set {variable} to where it is' if variable else ''}."
        return Reached(False, f"{shown} could not be reached: {one_line(str(error), 200)}", fix)
    return Reached(True, f"{shown} accepts connections")


def _server(transport: Mcp, project: Path, secrets: Secrets) -> Reached:
    from rails.tools.runners.mcp import McpError, list_tools

    try:
        tools = list_tools(transport, project, _SECONDS, secrets)
    except McpError as error:
        return Reached(False, f"the server does not answer: {one_line(str(error), 400)}", "Try it by hand.")
    names = [str(tool.get("name")) for tool in tools]
    if transport.tool not in names:
        has = one_line(", ".join(names), 300) or "none"
        return Reached(
            False,
            f"the server answers, but has no tool {transport.tool!r}",
            f"Write one of its tools into transport.tool: {has}.",
        )
    return Reached(True, f"the server answers and has {counted(len(tools), 'tool')}")
