"""What a human is shown before answering: a request as lines for a terminal. Pure.

Most dangerous first: who asks, why, what to be careful about; then the change itself with the findings
at their lines; then what the checks said and what they did not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.approval.content_risks import PARAMETER_LINES, parameter_lines
from rails.approval.decision import ApprovalRequest
from rails.approval.diff_view import card_lines, file_diff
from rails.core.changes import FileChange
from rails.core.dataclass import dataclass
from rails.core.events.approval import ApprovalOpened, AskedRequest
from rails.core.paths import protected
from rails.core.text import one_line
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict
from rails.render.blocks import Diff, show
from rails.render.lines import draw, draw_summary, styled, wrap

LEGEND: Final = "Lines marked ~ were changed by a formatter or fixer after the agent wrote them."
_WHY_LINES: Final = 12
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Look:
    """How lines are drawn. ``width`` is in terminal columns; ``plain`` leaves out lines and bars."""

    colour: bool = False
    width: int = 100
    plain: bool = False

    @property
    def bar(self) -> str:
        """What stands left of every line of untrusted text."""
        return "| " if self.plain else "│ "


@dataclass(frozen=True, slots=True)
class ApprovalScreen:
    """The lines to show, and how many lines of the change they leave out."""

    lines: tuple[str, ...]
    hidden: int


def draw_request(
    request: ApprovalRequest | ApprovalOpened, look: Look | None = None, *, full: bool = False
) -> ApprovalScreen:
    """Draw ``request``. ``full`` leaves nothing out and adds the parameters as the agent sent them."""
    look = look or Look()
    diffs = _diffs(request, full)
    lines = [*_head(request, look), ""]
    for outline in request.verdict.outlines if request.verdict else ():
        lines += [*draw_summary(outline, look.colour, look.width), ""]
    for diff in diffs:
        lines += [*draw(diff, colour=look.colour, width=look.width), ""]
    if any(diff.by_tools for diff in diffs):
        lines += [*wrap(LEGEND, look.width), ""]
    hidden = sum(diff.hidden for diff in diffs)
    for tool_request in request.requests if full or request.kind == "tool" else ():
        body, left_out = _parameters(tool_request, look, full)
        lines += [*body, ""]
        hidden += left_out
    if request.verdict is not None:
        lines += [*_gate(request.verdict, {diff.path for diff in diffs}, look), ""]
    return ApprovalScreen(tuple(lines), hidden)


def _diffs(request: ApprovalRequest | ApprovalOpened, full: bool) -> list[Diff]:
    changes = sorted(request.changes.changes, key=_danger)
    share = None if full else card_lines(len(changes))
    findings = request.verdict.findings if request.verdict else ()
    return [file_diff(change, findings, max_lines=share) for change in changes]


def _danger(change: FileChange) -> tuple[int, str]:
    rank = 0 if protected(change.path) else 1 if change.kind == "delete" else 2
    return rank, str(change.path)


def _head(request: ApprovalRequest | ApprovalOpened, look: Look) -> Iterator[str]:
    title = "Change these files?" if request.kind == "changes" else "Run this tool?"
    rule = title if look.plain else f"── {title} ".ljust(min(look.width, 100), "─")
    yield styled(rule, "title", look.colour)
    yield from field("agent", [one_line(request.agent)], look)
    yield from field("tool", [one_line(", ".join(request.tools), 400)], look)
    yield from field("why", _why(request.explanation), look)
    for risk in request.risks:
        yield from field("risk", [one_line(risk, 400)], look, "risk")
    yield from _listed("note", [one_line(note, 400) for note in request.notes], look)
    yield from field("digest", [request.digest[:16]], look)


def _why(explanation: str) -> list[str]:
    text = explanation.replace("\r\n", "\n").strip()
    lines = [show(line, changed=False) for line in text.split("\n") if line.strip()]
    if not lines:
        return ["(the agent did not say)"]
    more = len(lines) - _WHY_LINES
    return lines if more <= 0 else [*lines[:_WHY_LINES], f"[… {more} more lines …]"]


def field(name: str, lines: Sequence[str], look: Look, style: str = "") -> Iterator[str]:
    """Yield a labelled field; every further line keeps a bar at the left that no text can forge."""
    label = f"{name:<8}{look.bar}"
    for line in lines:
        for piece in wrap(line, max(20, look.width - len(label))):
            yield styled(f"{label}{piece}", style, look.colour)
            label = f"{'':<8}{look.bar}"


def _listed(name: str, lines: Sequence[str], look: Look, style: str = "") -> Iterator[str]:
    more = len(lines) - _LISTED
    yield from field(name, [*lines[:_LISTED], *([f"[… {more} more …]"] if more > 0 else [])], look, style)


def _parameters(request: ToolRequest | AskedRequest, look: Look, full: bool) -> tuple[list[str], int]:
    lines = parameter_lines(request.parameters)
    hidden = 0 if full else max(0, len(lines) - PARAMETER_LINES)
    if hidden:
        tail = PARAMETER_LINES // 3
        lines = [*lines[: PARAMETER_LINES - tail], f"[… {hidden} lines not shown …]", *lines[-tail:]]
    shown = [show(line, full=full, changed=False) for line in lines]
    return [f"parameters of {one_line(request.tool_name)}", *field("", shown, look)], hidden


def _gate(verdict: Verdict, drawn: set[str], look: Look) -> Iterator[str]:
    checks = ", ".join(one_line(f"{run.name} {run.version}".strip(), 60) for run in verdict.checks)
    new = sum(finding.new for finding in verdict.findings)
    words = {"pass": "passed", "fail": f"{new} new findings", "error": "could not be completed"}
    style = "good" if verdict.status == "pass" else "risk"
    yield from field("checks", [f"{words[verdict.status]} ({checks or 'none ran'})"], look, style)
    elsewhere = [f"{f.path}:{f.line}: {f.rule} {f.message}" for f in verdict.findings if f.path not in drawn]
    yield from _listed("", [one_line(text, 300) for text in elsewhere], look, "finding")
    fixes = [f"{fixed.tool} {fixed.rule} ×{fixed.count} in {fixed.path}" for fixed in verdict.fixed]
    yield from _listed("fixed", [one_line(text, 300) for text in fixes], look)
    skipped = [f"{skip.path} by {skip.check}: {skip.reason}" for skip in verdict.not_checked]
    yield from _listed("unseen", [one_line(f"not checked: {text}", 300) for text in skipped], look, "dim")
