"""From a Model Context Protocol server to definition files, one for each tool.

Verbatim but, with notes: names that providers refuse are changed, hidden characters shown, schema keywords that our
loader refuses left out (the server checks for itself). Imported tools ask until their file says otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.app_dirs import builtin_folder
from rails.core.errors import UsageError
from rails.core.text import counted, one_line, printable
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.metaschema import SchemaProblem, check_parameters, check_schema
from rails.tools.loader import load_definitions, place_text, read_definition
from rails.tools.project_tests import file_text
from rails.tools.registry import Definition, Mcp, Registry, role_slug
from rails.tools.runners.mcp import McpError, list_tools, server_entry
from rails.tools.runners.secrets import Secrets, secret_references

_SELECTORS: Final = re.compile("[\ufe00-\ufe0f]")
_ANNOTATIONS: Final = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_MAX_FIXES: Final = 200
#: Keywords whose members are names: what is wrong with one of them leaves the name.
_NAMES: Final = (("properties",), ("$defs",), ("definitions",))
#: Of a client: servers and tools in a session; seconds until a server has named its tools.
_SERVERS: Final = 16
_TOOLS: Final = 128
_START_S: Final = 20.0
_POLL_S: Final = 0.05
#: Where clients look for servers in a project.
_BROUGHT: Final = (".mcp.json", ".zed/settings.json", ".vscode/mcp.json", ".cursor/mcp.json")
#: Names whose values are secrets by convention.
_SECRET: Final = re.compile(r"key|token|secret|passw|auth|credential|cookie", re.IGNORECASE)


class Imported(Struct):
    """Definition files by name, and as read; notes on changes and omissions."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)


def server_entries(text: str, source: str) -> Mapping[str, Mapping[str, Json]]:
    """Return ``.mcp.json``'s or a client's servers. Raises UsageError."""
    try:
        value = parse_document(text).value
    except JsonError as error:
        raise UsageError(f"{source}:{error.line}: the file is not JSON: {error.message}. {error.fix}") from None
    found = value.get("mcpServers", value.get("servers")) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise UsageError(f'{source}: there is no "mcpServers" object. Is it an .mcp.json file?')
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)}


def import_server(
    name: str,
    entry: Mapping[str, Json],
    project: Path,
    *,
    taken: Collection[str] = (),
    seconds: float = 60.0,
) -> Imported:
    """Return a definition file's text for each tool of an ``mcpServers`` entry; ``taken``: names in use.

    The server is started or contacted. Raises UsageError if unusable.
    """
    try:
        transport, secret_names = server_entry(entry)
        secrets = Secrets.find(secret_names, project)
        if secrets.missing:
            raise UsageError(secrets.complaint())
        tools = list_tools(transport, project, seconds, secrets)
    except McpError as error:
        raise UsageError(f"The server {one_line(name)!r} cannot be used: {error}") from None
    safe, moved, notes = _without_secrets(name, transport)
    imported = define_tools(name, tools, safe, [*secret_names, *moved], taken=taken)
    imported.notes[:0] = notes
    return imported


def with_servers(
    registry: Registry,
    servers: Sequence[tuple[str, Mcp]],
    project: Path,
    roles: Collection[str],
    check: Callable[[], object],
) -> tuple[Registry, list[str]]:
    """Return the tools with those of a client's servers, for one session, and a sentence on each that is left out.

    A server is started as the user's own, unless the project may have brought it. Its tools ask, and are for ``roles``.
    ``check`` is called until all have named their tools; what it raises ends the wait.
    """
    new: dict[str, Definition] = {}
    said = [f"Only the first {_SERVERS} servers were started."] if len(servers) > _SERVERS else []
    pool = ThreadPoolExecutor(_SERVERS)
    found = [pool.submit(_listed, name, transport, project) for name, transport in servers[:_SERVERS]]
    pool.shutdown(wait=False)
    while wait(found, _POLL_S).not_done:
        check()
    for (name, transport), listing in zip(servers, found, strict=False):
        tools, wrong = listing.result()
        bare = replace(transport, env={}, headers={})
        made = define_tools(name, tools[: _TOOLS - len(new)], bare, taken=(*registry.shapes(), *new)).definitions
        for one in made:
            here = replace(transport, tool=getattr(one.transport, "tool", ""))
            new[one.tool_name] = replace(one, transport=here, access=dict.fromkeys(map(role_slug, roles), "ask"))
        left = counted(len(tools) - len(made), "tool")
        if wrong or len(made) < len(tools):
            said.append(f"The server {one_line(name, 80)!r}: {wrong or f'{left} left out, too many or malformed.'}")
    return replace(registry, definitions={**registry.definitions, **new}), said


def _listed(name: str, transport: Mcp, project: Path) -> tuple[Sequence[Mapping[str, Json]], str]:
    if file := _file_of(name, transport, project):
        return (), f"{file} is of the project, so nothing was started. Use ai-rails tools import, then tools trust."
    try:
        return list_tools(transport, project, _START_S, Secrets({}, {})), ""
    except (McpError, ValueError) as error:  # a NUL character is no part of a command
        return (), f"it cannot be used: {one_line(str(error), 600)}"


