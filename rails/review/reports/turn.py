"""A turn as blocks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.events.changes import GateVerdict, ToolExecutionResult
from rails.core.verdict import Finding
from rails.log.actions import action_text
from rails.projections.common import (
    ApprovalView,
    CorrectionView,
    RequestView,
    TurnOutcome,
    TurnView,
    checks_in_words,
    fixed_in_words,
    not_checked_in_words,
)
from rails.render import blocks
from rails.render.diffs import DIFF_LINES, read_diff

OUTCOMES: Final[Mapping[TurnOutcome, blocks.Badge]] = {
    "applied": blocks.Badge("✓", "good", "Applied"),
    "ran": blocks.Badge("✓", "good", "Done"),
    "answered": blocks.Badge("✓", "good", "Answered"),
    "refused": blocks.Badge("✕", "bad", "Refused"),
    "findings": blocks.Badge("✕", "bad", "Stopped by the checks"),
    "denied": blocks.Badge("✕", "bad", "Denied"),
    "aborted": blocks.Badge("■", "bad", "Stopped by the human"),
    "dry_run": blocks.Badge("·", "dim", "Dry run"),
    "failed": blocks.Badge("✕", "bad", "Failed"),
    "asked": blocks.Badge("?", "open", "Asks you"),
    "open": blocks.Badge("…", "open", "Unfinished"),
}
#: Why an answer ends that is whole.
_ENDED: Final = ("", "end_turn", "tool_use")
_ADJUSTED: Final = "Notes"


def turn_section(turn: TurnView, *, diff_lines: int = DIFF_LINES) -> blocks.Section:
    """Return a turn; ``diff_lines`` of each file's changes are shown."""
    cost = blocks.Cost(turn.agent, turn.model, turn.started, turn.seconds, turn.input_tokens, turn.output_tokens)
    heading = blocks.Heading(turn_name(turn), OUTCOMES[turn.outcome], turn.agent, turn.progress)
    said = tuple(_said(turn))
    came = tuple(_came(turn, diff_lines))
    return blocks.Section(heading, said, cost, came, turn.number, turn.first_seq, turn.last_seq)


def turn_name(turn: TurnView) -> str:
    """Return what a turn is called."""
    return f"Turn {turn.number}" if turn.number else "Before any turn"


def _said(turn: TurnView) -> Iterator[blocks.Block]:
    if turn.text.strip():
        yield blocks.Prose("says", turn.text)
    if turn.stop_reason not in _ENDED:
        yield blocks.AlertBlock("stopped", turn.stop_reason, f"The answer ended early: {turn.stop_reason}.")


def _came(turn: TurnView, diff_lines: int) -> Iterator[blocks.Block]:
    yield from map(_call, turn.requests)
    for correction in turn.corrections:
        yield from _correction(correction)
    if turn.ignored:
        yield blocks.Notes("ignored", "Blocks that are not requests", turn.ignored, "dim")
    if turn.refusals:
        yield blocks.Refusals(tuple((one.code, one.message, one.hint) for one in turn.refusals))
    if turn.notes:
        yield blocks.Notes("note", _ADJUSTED, turn.notes)
    for gate in turn.gates:
        yield from _gate(gate, diff_lines, drawn=bool(turn.approvals))
    findings = turn.gates[-1].verdict.findings if turn.gates else ()
    for approval in turn.approvals:
        yield from _approval(approval, findings, diff_lines)
    actions = {request.id: action_text(request.tool, request.parameters) for request in turn.requests}
    for result in turn.results:
        action = actions.get(result.ids[0], "") if result.ids else ""
        yield _result(result, action or result.tool)
    for step in turn.checkpoints:
        yield blocks.Facts((("step", (f"{step} (ai-rails undo goes back to before it)",)),))
    for error in turn.errors:
        yield blocks.AlertBlock("error", error, f"Error: {error}")
    if turn.feedback:
        yield blocks.Folded("told", "Feedback to the model", turn.feedback, open=turn.failed)


def _call(request: RequestView) -> blocks.CallBlock:
    return blocks.CallBlock(
        tool=action_text(request.tool, request.parameters),
        valid=request.valid,
        why=request.explanation,
        adjusted=(
            *(f"JSON repaired: {one}" for one in request.repairs),
            *(f"converted {one}" for one in request.coerced),
        ),
        parameters=json.dumps(request.parameters, indent=2, ensure_ascii=False),
        form=request.dialect,
    )


def _correction(correction: CorrectionView) -> Iterator[blocks.Block]:
    words = "by the model:" if correction.taken else f"by the model, not taken: {correction.why}"
    yield blocks.Notes("corrected", "Corrected", (words,))
    yield blocks.Folded("", "What was sent, and the correction", correction.diff, open=correction.taken)


def _gate(gate: GateVerdict, diff_lines: int, *, drawn: bool) -> Iterator[blocks.Block]:
    verdict = gate.verdict
    yield blocks.VerdictBlock(verdict.status, checks_in_words(verdict), round(gate.duration_ms / 1000, 3))
    yield from verdict.outlines
    if not drawn:
        yield from read_diff(gate.diff, verdict.findings, diff_lines)
    if new := tuple(_finding(finding) for finding in verdict.findings if finding.new):
        yield blocks.FindingsBlock(new)
    if verdict.fixed:
        yield blocks.Notes("fixed", "Auto-fixed", fixed_in_words(verdict))
    if verdict.not_checked:
        yield blocks.Notes("unchecked", "Not checked", not_checked_in_words(verdict), "dim")


def _finding(found: Finding) -> blocks.PlacedFinding:
    return blocks.PlacedFinding(found.path, found.line, found.column, found.rule, found.message, found.tool)


def _approval(approval: ApprovalView, findings: tuple[Finding, ...], diff_lines: int) -> Iterator[blocks.Block]:
    if approval.question:
        yield blocks.Facts((("question", approval.question), ("answer", (approval.reason,))))
        return
    if approval.risks:
        yield blocks.Risks(approval.risks)
    if approval.notes:
        yield blocks.Notes("note", _ADJUSTED, approval.notes, repeated=True)
    yield from read_diff(approval.diff, findings, diff_lines)
    yield blocks.Answer(approval.answer, approval.by, approval.seconds, approval.at, approval.reason, approval.digest)


def _result(result: ToolExecutionResult, action: str) -> blocks.Written | blocks.Output:
    if result.changes:
        return blocks.Written(result.ok, tuple((change.kind, change.path) for change in result.changes))
    return blocks.Output(action, result.ok, result.text, round(result.duration_ms / 1000, 3))
