"""A question as blocks, the same on a terminal, a page and in the application. Pure.

Most dangerous first: who and why, risks, the change with its findings, then the checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from rails.approval.content_risks import PARAMETER_LINES, parameter_lines
from rails.approval.decision import RETURNED, ApprovalRequest
from rails.approval.diff_view import card_lines, file_diff
from rails.core.builtin_tools import RUN_COMMAND
from rails.core.changes import FileChange
from rails.core.events.approval import ApprovalOpened, AskedRequest
from rails.core.paths import protected
from rails.core.text import counted, one_line
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict
from rails.log.actions import action_text
from rails.render import blocks
from rails.render.blocks import show
from rails.render.diffs import as_renames, read_diff

LEGEND: Final = "Lines marked ~ were changed by a formatter or fixer after the agent wrote them."
#: Diff lines of one file that a page shows.
_PAGE_LINES: Final = 1_500
_WHY_LINES: Final = 12
#: The longest command that a card shows once.
_SHORT: Final = 200
_REPAIRED: Final = ": JSON repaired ("


class QuestionCard(Struct, frozen=True):
    """A question's head and parts; ``hidden`` counts omitted lines."""

    title: str
    head: tuple[blocks.Block, ...]
    parts: tuple[tuple[blocks.Block, ...], ...]
    hidden: int


def question_card(request: ApprovalRequest | ApprovalOpened, *, full: bool = False, page: bool = False) -> QuestionCard:
    """Return the card. ``full`` omits nothing and adds the parameters as sent; a ``page`` has room for more."""
    if isinstance(request, ApprovalOpened) and request.options:
        return QuestionCard("A question", tuple(_head(request)), tuple(_options(request)), 0)
    diffs = _diffs(request, full=full, page=page)
    outlines = request.verdict.outlines if request.verdict else ()
    parts: list[tuple[blocks.Block, ...]] = [*((outline,) for outline in outlines), *((diff,) for diff in diffs)]
    if any(diff.by_tools for diff in diffs):
        parts.append((blocks.Remark(LEGEND, ""),))
    hidden = sum(diff.hidden for diff in diffs)
    everything = full or page
    for one in request.requests if everything or request.kind == "tool" else ():
        if not everything and _is_told(one):
            continue
        listing, left_out = _parameters(one, full=full or page, run=request.kind == "tool")
        parts.append((listing,))
        hidden += left_out
    drawn = {diff.path for diff in diffs}
    parts.append(tuple(_checks(request.verdict, drawn)))
    return QuestionCard(_title(request), tuple(_head(request)), tuple(parts), hidden)


def _title(request: ApprovalRequest | ApprovalOpened) -> str:
    if request.id.endswith(RETURNED):
        return "Let the agent read this?"
    if request.kind == "changes":
        return "Change these files?"
    return "Run this command?" if request.tools == (RUN_COMMAND.name,) else "Run this tool?"


def _options(asked: ApprovalOpened) -> Iterator[tuple[blocks.Block, ...]]:
    if asked.lines:
        yield (blocks.Listing("Question", asked.lines, open=True),)
    for option in asked.options:
        if option.diff:
            yield (blocks.Remark(option.meaning, ""), *read_diff(option.diff))


def _diffs(request: ApprovalRequest | ApprovalOpened, *, full: bool, page: bool) -> list[blocks.Diff]:
    changes = as_drawn(request.changes.changes)
    share = card_lines(len(changes))
    findings = request.verdict.findings if request.verdict else ()
    lines = None if full else _PAGE_LINES if page else share
    return [*as_renames(file_diff(change, findings, max_lines=lines) for change in changes)]


def as_drawn(changes: Iterable[FileChange]) -> list[FileChange]:
    """Return changes as on the card: protected first, then deletions."""
    return sorted(changes, key=_danger)


def _danger(change: FileChange) -> tuple[int, str]:
    rank = 0 if protected(change.path) else 1 if change.kind == "delete" else 2
    return rank, str(change.path)


def _head(request: ApprovalRequest | ApprovalOpened) -> Iterator[blocks.Block]:
    if isinstance(request, ApprovalOpened):
        yield from _of_record(request)
    tools = one_line(", ".join(request.tools), 400)
    does = [action_text(one.tool_name, one.parameters) for one in request.requests if one.tool_name == RUN_COMMAND.name]
    facts = {
        "agent": (one_line(request.agent),),
        "tool": (tools,),
        "does": tuple(does),
        "why": _why(request.explanation),
    }
    yield blocks.Facts(tuple(fact for fact in facts.items() if any(fact[1])))
    if request.risks:
        yield blocks.Risks(request.risks)
    if notes := tuple(_notes(request)):
        yield blocks.Notes("note", "Notes", notes)


