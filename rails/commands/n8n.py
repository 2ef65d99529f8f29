"""``ai-rails n8n``: rules for workflows, their catalogue, pictures, differences."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from rails.commands import common
from rails.core import limits
from rails.core.change_summary import ChangeSummary
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.json_text import to_json
from rails.core.text import one_line

OPTIONS = """
> Actions: rules, catalogue [info], catalogue build SOURCE (your n8n: an export:nodes file, a folder or .tgz files),
    draw FLOW.json [--before OLD.json] [-o FILE.svg], diff OLD.json NEW.json. Workflows are checked by ai-rails gate
    FLOW.json.
action? rules|catalogue|draw|diff (rules)  what to do (default: rules)
words*  files, or info, or build
--before OLD  with draw: the older version, to colour what changed
-o/--output FILE  with draw: where (default: FLOW.svg; - is the screen)
--json  with diff: the result as JSON
"""


def run(options: argparse.Namespace) -> int:
    """Carry out one action."""
    return _ACTIONS[options.action](options, options.words)


def _rules(_options: argparse.Namespace, words: list[str]) -> int:
    from rails.n8n.plugin import RULES

    common.refuse_more("n8n rules", words, 0)
    rows = [(rule.id, rule.severity, rule.reason, rule.example) for rule in RULES.values()]
    for rule, severity, reason, example in rows:
        common.print_row(f"{rule}  {severity:7}  ", reason)
        common.print_row(f"{'':18}", example)
    return EXIT_OK


def _catalogue(_options: argparse.Namespace, words: list[str]) -> int:
    from rails.n8n.plugin import build_catalogue, catalogue_info

    named = words[1] if words[:1] == ["build"] and len(words) == 2 else None
    if named is None and words not in ([], ["info"]):
        raise UsageError("Write: ai-rails n8n catalogue [info], or ai-rails n8n catalogue build SOURCE.")
    if named is not None:
        if not Path(named).exists():
            raise UsageError(f"{one_line(named)} does not exist. Nothing was built.")
        info = build_catalogue(Path(named))
    else:
        info = catalogue_info()
    kind = "with their parameters" if info.is_full else "names, versions and ports only"
    print(f"n8n {info.n8n or 'unknown'}: {info.types} node types, {info.type_versions} type versions ({kind})")
    if info.is_full:
        print(f"built from {one_line(info.source)}, kept in {info.file}")
    else:
        print(
            "Parameters are not checked without the descriptions of your own n8n. Either of these builds it:\n"
            "  n8n export:nodes --output=nodes.json && ai-rails n8n catalogue build nodes.json\n"
            "  npm pack n8n-nodes-base @n8n/n8n-nodes-langchain && ai-rails n8n catalogue build ."
        )
    return EXIT_OK


def _draw(options: argparse.Namespace, words: list[str]) -> int:
    from rails.n8n import plugin

    if len(words) != 1:
        raise UsageError("Write: ai-rails n8n draw FLOW.json [--before OLD.json] [-o FILE.svg].")
    told = _outline(options.before, words[0])
    changed = f": {told.title}" if options.before else ""
    drawn = plugin.svg(told.drawing, label=f"{Path(words[0]).name}{changed}", alone=True)
    if not drawn:
        raise UsageError(f"{one_line(words[0])} has no node to draw. Nothing was written.")
    target = options.output or str(Path(words[0]).with_suffix(".svg"))
    if Path(target).resolve() in {Path(name).resolve() for name in (words[0], options.before) if name}:
        raise UsageError(f"{one_line(target)} is the workflow itself. Name another file with -o.")
    if target == "-":
        print(drawn)
    else:
        common.write_output(target, (f"{drawn}\n",), 'class="flow"')
    return EXIT_OK


def _diff(options: argparse.Namespace, words: list[str]) -> int:
    from rails.render.lines import draw_summary
    from rails.render.terminal import columns, wants_colour

    if len(words) != 2:
        raise UsageError("Write: ai-rails n8n diff OLD.json NEW.json.")
    told = _outline(words[0], words[1])
    if options.json:
        common.print_json({"title": told.title, "lines": to_json(told.lines), "hidden": told.hidden})
    else:
        print("\n".join(draw_summary(told, wants_colour(sys.stdout), columns(100))))
    return EXIT_FINDINGS if told.lines else EXIT_OK


def _outline(before: str | None, after: str) -> ChangeSummary:
    from rails.n8n.plugin import workflow_summary

    old = _read(before) if before is not None else None
    told = workflow_summary(old, _read(after), after)
    if told is None:
        names = " or ".join(one_line(name) for name in (before, after) if name is not None)
        raise UsageError(f"{names} is not an n8n workflow in JSON. `ai-rails gate FILE` says what is wrong with it.")
    return told


def _read(name: str) -> bytes:
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{one_line(name)} cannot be read: {error.strerror}.") from error
    if len(data) > limits.FILE_BYTES:
        raise UsageError(f"{one_line(name)} is larger than {limits.FILE_BYTES:,} bytes.")
    return data


_ACTIONS: Final = {
    "rules": _rules,
    "catalogue": _catalogue,
    "draw": _draw,
    "diff": _diff,
}