def _file_of(name: str, transport: Mcp, project: Path) -> str:
    """Return the project file that a server is, or may name, or ""."""
    for word in transport.command:
        if (project / word).is_file() and (project / word).resolve().is_relative_to(project):
            return one_line(word)
    written = re.escape(json.dumps(name)) + r"|\\u"  # or in escapes, perhaps
    return next((file for file in _BROUGHT if re.search(written, file_text(project / file))), "")


def _without_secrets(server: str, transport: Mcp) -> tuple[Mcp, list[str], list[str]]:
    moved: list[str] = []
    env = {name: _reference(name, name, text, moved) for name, text in transport.env.items()}
    given = transport.headers.items()
    headers = {name: _reference(name, f"{server}_{name}", text, moved) for name, text in given}
    notes = [f"the value of {name} was not copied; set the environment variable {name}" for name in moved]
    return replace(transport, env=env, headers=headers), moved, notes


def _reference(name: str, variable: str, text: str, moved: list[str]) -> str:
    if not text or secret_references(text) or not _SECRET.search(name):
        return text
    variable = re.sub(r"[^A-Za-z0-9]", "_", variable).upper()
    variable = f"_{variable}" if variable[0].isdigit() else variable
    moved.append(variable)
    return f"${{{variable}}}"


def define_tools(
    server: str,
    tools: Sequence[Mapping[str, Json]],
    transport: Mcp,
    secret_names: Sequence[str] = (),
    *,
    taken: Collection[str] = (),
) -> Imported:
    """Return a definition file for each ``Tool``."""
    imported = Imported()
    used = {*taken, *load_definitions([builtin_folder("mcp_definitions")]).shapes()}
    for tool in tools:
        original = str(tool.get("name", ""))
        name = _name(server, original, used)
        shown = _visible(dict(tool))
        if shown != tool:
            imported.notes.append(f"{name}: hidden characters were removed or made visible")
        definition = _definition(name, original, shown, transport, imported.notes)
        if secret_names:
            definition["secrets"] = list(dict.fromkeys(secret_names))
        text = json.dumps(definition, ensure_ascii=False, indent=2) + "\n"
        one, mistakes = read_definition(text, f"{name}.json")
        if one is None:
            said = "; ".join(f"{mistake.field}: {mistake.message}" for mistake in mistakes[:3])
            imported.notes.append(f"{one_line(original, 80)} was left out: {said}")
            continue
        used.add(name)
        imported.files[f"{name}.json"] = text
        imported.definitions.append(one)
    return imported


def _name(server: str, original: str, used: Collection[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", original)[:64]
    if not name[:1].isalpha():
        name = f"t_{name}"[:64]
    prefix = re.sub(r"[^A-Za-z0-9_-]", "_", server)
    base = f"{prefix}_{name}"[:64]
    numbered = (f"{base[:60]}_{number}" for number in count(2))
    return next(one for one in chain((name, base), numbered) if one not in used)


def _definition(name: str, original: str, tool: Any, transport: Mcp, notes: list[str]) -> dict[str, Json]:  # noqa: ANN401
    about = tool.get("description") or tool.get("title") or f"The tool {original} of an MCP server."
    definition: dict[str, Json] = {"tool_name": name, "title": tool.get("title"), "description": str(about)}
    definition["request_schema"] = _mended({"type": "object", **(tool.get("inputSchema") or {})}, name, notes)
    if isinstance(tool.get("outputSchema"), dict):
        definition["response_format"] = _mended(tool["outputSchema"], name, notes, check_schema)
    definition["transport"] = _transport(transport, original)
    definition["access_control"] = {"*": "permissioned_access"}
    annotations = tool.get("annotations")
    if isinstance(annotations, dict):
        definition["annotations"] = {key: annotations[key] for key in _ANNOTATIONS if key in annotations}
    return {key: value for key, value in definition.items() if key != "title" or isinstance(value, str)}


def _transport(transport: Mcp, tool: str) -> dict[str, Json]:
    found: dict[str, Json] = {"type": "mcp-http", "url": transport.endpoint, "headers": dict(transport.headers)}
    if not transport.endpoint:
        program, *args = transport.command
        found = {"type": "mcp-stdio", "command": program, "args": [*args], "env": dict(transport.env)}
    return {key: value for key, value in {**found, "tool": tool}.items() if value}


def _visible(value: Json) -> Json:
    """Return a copy with hidden characters shown, and without emoji selectors."""
    if isinstance(value, str):
        return printable(_SELECTORS.sub("", value))
    if isinstance(value, dict):
        return {printable(_SELECTORS.sub("", key)): _visible(item) for key, item in value.items()}
    return [_visible(item) for item in value] if isinstance(value, list) else value


def _mended(
    schema: Json, name: str, notes: list[str], check: Callable[[Json], Iterator[SchemaProblem]] = check_parameters
) -> Json:
    """Return the schema without the keywords that our loader refuses, and note them."""
    for _ in range(_MAX_FIXES):
        problem = next(check(schema), None)
        if problem is None or not _remove(schema, problem.place):
            break
        notes.append(f"{name}: {place_text(problem.place)} was left out: {problem.message}")
    return schema


def _remove(node: Any, place: JsonPlace) -> bool:  # noqa: ANN401 - a schema or a part of it
    try:
        for part in place[:-1]:
            node = node[part]
        if isinstance(node, dict) and place[-2:-1] not in _NAMES:
            del node[place[-1]]
        else:
            node[place[-1]] = {}
    except (LookupError, TypeError):
        return False
    return True