def _of_record(asked: ApprovalOpened) -> Iterator[blocks.Block]:
    if asked.note and asked.options:
        yield blocks.AlertBlock("again", asked.note, f"Your answer cannot be taken yet: {asked.note}")
    elif asked.options:
        return
    elif asked.note:
        yield blocks.AlertBlock("edit", asked.note, f"Your version cannot be used: {asked.note}")
    elif asked.replaces:
        words = "Your version was checked and formatted. This is what would be written; nothing is written yet."
        yield blocks.Remark(words, "good")
    yield from (blocks.AlertBlock("unseen", line, line) for line in asked.unseen)


def _why(explanation: str) -> tuple[str, ...]:
    text = explanation.replace("\r\n", "\n").strip()
    lines = tuple(show(line, changed=False) for line in text.split("\n") if line.strip())
    more = len(lines) - _WHY_LINES
    return lines if more <= 0 else (*lines[:_WHY_LINES], f"[… {counted(more, 'more line')} …]")


def _notes(request: ApprovalRequest | ApprovalOpened) -> Iterator[str]:
    for one in request.requests:
        repairs = one.repairs if isinstance(one, AskedRequest) else one.raw.repairs if one.raw else ()
        for repair in repairs:
            before, after = (json.dumps(text, ensure_ascii=False) for text in (repair.before, repair.after))
            yield f"{one.tool_name}: JSON repaired ({repair.name}) at {repair.offset}: {before} became {after}"
    yield from (note for note in request.notes if _REPAIRED not in note)


def _parameters(request: ToolRequest | AskedRequest, *, full: bool, run: bool) -> tuple[blocks.Listing, int]:
    lines = parameter_lines(request.parameters)
    hidden = 0 if full else max(0, len(lines) - PARAMETER_LINES)
    if hidden:
        tail = PARAMETER_LINES // 3
        lines = [*lines[: PARAMETER_LINES - tail], f"[… {counted(hidden, 'line')} not shown …]", *lines[-tail:]]
    shown = tuple(show(line, full=full, changed=False) for line in lines)
    return blocks.Listing(f"parameters of {one_line(request.tool_name)}", shown, run), hidden


def _is_told(request: ToolRequest | AskedRequest) -> bool:
    """Return whether the line of what it does holds all parameters: those of a short command in plain letters."""
    command = request.parameters.get("command")
    if request.tool_name != RUN_COMMAND.name or len(request.parameters) > 1 or not isinstance(command, str):
        return False
    plain = command.isascii() and "\\" not in command and len(command) <= _SHORT
    return plain and action_text(request.tool_name, request.parameters) == f"$ {command}"


def _checks(verdict: Verdict | None, drawn: set[str]) -> Iterator[blocks.Block]:
    if verdict is None:
        yield blocks.Notes("checks", "Checks", ("Tool calls are not linted.",), "dim")
        return
    checks = tuple(one_line(f"{run.name} {run.version}".strip(), 60) for run in verdict.checks)
    new = sum(finding.new for finding in verdict.findings)
    words = {"pass": "passed", "fail": f"{counted(new, 'new finding')}", "error": "could not be completed"}
    said = words[verdict.status] if checks or verdict.status != "pass" else "no checks apply"
    yield blocks.VerdictBlock(verdict.status, checks, words=said)
    elsewhere = tuple(f"{f.path}:{f.line}: {f.rule} {f.message}" for f in verdict.findings if f.path not in drawn)
    fixes = tuple(f"{fixed.tool} {fixed.rule} ×{fixed.count} in {fixed.path}" for fixed in verdict.fixed)
    unseen = tuple(f"{skip.path} by {skip.check}: {skip.reason}" for skip in verdict.not_checked)
    for name, title, lines, tone in (
        ("", "Findings elsewhere", elsewhere, "open"),
        ("fixed", "Auto-fixed", fixes, ""),
        ("skipped", "Not checked", unseen, "dim"),
    ):
        if lines:
            yield blocks.Notes(name, title, lines, tone)  # type: ignore[arg-type]
