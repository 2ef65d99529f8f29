"""``ai-rails tools``: list, show, check, start, trust, try and import tool definitions."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rails.commands import common
from rails.core.app_dirs import builtin_folder, config_folder
from rails.core.builtin_tools import READ_FILE
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.json_text import json_object, to_json
from rails.core.text import counted, one_line, printable
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.session.project import definition_folders, registry_of, trust_of
from rails.tools.describe import accept_definition, describe, pending_definitions, starter
from rails.tools.health import Reached, check_health
from rails.tools.loader import check_folder
from rails.tools.registry import Builtin, Definition, Registry
from rails.tools.validate import validate

OPTIONS = """
> Actions: list, show NAME, check [FOLDER] (mistakes, and what is missing), new NAME, trust [NAME], test NAME
    [PARAMETERS], import [.mcp.json or URL] (a file for each tool of the servers).
action? list|show|check|new|trust|test|import (list)  what to do (default: list)
name?  a tool, a folder or a file
parameters?  with test: the tool's parameters as JSON (default: its examples)
--files-only  with check: check the files only
--untrusted  with test: run a project's tool without asking
--json  the result as JSON
@project
"""


def run(options: Namespace) -> int:
    """Return the exit code."""
    common.refuse_more(
        f"tools {options.action}", (options.name, options.parameters), {"list": 0, "test": 2}.get(options.action, 1)
    )
    return _ACTIONS[options.action](options, common.project_of(options))


def _list(options: Namespace, project: Path) -> int:
    registry = registry_of(project)
    definitions = [registry.definitions[name] for name in registry.names()]
    if options.json:
        rows = [{**json_object(one), "digest": one.digest} for one in definitions]
        for row in rows:
            del row["text"]
        common.print_json(rows)
        return EXIT_OK
    width = max(len(definition.tool_name) for definition in definitions)
    for definition in definitions:
        first = re.split(r"(?<=[.!?])\s", definition.description, maxsplit=1)[0]
        common.print_row(
            f"{definition.tool_name:{width}}  {definition.effect:4}  {_whose(definition):7}  ", one_line(first, 160)
        )
    waiting = [definition.tool_name for definition in definitions if not definition.trusted]
    if waiting:
        print(f"Not accepted yet, so no agent may use them: {', '.join(waiting)}. Read them: ai-rails tools trust")
    for note in registry.notes:
        print(f"note: {one_line(note, 300)}", file=sys.stderr)
    return EXIT_OK


def _whose(definition: Definition) -> str:
    folder = Path(definition.source).parent
    if folder == builtin_folder("mcp_definitions"):
        return "shipped"
    return "yours" if folder.is_relative_to(config_folder()) else "project"


def _show(options: Namespace, project: Path) -> int:
    print(printable(describe(_named(options, registry_of(project)))))
    return EXIT_OK


def _check(options: Namespace, project: Path) -> int:
    folders = [Path(options.name)] if options.name else definition_folders("mcp_definitions", project)
    mistakes = check_folder(folders)
    only_files = mistakes or options.files_only or options.name
    reached = {} if only_files else check_health(registry_of(project).definitions.values(), project)
    if options.json:
        common.print_json({"mistakes": [to_json(one) for one in mistakes], "needs": to_json(reached)})
    else:
        for mistake in mistakes:
            print(printable(str(mistake)))
        print(f"{counted(len(mistakes), 'mistake')} in {', '.join(map(str, folders))}")
        _print_needs(reached)
    if mistakes:
        return EXIT_FINDINGS
    return EXIT_OK if all(one.ok for one in reached.values()) else EXIT_BROKEN


def _print_needs(reached: Mapping[str, Reached]) -> None:
    width = max(map(len, reached), default=0)
    for name, one in reached.items():
        word = "ready" if one.ok and one.asked else "unknown" if one.ok else "missing"
        common.print_row(f"{name:{width}}  {word:7}  ", one.text)
        if one.fix:
            common.print_row(f"{'':{width}}           ", one.fix)


def _new(options: Namespace, project: Path) -> int:
    name = _name(options, "count_lines")
    common.write_output(project / "mcp_definitions" / f"{name}.json", (starter(name),))
    print(f"It works already. Change it, then run: ai-rails tools check, and: ai-rails tools test {name}")
    return EXIT_OK


def _trust(options: Namespace, project: Path) -> int:
    trust = trust_of(project)
    waiting = [
        item
        for item in pending_definitions(registry_of(project), trust)
        if options.name in (None, item.definition.tool_name)
    ]
    for item in waiting:
        accept = partial(accept_definition, item.definition, trust)
        if not common.accepted(item.question(), "let it run under its access_control", accept):
            print("Not trusted: no agent may use it until it is.")
            return EXIT_FINDINGS
        print(f"{item.definition.tool_name} is trusted in this version.")
    if not waiting:
        if options.name:
            _named(options, registry_of(project))
        print("Nothing is waiting to be trusted.")
    return EXIT_OK


def _test(options: Namespace, project: Path) -> int:
    from rails.tools.runners import dispatch

    registry = registry_of(project)
    definition = _named(options, registry)
    if isinstance(definition.transport, Builtin) and definition.effect == "edit":
        raise UsageError(f"{definition.tool_name} changes files; try it with ai-rails apply --dry-run.")
    tries = [common.parameters_of(options.parameters)] if options.parameters else definition.examples
    if not tries:
        raise UsageError(
            f'{definition.source} has no examples to try. Add an "examples" list, or give the parameters: '
            f"ai-rails tools test {definition.tool_name} '{{…}}'"
        )
    role = next((role for role, level in definition.access.items() if level != "none" and role != "*"), "coder")
    code = EXIT_OK
    for number, example in enumerate(tries, start=1):
        request = validate(RawRequest(f"test{number}", definition.tool_name, example), registry, role)
        if not isinstance(request, ToolRequest):
            print(printable("\n".join(str(refusal) for refusal in request)))
            code = EXIT_FINDINGS
            continue
        if not (definition.trusted or options.untrusted):
            name = definition.tool_name
            accept = f"Accept it: ai-rails tools trust {name}. Or run it once with --untrusted."
            raise UsageError(f"{name} comes from the project, and nobody has accepted it. {accept}")
        result = dispatch.run_request(request, definition, project, registry.runners)
        print(f"example {number}: {'ok' if result.ok else 'failed'}\n{printable(result.text)}")
        code = code if result.ok else EXIT_FINDINGS
    return code


def _import(options: Namespace, project: Path) -> int:
    from rails.tools.mcp_import import import_server

    taken = set(registry_of(project).names())
    code = EXIT_OK
    written = 0
    for server, entry in _servers(options.name or ".mcp.json").items():
        try:
            imported = import_server(server, entry, project, taken=taken)
        except UsageError as error:
            print(f"ai-rails: {error}", file=sys.stderr)
            code = EXIT_BROKEN
            continue
        for name, text in imported.files.items():
            common.write_output(project / "mcp_definitions" / name, (text,))
            taken.add(name.removesuffix(".json"))
        written += len(imported.files)
        for note in imported.notes:
            print(f"note: {one_line(note, 300)}")
    if written:
        print("No agent may use them yet. Read them, change what you like, then run: ai-rails tools trust")
    return code


def _servers(source: str) -> Mapping[str, Mapping[str, Json]]:
    from rails.tools.mcp_import import server_entries

    if source.startswith(("http://", "https://")):
        return {urlsplit(source).hostname or "server": {"type": "http", "url": source}}
    if not Path(source).is_file():
        raise UsageError(
            f"{source} is not a file. Name an .mcp.json (its servers are started to ask for their tools), "
            "or the http address of a running MCP server."
        )
    return server_entries(Path(source).read_text("utf-8"), source)


def _name(options: Namespace, example: str) -> str:
    if not options.name:
        raise UsageError(f"A name is needed, for example: ai-rails tools {options.action} {example}")
    return str(options.name)


def _named(options: Namespace, registry: Registry) -> Definition:
    name = _name(options, READ_FILE.name)
    definition = registry.get(name)
    if definition is None:
        raise UsageError(f"There is no tool {one_line(name)!r}. Known tools: {', '.join(registry.names())}.")
    return definition


_ACTIONS: Final = {
    "list": _list,
    "show": _show,
    "check": _check,
    "new": _new,
    "trust": _trust,
    "test": _test,
    "import": _import,
}
