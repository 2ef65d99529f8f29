"""``ai-rails tools``: list, show, check, start, trust, try, import and offer tool definitions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from rails.commands import common
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.requests import RawRequest, ToolRequest
from rails.core.text import one_line, printable
from rails.core.wire import to_json
from rails.tools.contract import validate
from rails.tools.definitions import check_folder, describe, starter
from rails.tools.registry import Builtin, Definition, Registry


def run(options: argparse.Namespace) -> int:
    """Do what the action says and return the exit code."""
    return _ACTIONS[options.action](options, common.project_of(options))


def _list(options: argparse.Namespace, project: Path) -> int:
    registry = common.registry_of(project)
    definitions = [registry.definitions[name] for name in registry.names()]
    if options.json:
        common.print_json([to_json(definition) for definition in definitions])
        return EXIT_OK
    width = max(len(definition.tool_name) for definition in definitions)
    for definition in definitions:
        first = one_line(definition.description.split("\n")[0], 90)
        print(f"{definition.tool_name:{width}}  {definition.effect:4}  {first}")
    for note in registry.notes:
        print(f"note: {one_line(note, 300)}", file=sys.stderr)
    return EXIT_OK


def _show(options: argparse.Namespace, project: Path) -> int:
    print(printable(describe(_named(options, common.registry_of(project)))))
    return EXIT_OK


def _check(options: argparse.Namespace, project: Path) -> int:
    folders = [Path(options.name)] if options.name else common.folders("mcp_definitions", project)
    mistakes = check_folder(folders)
    for mistake in mistakes:
        print(printable(str(mistake)))
    print(f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'} in {', '.join(map(str, folders))}")
    return EXIT_FINDINGS if mistakes else EXIT_OK


def _new(options: argparse.Namespace, project: Path) -> int:
    name = _name(options, "count_lines")
    _write(project / "mcp_definitions" / f"{name}.json", starter(name))
    return EXIT_OK


def _trust(options: argparse.Namespace, project: Path) -> int:
    """Show every definition that nobody accepted as it is now; a typed "trust" accepts it."""
    trust = common.trust_of(project)
    waiting = [
        item for item in trust.pending(common.registry_of(project)) if options.name in (None, item.definition.tool_name)
    ]
    for item in waiting:
        print(item.question())
        sys.stdout.flush()
        question = 'Type the whole word "trust" to let it run as its access_control says: '
        answer = input(question).strip() if sys.stdin.isatty() else ""
        if answer != "trust":
            print("Not trusted; it asks before every use.")
            return EXIT_FINDINGS
        trust.accept(item.definition)
        print(f"{item.definition.tool_name} is trusted as it is now.")
    if not waiting:
        print("Nothing waits to be trusted.")
    return EXIT_OK


def _test(options: argparse.Namespace, project: Path) -> int:
    """Run a tool with each of its own examples, as an agent's request would, and show what comes back."""
    from rails.tools import runners

    registry = common.registry_of(project)
    definition = _named(options, registry)
    if isinstance(definition.transport, Builtin) and definition.effect == "edit":
        raise UsageError(f"{definition.tool_name} changes files; try it with ai-rails apply --dry-run.")
    if not definition.examples:
        raise UsageError(f'{definition.source} has no examples to try. Add an "examples" list.')
    role = next((role for role, level in definition.access.items() if level != "none" and role != "*"), "coder")
    code = EXIT_OK
    for number, example in enumerate(definition.examples, start=1):
        raw = RawRequest(f"test{number}", definition.tool_name, example)
        request = validate(raw, registry, role)
        if not isinstance(request, ToolRequest):
            print(printable("\n".join(str(refusal) for refusal in request)))
            code = EXIT_FINDINGS
            continue
        result = runners.run(request, definition, project)
        print(f"example {number}: {'ok' if result.ok else 'failed'}\n{printable(result.text)}")
        code = code if result.ok else EXIT_FINDINGS
    return code


def _import(options: argparse.Namespace, project: Path) -> int:
    """Turn the servers of an ``.mcp.json`` into definition files, one for each tool."""
    from rails.tools.importing import import_server, server_entries

    source = Path(options.name or ".mcp.json")
    if not source.is_file():
        raise UsageError(f"{source} is not a file. Name an .mcp.json; its servers are started to ask for their tools.")
    taken = set(common.registry_of(project).names())
    for server, entry in server_entries(source.read_text("utf-8"), str(source)).items():
        imported = import_server(server, entry, project, taken=taken)
        for name, text in imported.files.items():
            _write(project / "mcp_definitions" / name, text)
            taken.add(name.removesuffix(".json"))
        for note in imported.notes:
            print(f"note: {one_line(note, 300)}")
    return EXIT_OK


def _serve(options: argparse.Namespace, project: Path) -> int:
    """Offer the tools that need no question to any MCP client, over standard input and output."""
    from rails.tools.serving import Server, serve

    serve(Server(common.registry_of(project), options.role, project), sys.stdin.buffer, sys.stdout.buffer)
    return EXIT_OK


def _name(options: argparse.Namespace, example: str) -> str:
    if not options.name:
        raise UsageError(f"A name is needed, for example: ai-rails tools {options.action} {example}")
    return str(options.name)


def _named(options: argparse.Namespace, registry: Registry) -> Definition:
    name = _name(options, "read_file")
    definition = registry.get(name)
    if definition is None:
        raise UsageError(f"There is no tool {one_line(name)!r}. Known tools: {', '.join(registry.names())}.")
    return definition


def _write(file: Path, text: str) -> None:
    if file.exists():
        raise UsageError(f"{file} exists already. Nothing was changed.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    print(f"Wrote {file}. Read it, change it, then: ai-rails tools check")


_ACTIONS: Final = {
    "list": _list,
    "show": _show,
    "check": _check,
    "new": _new,
    "trust": _trust,
    "test": _test,
    "import": _import,
    "serve": _serve,
}
