"""Blocks as Markdown, for pull requests and issues.

Model text can't become formatting, links, mentions or HTML: it is in code spans or fences longer than any run of
backticks inside, hidden characters escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from rails.core import limits
from rails.core.change_summary import ChangeSummary
from rails.core.text import head_and_tail, one_line, printable
from rails.render import blocks
from rails.render.units import seconds_text

_BLOCK_CHARS: Final = limits.FEEDBACK_CHARS
_LISTED: Final = 200
_MARKS: Final = {"add": "+", "remove": "-", "tool_add": "+", "tool_remove": "-", "finding": "^", "context": " "}


def inline(text: str, limit: int = 300) -> str:
    """Return untrusted text as a code span for a line or table, without links or mentions.

    A bar, which would end a table cell, becomes the broken bar.
    """
    plain = one_line(text, limit).replace("|", "¦")
    if not plain:
        return ""
    ticks = "`" * (_longest_run(plain) + 1)
    pad = " " if "`" in (plain[0], plain[-1]) else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def fenced_block(text: str, language: str = "") -> list[str]:
    """Return untrusted text as a fenced block that says how much is missing."""
    shown, _ = head_and_tail(printable(text.replace("\r\n", "\n")), _BLOCK_CHARS)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return [f"{fence}{language}", *shown.rstrip("\n").split("\n"), fence]


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`*", text)))


def collapsible(title: str, body: Sequence[str]) -> list[str]:
    """Return a folded part; ``title`` is trusted."""
    return ["", f"<details><summary>{title}</summary>", "", *body, "", "</details>", ""]


def section_lines(section: blocks.Section) -> Iterator[str]:
    """Yield a section with its heading."""
    yield f"## {section.heading.title}, {inline(section.heading.about or 'agent')}"
    yield ""
    for block in (*section.said, *section.blocks):
        yield from block_lines(block)


def block_lines(block: blocks.Block) -> Iterator[str]:  # noqa: PLR0912 - one case for each kind of block
    """Yield the lines of a block."""
    match block:
        case blocks.Facts():
            yield from (f"- {one_line(name)}: {inline(' '.join(lines))}" for name, lines in block.items)
        case blocks.Counts():
            yield f"- {', '.join(f'{count:,} {one_line(name)}' for name, count in block.items)}"
        case blocks.Times():
            yield f"- {', '.join(f'{one_line(stage)} {seconds_text(spent)}' for stage, spent in block.items)}"
        case blocks.Remark():
            yield f"- {inline(block.text, 1_000)}"
        case blocks.Listing():
            yield from collapsible(html.escape(one_line(block.title, 200)), fenced_block("\n".join(block.lines)))
        case blocks.Table():
            yield from _table(block)
        case blocks.Prose():
            yield from collapsible("The answer", fenced_block(block.text))
        case blocks.AlertBlock():
            yield f"- ⚠ {inline(block.sentence)}"
        case blocks.Notes():
            if not block.repeated:
                yield from _list(block.title, block.lines)
        case blocks.Risks():
            yield from _list("⚠ Risk", block.lines)
        case blocks.CallBlock():
            yield from _call(block)
        case blocks.Refusals():
            said = [f"{code}: {message} {hint}".strip() for code, message, hint in block.items]
            yield from _list("❌ Refused", said)
        case blocks.VerdictBlock():
            checks = f" ({inline(', '.join(block.checks))})" if block.checks else ""
            yield f"- Gate: {inline(block.status)}{checks}"
        case ChangeSummary():
            yield f"- {inline(block.path)}: {inline(block.title)}"
            for line in block.lines[:_LISTED]:
                yield f"{'  ' * (1 + min(line.indent, 3))}- {inline(line.text)}"
        case blocks.Diff():
            rows = [f"{_MARKS.get(line.style, '')}{line.text}" for line in block.lines]
            yield from collapsible("The change", fenced_block("\n".join([block.title, *rows]), "diff"))
        case blocks.FindingsBlock():
            yield from _findings(block)
        case blocks.Answer():
            yield from _answer(block)
        case blocks.Written():
            for kind, path in block.changes:
                yield f"- {_sign(block.ok)} {kind} {inline(path)}"
        case blocks.Output():
            yield f"- {_sign(block.ok)} {inline(f'{block.tool} finished' if block.ok else block.text or block.tool)}"
        case blocks.Folded():
            yield from collapsible(block.title, fenced_block(block.text))
        case _:
            assert_never(block)


def _table(table: blocks.Table) -> Iterator[str]:
    yield from (f"## {one_line(table.title, 200)}", "")
    if table.rows:
        yield f"| {' | '.join(one_line(column, 60).replace('|', '¦') for column in table.columns)} |"
        yield f"|{'|'.join('---:' if at in table.numeric else '---' for at in range(len(table.columns)))}|"
        yield from (f"| {' | '.join(inline(cell.text, 400) for cell in row)} |" for row in table.rows)
        yield ""
    yield from (f"{inline(note, 1_000)}\n" for note in table.notes)


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines[:_LISTED]:
        yield f"- {title}: {inline(line)}"
    if len(lines) > _LISTED:
        yield f"- {title}: and {len(lines) - _LISTED} more"


def _call(call: blocks.CallBlock) -> Iterator[str]:
    valid = " (not valid)" if call.valid is False else ""
    yield f"- Request {inline(call.tool)}{valid}: {inline(call.why or 'no reason given')}"
    yield from (f"- Adjusted: {inline(line)}" for line in call.adjusted)
    yield from collapsible("Its parameters", fenced_block(call.parameters, "json"))


def _findings(found: blocks.FindingsBlock) -> Iterator[str]:
    yield from ("", "| File | Line | Rule | Finding |", "|---|---|---|---|")
    for one in found.items[:_LISTED]:
        yield f"| {inline(one.path)} | {one.line} | {inline(one.rule)} | {inline(one.message)} |"
    if len(found.items) > _LISTED:
        yield f"| and {len(found.items) - _LISTED} more | | | |"
    yield ""


def _answer(given: blocks.Answer) -> Iterator[str]:
    if not given.answer:
        yield "- ⚠ Waiting for approval"
        return
    sign = {"approve": "✅", "dry_run": "·"}.get(given.answer, "⛔")
    yield f"- {sign} Decision: {inline(f'{given.answer} by {given.by}{given.why}')}"


def _sign(good: bool) -> str:
    return "✅" if good else "❌"
