"""A review as text: the list of sessions, and one session turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.approval.terminal.screen import draw_lines, draw_summary, styled, wrap
from rails.core.text import one_line, printable
from rails.projections.common import (
    ApprovalView,
    CorrectionView,
    FindingView,
    GateView,
    RequestView,
    ResultView,
    SessionTotals,
    SessionView,
    TurnView,
)
from rails.review.diffs import read_diff
from rails.review.reports.repair_drift import difference

_OUTCOMES: Final = {
    "applied": ("applied", "good"),
    "ran": ("done", "good"),
    "answered": ("answered", "good"),
    "refused": ("refused", "risk"),
    "findings": ("stopped by the checks", "risk"),
    "denied": ("denied", "risk"),
    "aborted": ("stopped by the human", "risk"),
    "failed": ("failed", "risk"),
    "open": ("unfinished", "finding"),
}
_LISTED: Final = 20
_DIFF_LINES: Final = 120
_TEXT_LINES: Final = 12
_BAR: Final = f"  {'':<9}│ "


def render_session(view: SessionView, colour: bool = False, *, width: int = 100) -> str:
    """Return a session turn by turn: what was asked, what failed and why, what was decided and written."""
    pen = _Pen(colour, width)
    lines = [*_head(view, pen), ""]
    for turn in view.turns:
        lines += [*_turn(turn, pen), ""]
    lines += _summary(view, pen)
    return "\n".join(lines)


def turn_lines(turn: TurnView, colour: bool = False, *, width: int = 100) -> list[str]:
    """Return one turn as lines."""
    return list(_turn(turn, _Pen(colour, width)))


def frame_lines(view: SessionView, colour: bool = False, *, width: int = 100) -> list[str]:
    """Return the lines about a session as a whole."""
    pen = _Pen(colour, width)
    return [*_head(view, pen), "", *_summary(view, pen)]


class _Pen:
    """How lines are drawn."""

    def __init__(self, colour: bool, width: int) -> None:
        self.colour = colour
        self.width = width

    def line(self, text: str, style: str = "") -> str:
        return styled(text, style, self.colour)

    def field(self, name: str, text: str, style: str = "", limit: int = 400) -> Iterator[str]:
        """Yield a labelled text on one line, wrapped below itself."""
        yield from self.block(name, [one_line(text, limit)], style)

    def block(self, name: str, texts: Sequence[str], style: str = "") -> Iterator[str]:
        """Yield labelled printable texts, one below the other, with a bar that keeps them apart from ours."""
        label = f"  {name:<9}│ "
        for text in texts:
            for piece in wrap(text, max(20, self.width - len(label))):
                yield self.line(f"{label}{piece}".rstrip(), style)
                label = f"  {'':<9}│ "


def _head(view: SessionView, pen: _Pen) -> Iterator[str]:
    yield pen.line(f"Session {one_line(view.session_id)}", "title")
    yield from pen.field("task", view.task)
    yield from pen.field("project", view.project)
    yield from pen.field("agents", ", ".join(view.agents))
    yield from pen.field("models", ", ".join(view.models))
    yield from pen.field("started", f"{view.started}, {len(view.turns)} turns")
    for damage in view.damage[:_LISTED]:
        yield from pen.field("damaged", damage, "risk")
    if view.unknown_events:
        yield from pen.field("unknown", f"{view.unknown_events} records of types that this version does not know")


def _turn(turn: TurnView, pen: _Pen) -> Iterator[str]:
    yield from _turn_head(turn, pen)
    yield from _answer(turn, pen)
    for request in turn.requests:
        yield from _request(request, pen)
    for reason in turn.ignored[:_LISTED]:
        yield from pen.field("ignored", reason, "dim")
    for correction in turn.corrections[:_LISTED]:
        yield from _correction(correction, pen)
    for refusal in turn.refusals[:_LISTED]:
        yield from pen.field("refused", f"{refusal.code}: {refusal.message} {refusal.hint}".strip(), "risk")
    yield from _more("refused", len(turn.refusals), pen)
    for note in turn.notes[:_LISTED]:
        yield from pen.field("note", note)
    for gate in turn.gates:
        yield from _gate(gate, pen, drawn=bool(turn.approvals))
    findings = turn.gates[-1].findings if turn.gates else ()
    for approval in turn.approvals:
        yield from _approval(approval, findings, pen)
    for result in turn.results:
        yield from _result(result, pen)
    for step in turn.checkpoints:
        yield from pen.field("step", f"{step} (ai-rails undo goes back to before it)", "dim")
    for error in turn.errors[:_LISTED]:
        yield from pen.field("error", error, "risk")
    if turn.failed and turn.feedback:
        yield from pen.block("told", _few_lines(turn.feedback), "dim")


def _turn_head(turn: TurnView, pen: _Pen) -> Iterator[str]:
    words, style = _OUTCOMES[turn.outcome]
    title = f"turn {turn.number}" if turn.number else "before any turn"
    who = one_line(turn.agent, 40)
    head = f"── {title}  {who}  {words}"
    progress = f"  [{one_line(turn.progress)}]" if turn.progress else ""
    if len(head) + len(progress) <= pen.width:
        yield pen.line(f"{head}{progress}", style)
    else:
        yield pen.line(head, style)
        yield from pen.field("tries", turn.progress, style)


def _answer(turn: TurnView, pen: _Pen) -> Iterator[str]:
    if turn.text.strip():
        yield from pen.block("says", _few_lines(turn.text))
    seconds = ", ".join(f"{stage} {spent:.1f} s" for stage, spent in turn.seconds.items())
    tokens = f"{turn.input_tokens} in, {turn.output_tokens} out" if turn.input_tokens or turn.output_tokens else ""
    facts = "; ".join(filter(None, (tokens and f"tokens {tokens}", seconds)))
    if turn.stop_reason not in ("", "end_turn", "tool_use"):
        yield from pen.field("stopped", turn.stop_reason, "risk")
    if facts:
        yield from pen.field("cost", facts, "dim")


def _request(request: RequestView, pen: _Pen) -> Iterator[str]:
    mark = {True: "", False: " (not valid)", None: ""}[request.valid]
    why = f": {request.explanation}" if request.explanation else ""
    paths = f" {', '.join(request.paths)}" if request.paths else ""
    yield from pen.field("asks", f"{request.tool}{mark}{paths}{why}", "risk" if request.valid is False else "")
    for repair in request.repairs:
        yield from pen.field("repaired", repair, "finding")
    for coerced in request.coerced:
        yield from pen.field("converted", coerced, "finding")


def _correction(correction: CorrectionView, pen: _Pen) -> Iterator[str]:
    if not correction.taken:
        yield from pen.field("corrected", f"by the model, not taken: {correction.why}", "dim")
    elif not correction.changes:
        yield from pen.field("corrected", "by the model: only the syntax changed", "good")
    for change in correction.changes[:_LISTED]:
        old, new = difference(change.old, change.new)
        words = f"by the model, a value changed: {change.place}: {old} → {new}"
        yield from pen.field("corrected", words, "risk" if correction.taken else "dim")


def _gate(gate: GateView, pen: _Pen, *, drawn: bool) -> Iterator[str]:
    style = "good" if gate.status == "pass" else "risk"
    checks = f" ({', '.join(gate.checks)})" if gate.checks else ""
    yield from pen.field("checks", f"{gate.status}{checks}", style)
    for outline in gate.outlines:
        yield from _barred(draw_summary(outline, pen.colour, pen.width - len(_BAR)))
    if not drawn:
        yield from _diffs(gate.diff, gate.findings, pen)
    new = [finding for finding in gate.findings if finding.new]
    for f in new[:_LISTED]:
        yield from pen.field("", f"{f.path}:{f.line}:{f.column} {f.rule} {f.message}", "finding")
    yield from _more("", len(new), pen)
    for fixed in gate.fixed[:_LISTED]:
        yield from pen.field("fixed", fixed)
    for skipped in gate.not_checked[:_LISTED]:
        yield from pen.field("unchecked", skipped, "dim")


def _approval(approval: ApprovalView, findings: Sequence[FindingView], pen: _Pen) -> Iterator[str]:
    for risk in approval.risks[:_LISTED]:
        yield from pen.field("risk", risk, "risk")
    yield from _diffs(approval.diff, findings, pen)
    if not approval.answer:
        yield from pen.field("decision", "nobody has answered yet", "finding")
        return
    reason = f": {approval.reason}" if approval.reason else ""
    words = f"{approval.answer} by {approval.by} after {approval.seconds:.1f} s{reason}"
    yield from pen.field("decision", words, "good" if approval.answer == "approve" else "risk")


def _diffs(text: str, findings: Sequence[FindingView], pen: _Pen) -> Iterator[str]:
    for diff in read_diff(text, findings, _DIFF_LINES):
        counts = f" ({diff.kind}, +{diff.added} -{diff.removed})" if diff.kind else ""
        yield from pen.field("", f"{diff.path}{counts}", "title")
        yield from _barred(draw_lines(diff.lines, pen.colour, pen.width - len(_BAR)))


def _barred(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{_BAR}{line}".rstrip() for line in lines)


def _result(result: ResultView, pen: _Pen) -> Iterator[str]:
    style = "good" if result.ok else "risk"
    if result.changes:
        for change in result.changes:
            yield from pen.field("written", f"{change.kind} {change.path}", style)
        return
    yield from pen.block(
        "result", [f"{result.tool} {'ok' if result.ok else 'failed'}", *_few_lines(result.text)], style
    )


def _more(name: str, count: int, pen: _Pen) -> Iterator[str]:
    if count > _LISTED:
        yield from pen.field(name, f"[… {count - _LISTED} more …]")


def _few_lines(text: str) -> list[str]:
    lines = [printable(line).expandtabs(4) for line in text.strip().split("\n")]
    cut = len(lines) - _TEXT_LINES
    return lines if cut <= 0 else [*lines[: _TEXT_LINES - 3], f"[… {cut} more lines …]", *lines[-3:]]


def _summary(view: SessionView, pen: _Pen) -> Iterator[str]:
    for sentence in view.failures:
        yield from pen.field("why", sentence, "finding", limit=1000)
    for sentence in view.attention[:_LISTED]:
        yield from pen.field("look", sentence, "risk")
    yield from _more("look", len(view.attention), pen)
    if view.undone:
        yield from pen.field("undone", f"steps {', '.join(map(str, view.undone))}")
    if view.resumed:
        yield from pen.field("resumed", f"{view.resumed} times")
    yield from pen.field("totals", _counts(view.totals), limit=1000)
    yield from pen.field("time", ", ".join(f"{stage} {spent:.1f} s" for stage, spent in view.totals.seconds.items()))
    done = view.outcome == "done"
    words = f"{view.outcome}: {view.message}" if view.outcome else "unfinished: the log has no end of the session"
    yield from pen.field("outcome", words, "good" if done else "finding", limit=1000)


def _counts(totals: SessionTotals) -> str:
    return (
        f"{totals.requests} requests, {totals.repairs} repaired, {totals.refusals} refused, {totals.retries} retries, "
        f"{totals.findings} findings ({totals.findings_fixed} fixed), {totals.approved} approved, "
        f"{totals.denied} denied, {totals.files_changed} files changed, "
        f"{totals.input_tokens} tokens in, {totals.output_tokens} out"
    )
