"""``ai-rails tools``: list, show, check and start tool definitions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rails.commands import common
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, UsageError
from rails.core.text import one_line, printable
from rails.core.wire import to_json
from rails.tools.definitions import check_folder, describe, starter


def run(options: argparse.Namespace) -> int:
    """Do what the action says and return the exit code."""
    project = common.project_of(options)
    if options.action == "check":
        return _check([Path(options.name)] if options.name else common.folders("mcp_definitions", project))
    if options.action == "new":
        return _new(project, options.name)
    registry = common.registry_of(project)
    if options.action == "show":
        definition = registry.get(options.name or "")
        if definition is None:
            known = ", ".join(registry.names())
            raise UsageError(f"There is no tool {one_line(options.name or '')!r}. Known tools: {known}.")
        print(printable(describe(definition)))
        return EXIT_OK
    definitions = [definition for name in registry.names() if (definition := registry.get(name))]
    if options.json:
        common.print_json([to_json(definition) for definition in definitions])
        return EXIT_OK
    width = max(len(definition.tool_name) for definition in definitions)
    for definition in definitions:
        first = one_line(definition.description.split("\n")[0], 90)
        print(f"{definition.tool_name:{width}}  {definition.effect:4}  {first}")
    return EXIT_OK


def _check(folders: list[Path]) -> int:
    mistakes = check_folder(folders)
    for mistake in mistakes:
        print(printable(str(mistake)))
    print(f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'} in {', '.join(map(str, folders))}")
    return EXIT_FINDINGS if mistakes else EXIT_OK


def _new(project: Path, name: str | None) -> int:
    if not name:
        print("ai-rails: a name is needed, for example: ai-rails tools new count_lines", file=sys.stderr)
        return EXIT_USAGE
    text = starter(name)
    file = project / "mcp_definitions" / f"{name}.json"
    if file.exists():
        raise UsageError(f"{file} exists already. Nothing was changed.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    print(f"Wrote {file}. Edit it, then: ai-rails tools check")
    return EXIT_OK
