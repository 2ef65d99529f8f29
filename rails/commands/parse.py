"""``ai-rails parse``: what intake finds in a text; nothing is run."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.core.errors import EXIT_FINDINGS, EXIT_OK
from rails.core.json_text import json_object
from rails.core.text import line_column, one_line, printable
from rails.core.tool_request import SELDOM, Json, Repair
from rails.parsing.parse import parse
from rails.parsing.project_files import exists_in
from rails.parsing.proposals import what_is_read
from rails.parsing.values import ParsedAnswer, ToolSchemas
from rails.session.project import registry_of

OPTIONS = """
file? (-)  the text (default: standard input)
--json  the result as JSON
--jsonl  one {"id", "text"} per line in, one result per line out
@dialects
--finish REASON=end_turn|tool_use|max_tokens|stop_sequence|pause_turn|refusal|cut (end_turn)
    why the model stopped (default: end_turn)
@project
"""


def run(options: argparse.Namespace) -> int:
    """Print what was found; exit 1 if a request was refused."""
    shapes = registry_of(common.project_of(options)).shapes()
    if options.jsonl:
        code = EXIT_OK
        for item_id, text in common.read_jsonl(options.file):
            found = _read(text, shapes, options)
            code = EXIT_FINDINGS if found.refusals else code
            common.print_json({"id": item_id, **parsed_as_json(found)}, indent=None)
        return code
    text = common.read_input(options.file)
    found = _read(text, shapes, options)
    if options.json:
        common.print_json(parsed_as_json(found))
    else:
        print(parsed_as_text(found, text))
    return EXIT_FINDINGS if found.refusals else EXIT_OK


def _read(text: str, shapes: ToolSchemas, options: argparse.Namespace) -> ParsedAnswer:
    return parse(
        text,
        shapes,
        finish=options.finish,
        dialects=options.dialect,
        report_unread_calls=True,
        exists=exists_in(common.project_of(options)),
    )


def parsed_as_json(found: ParsedAnswer) -> dict[str, Json]:
    """Return the contract ``parse.schema.json``."""
    requests = [json_object(request) for request in found.requests]
    return {
        "requests": [
            {name: value for name, value in request.items() if name != "raw" and (value or name not in SELDOM)}
            for request in requests
        ],
        "refusals": [json_object(refusal) for refusal in found.refusals],
        "ignored": [json_object(block) for block in found.ignored],
        "prose": found.prose,
    }


def parsed_as_text(found: ParsedAnswer, text: str) -> str:
    """Return the same for a person: a paragraph per block, in order."""
    blocks: list[tuple[int, list[str]]] = []
    for request in found.requests:
        lines = [f"{_place(text, request.start)} request {request.tool_name} ({request.dialect})"]
        lines += [f"  {name}: {one_line(str(value), 100)}" for name, value in request.parameters.items()]
        lines += [f"  repaired {fix.name} at {_place(text, fix.offset)}: {_short(fix)}" for fix in request.repairs]
        blocks.append((request.start, lines))
    for refusal in found.refusals:
        lines = [f"{_place(text, refusal.start)} refused ({refusal.code}): {printable(refusal.message)}"]
        blocks.append((refusal.start, [*lines, f"  {printable(refusal.hint)}"] if refusal.hint else lines))
    blocks += [
        (block.start, [f"{_place(text, block.start)} ignored: {printable(block.reason)}"]) for block in found.ignored
    ]
    if not blocks:
        return f"No tool request found. {what_is_read(text)} ai-rails prompt prints instructions for the chat."
    return "\n\n".join("\n".join(lines) for _, lines in sorted(blocks, key=lambda block: block[0]))


def _short(fix: Repair) -> str:
    return f"{one_line(repr(fix.before), 40)} → {one_line(repr(fix.after), 40)}"


def _place(text: str, offset: int) -> str:
    if offset < 0:
        return "native call"
    line, column = line_column(text, offset)
    return f"{line}:{column}"
