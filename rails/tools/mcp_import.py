"""From a Model Context Protocol server to definition files, one for each tool.

Verbatim but, with notes: names that providers refuse are changed, hidden characters shown, schema keywords that our
loader refuses left out (the server checks for itself). Imported tools ask until their file says otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.app_dirs import builtin_folder
from rails.core.errors import UsageError
from rails.core.text import one_line, printable
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import resolve_reference
from rails.json_schema.metaschema import check_parameters, check_schema
from rails.tools.loader import load_definitions, place_text, read_definition
from rails.tools.registry import ROLES, Mcp
from rails.tools.runners.mcp import McpError, list_tools, server_entry
from rails.tools.runners.secrets import Secrets, secret_references

_SELECTORS: Final = re.compile("[\ufe00-\ufe0f]")
_ANNOTATIONS: Final = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_MAX_FIXES: Final = 200
#: Names whose values are secrets by convention.
_SECRET: Final = re.compile(r"key|token|secret|passw|auth|credential|cookie", re.IGNORECASE)


class Imported(Struct):
    """Definition files by name; notes on changes and omissions."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


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


def _without_secrets(server: str, transport: Mcp) -> tuple[Mcp, list[str], list[str]]:
    moved: list[str] = []
    env = {name: _reference(name, name, text, moved) for name, text in transport.env.items()}
    prefix = re.sub(r"[^A-Za-z0-9]", "_", server)
    headers = {
        name: _reference(name, re.sub(r"[^A-Za-z0-9]", "_", f"{prefix}_{name}"), text, moved)
        for name, text in transport.headers.items()
    }
    notes = [f"the value of {name} was not copied; set the environment variable {name}" for name in moved]
    return replace(transport, env=env, headers=headers), moved, notes


def _reference(name: str, variable: str, text: str, moved: list[str]) -> str:
    if not text or secret_references(text) or not _SECRET.search(name):
        return text
    variable = variable.upper()
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
        definition = _definition(name, original, tool, transport, imported.notes)
        if secret_names:
            definition["secrets"] = list(dict.fromkeys(secret_names))
        text = json.dumps(definition, ensure_ascii=False, indent=2) + "\n"
        _, mistakes = read_definition(text, f"{name}.json", roles=ROLES)
        if mistakes:
            said = "; ".join(f"{mistake.field}: {mistake.message}" for mistake in mistakes[:3])
            imported.notes.append(f"{one_line(original, 80)} was left out: {said}")
            continue
        used.add(name)
        imported.files[f"{name}.json"] = text
    return imported


def _name(server: str, original: str, used: Collection[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", original)[:64]
    if not name[:1].isalpha():
        name = f"t_{name}"[:64]
    prefix = re.sub(r"[^A-Za-z0-9_-]", "_", server)
    if name in used:
        name = f"{prefix}_{name}"[:64]
    number = 2
    base = name
    while name in used:
        name, number = f"{base[:60]}_{number}", number + 1
    return name


def _definition(
    name: str, original: str, tool: Mapping[str, Json], transport: Mcp, notes: list[str]
) -> dict[str, Json]:
    definition: dict[str, Json] = {"tool_name": name}
    if isinstance(tool.get("title"), str):
        definition["title"] = _visible(str(tool["title"]), f"{name}: title", notes)
    about = str(tool.get("description") or tool.get("title") or f"The tool {original} of an MCP server.")
    definition["description"] = _visible(about, f"{name}: description", notes)
    definition["request_schema"] = _schema(tool.get("inputSchema"), name, notes, parameters=True)
    if isinstance(tool.get("outputSchema"), dict):
        definition["response_format"] = _schema(tool["outputSchema"], name, notes, parameters=False)
    definition["transport"] = _transport(transport, original)
    definition["access_control"] = {"*": "permissioned_access"}
    annotations = tool.get("annotations")
    if isinstance(annotations, dict):
        definition["annotations"] = {key: annotations[key] for key in _ANNOTATIONS if key in annotations}
    return definition


def _transport(transport: Mcp, tool: str) -> dict[str, Json]:
    if transport.endpoint:
        found: dict[str, Json] = {"type": "mcp-http", "url": transport.endpoint, "tool": tool}
        return {**found, "headers": dict(transport.headers)} if transport.headers else found
    found = {"type": "mcp-stdio", "command": transport.command[0], "args": list(transport.command[1:]), "tool": tool}
    return {**found, "env": dict(transport.env)} if transport.env else found


def _visible(text: str, what: str, notes: list[str]) -> str:
    """Show hidden characters; drop emoji selectors."""
    plain = printable(_SELECTORS.sub("", text))
    if plain != text:
        notes.append(f"{what}: hidden characters were removed or made visible")
    return plain


def _schema(schema: Json, name: str, notes: list[str], *, parameters: bool) -> dict[str, Json]:
    whole: Json = json.loads(json.dumps(schema)) if isinstance(schema, dict) else {"type": "object"}
    whole = _visible_all(whole, f"{name}: schema", notes)
    if not isinstance(whole, dict):
        return {"type": "object"}
    if parameters:
        whole.setdefault("type", "object")
    check = check_parameters if parameters else check_schema
    for _ in range(_MAX_FIXES):
        problem = next(check(whole), None)
        if problem is None or not _remove(whole, problem.place):
            break
        notes.append(f"{name}: {place_text(problem.place)} was left out: {problem.message}")
    return whole


def _visible_all(value: Json, what: str, notes: list[str]) -> Json:
    if isinstance(value, str):
        return _visible(value, what, notes)
    if isinstance(value, dict):
        return {_visible(key, what, notes): _visible_all(item, what, notes) for key, item in value.items()}
    if isinstance(value, list):
        return [_visible_all(item, what, notes) for item in value]
    return value


def _remove(schema: dict[str, Json], place: JsonPlace) -> bool:
    """Remove what is at ``place``. Say whether anything was."""
    try:
        node = resolve_reference(schema, "#" + "".join(f"/{_escaped(part)}" for part in place[:-1]))
    except KeyError:
        return False
    last = place[-1] if place else None
    if isinstance(node, dict) and isinstance(last, str) and last in node:
        if len(place) > 1 and place[-2] in ("properties", "$defs", "definitions"):
            node[last] = {}
        else:
            del node[last]
        return True
    if isinstance(node, list) and isinstance(last, int) and last < len(node):
        node[last] = {}
        return True
    return False


def _escaped(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
