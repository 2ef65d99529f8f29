"""A tool of a Model Context Protocol server, by the official SDK (:mod:`~rails.tools.runners.mcp_client`).

Each use is its own connection or process. The server is not trusted: annotations can only make a tool ask, its requests
(sampling, roots, elicitation) are declined, answers bounded and checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec.structs import replace

from rails.core.changes import ChangeSet
from rails.core.errors import RailsError
from rails.core.extras import install_command
from rails.core.restrictions import Restrictions
from rails.core.text import one_line
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.sandbox import probe
from rails.sandbox.none import start_as_user
from rails.sandbox.run import layer_for, start
from rails.sandbox.values import SandboxView
from rails.tools.registry import Definition, Mcp
from rails.tools.runners.answer_form import form_faults, masked_and_cut
from rails.tools.runners.command import tool_start
from rails.tools.runners.secrets import Secrets, secret_references

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp import Client
    from pydantic import BaseModel

    from rails.sandbox.process import PipedProcess

_VARIABLE: Final = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}]*))?\}", re.ASCII)
_PAGES: Final = 20
_T = TypeVar("_T")


class McpError(RailsError):
    """The server gave no usable answer. Text for the model and the user."""


def run_mcp_tool(request: ToolRequest, definition: Definition, project: Path) -> ToolResult:
    """Run a tool of an MCP server."""
    transport = definition.transport
    assert isinstance(transport, Mcp)
    secrets = Secrets.find(definition.secrets, project)
    if secrets.missing:
        return ToolResult(False, secrets.complaint())
    changed: list[ChangeSet] = []

    async def call(client: Client) -> dict[str, Json]:
        return _plain(await client.call_tool(transport.tool, dict(request.parameters)))

    try:
        result = _talk(call, transport, project, definition.timeout_s, secrets, changed=changed.append)
    except McpError as error:
        return ToolResult(False, f"{definition.tool_name}: {error}")
    return replace(_result(result, definition, secrets), changes=changed[0] if changed else ChangeSet())


def list_tools(transport: Mcp, project: Path, seconds: float, secrets: Secrets) -> list[dict[str, Json]]:
    """Return every tool as the server describes it. Raises McpError."""
    found: list[dict[str, Json]] = []

    async def ask(client: Client) -> bool:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            found.extend(_plain(tool) for tool in page.tools)
            cursor = page.next_cursor
            if not cursor:
                return True
        return False

    if not _talk(ask, transport, project, seconds, secrets):
        raise McpError(f"the server has more than {_PAGES} pages of tools")
    return found


def _plain(value: BaseModel) -> dict[str, Json]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def _talk(
    work: Callable[[Client], Awaitable[_T]],
    transport: Mcp,
    project: Path,
    seconds: float,
    secrets: Secrets,
    *,
    changed: Callable[[ChangeSet], object] = lambda _: None,
) -> _T:
    """Return ``work``'s result within ``seconds``; what was started is ended.

    ``changed`` gets a contained server's changes to the project. Raises McpError.
    """
    try:
        from rails.tools.runners import mcp_client
    except ModuleNotFoundError as error:
        raise McpError(f"tools of MCP servers need {error.name}. Install it: {install_command('mcp')}") from None
    try:
        if transport.endpoint:
            headers = secrets.fill(transport.headers)
            private = transport.allow_private
            return mcp_client.talk_http(transport.endpoint, headers, work, seconds, allow_private=private)
        with _started(transport, project, secrets, changed) as process:
            return mcp_client.talk_stdio(process, work, seconds)
    except (mcp_client.TalkError, RailsError) as error:
        raise McpError(secrets.mask(str(error))) from None


@contextmanager
def _started(
    transport: Mcp, project: Path, secrets: Secrets, changed: Callable[[ChangeSet], object]
) -> Iterator[PipedProcess]:
    """Start a server, all gone afterwards. Raises RailsError."""
    held = transport.contained
    program, environment = tool_start("the server", transport.command[0], transport, secrets, project)
    with layer_for(project, probe.label(), restrictions=Restrictions.of(project)) if held else nullcontext() as layer:
        if layer:
            view = SandboxView(project, layer, environment=environment)
            running = start(transport.command, view, transport.network, label=probe.label())
        else:
            running = start_as_user([program, *transport.command[1:]], project, environment)
        try:
            yield running.process
        finally:
            running.end()
            if layer:
                changed(layer.changes()[0])


def _result(result: Mapping[str, Any], definition: Definition, secrets: Secrets) -> ToolResult:
    structured = result.get("structuredContent")
    content = "\n".join(map(_part_text, result["content"]))
    text = content if structured is None else json.dumps(structured, ensure_ascii=False)
    told, facts = masked_and_cut(text, secrets)
    if result.get("isError") is True:
        return ToolResult(False, told or "The server reported a failure without a text.", facts=facts)
    if said := secrets.mask("; ".join(form_faults(definition, structured))):
        return ToolResult(False, f"{definition.tool_name}: the answer does not have the promised form: {said}")
    return ToolResult(True, told or "(no content)", facts=facts)


def _part_text(part: Mapping[str, Any]) -> str:
    text = part.get("resource", part).get("text")
    if text is not None:
        return str(text)
    known = [str(part[key]) for key in ("type", "mimeType", "uri", "name") if key in part]
    return f"[{one_line(', '.join(known) or 'content that is not text', 200)}]"


def server_entry(entry: Mapping[str, Json]) -> tuple[Mcp, Sequence[str]]:
    """Return an ``mcpServers`` entry's transport, and the secrets it names.

    ``${NAME}``, ``${env:NAME}``, ``${NAME:-default}`` stay in ``env`` and ``headers`` unless only the default is there;
    are filled in now in an address; are refused in ``args``, which every program sees. Raises McpError.
    """
    env = _texts(entry.get("env"))
    headers = _texts(entry.get("headers"))
    names = [name for text in (*env.values(), *headers.values()) for name in secret_references(text)]
    url = entry.get("url") or entry.get("httpUrl")
    command = entry.get("command")
    args = entry.get("args", [])
    if isinstance(url, str) and url:
        return Mcp(endpoint=_filled_in(url), headers=headers), names
    if not isinstance(command, str) or not isinstance(args, list):
        raise McpError("the entry has neither a url nor a command with args")
    words = (command, *(str(arg) for arg in args))
    if any(_VARIABLE.search(word) for word in words):
        raise McpError("its command refers to the environment with ${…}; hand the value over in env instead")
    return Mcp(command=words, env=env), names


def _texts(value: Json) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: _VARIABLE.sub(_kept, str(text)) for name, text in value.items()}


def _kept(found: re.Match[str]) -> str:
    name = found["name"]
    default = found["default"]
    return default if default is not None and name not in os.environ else f"${{{name}}}"


def _filled_in(url: str) -> str:
    def value(found: re.Match[str]) -> str:
        text = os.environ.get(found["name"], found["default"])
        if text is None:
            raise McpError(f"its url needs the environment variable {found['name']}")
        return str(text)

    return _VARIABLE.sub(value, url)
