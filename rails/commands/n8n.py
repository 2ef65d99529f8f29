"""``ai-rails n8n``: the rules for workflows, and the catalogue of node types they are judged by."""

from __future__ import annotations

import argparse
from pathlib import Path

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.core.text import one_line
from rails.core.wire import to_json


def run(options: argparse.Namespace) -> int:
    """List the rules, or build or show the catalogue."""
    if options.action == "rules":
        return _rules(options)
    from rails.gate.checks.n8n.catalogue_build import build_catalogue, catalogue_info

    if options.build:
        source = Path(options.build)
        if not source.exists():
            raise UsageError(f"{one_line(options.build)} does not exist. Nothing was built.")
        info = build_catalogue(source)
    else:
        info = catalogue_info()
    if options.json:
        common.print_json(to_json(info))
        return EXIT_OK
    kind = "the full catalogue" if info.is_full else "names and versions only; build one with --build SOURCE"
    print(f"n8n {info.n8n or 'unknown'}: {info.types} node types, {info.type_versions} type versions ({kind})")
    if info.is_full:
        print(f"built from {one_line(info.source)}, kept in {info.file}")
    return EXIT_OK


def _rules(options: argparse.Namespace) -> int:
    from rails.gate.checks.n8n import rules_table

    rows = rules_table()
    if options.json:
        names = ("id", "severity", "reason", "example")
        common.print_json([dict(zip(names, row, strict=True)) for row in rows])
        return EXIT_OK
    for rule, severity, reason, example in rows:
        print(f"{rule}  {severity:7}  {one_line(reason, 160)}\n{'':17} {one_line(example, 160)}")
    return EXIT_OK
