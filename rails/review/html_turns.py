"""One turn as HTML: what was said and asked, what failed, what was decided and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.text import head_and_tail, one_line, sha256
from rails.projections.common import (
    ApprovalView,
    CorrectionView,
    FindingView,
    GateView,
    RefusalView,
    RequestView,
    ResultView,
    TurnView,
)
from rails.review.diffs import LoggedDiff, read_diff
from rails.review.markup import Html, el, html_text, join
from rails.review.outlines import summary_part
from rails.review.reports.repair_drift import difference

#: Characters of one text that the page shows; the rest is named by its length and hash.
TEXT_CHARS: Final = 64_000
#: The outcome of a turn: a mark, a class of the style sheet, words.
WORDS: Final = {
    "applied": ("✓", "good", "Applied"),
    "ran": ("✓", "good", "Done"),
    "answered": ("✓", "good", "Answered"),
    "refused": ("✕", "bad", "Refused"),
    "findings": ("✕", "bad", "Stopped by the checks"),
    "denied": ("✕", "bad", "Denied"),
    "aborted": ("■", "bad", "Stopped by the human"),
    "failed": ("✕", "bad", "Failed"),
    "open": ("…", "open", "Unfinished"),
}
_MARKS: Final = {"add": "+", "remove": "−", "tool_add": "+", "tool_remove": "−", "finding": "▲"}
_LISTED: Final = 200


def turn_section(turn: TurnView, next_failure: int | None) -> Html:
    """Return a turn as a section; ``next_failure`` is the number of the next failed turn, for a link."""
    mark, kind, words = WORDS[turn.outcome]
    jump = el("a", html_text("Next failure ↓"), href=f"#turn-{next_failure}", class_="jump") if next_failure else None
    heading = el(
        "h2",
        html_text(f"{turn_name(turn)} "),
        badge(mark, kind, words),
        el("span", html_text(one_line(turn.progress)), class_="progress") if turn.progress else None,
        jump,
        id=f"turn-{turn.number}",
    )
    stages = ", ".join(f"{stage} {seconds_text(spent)}" for stage, spent in turn.seconds.items())
    tokens = f"{turn.input_tokens:,} tokens in, {turn.output_tokens:,} out" if turn.input_tokens else ""
    facts = " · ".join(filter(None, (turn.agent, turn.model, time_text(turn.started), stages, tokens)))
    parts: list[Html] = [heading, el("p", html_text(one_line(facts, 400)), class_="meta")]
    parts += _model_part(turn)
    parts += [_refusal(refusal) for refusal in turn.refusals]
    if turn.notes:
        parts.append(_notes("Adjusted on the way", turn.notes))
    for gate in turn.gates:
        parts += _gate(gate, drawn=bool(turn.approvals))
    findings = turn.gates[-1].findings if turn.gates else ()
    parts += [_approval(approval, findings) for approval in turn.approvals]
    parts += [_result(result) for result in turn.results]
    parts += [el("p", html_text(f"Error: {one_line(error, 600)}"), class_="box bad") for error in turn.errors]
    if turn.feedback:
        parts.append(_folded("What the agent was told next", turn.feedback, open_=turn.failed))
    return el(
        "section",
        parts,
        class_=f"turn {kind}",
        aria_labelledby=f"turn-{turn.number}",
        data_first=turn.first_seq,
        data_last=turn.last_seq,
    )


def _model_part(turn: TurnView) -> Iterator[Html]:
    if turn.text.strip():
        yield el("div", _prose(turn.text.strip()), class_="says")
    if turn.stop_reason not in ("", "end_turn", "tool_use"):
        yield el("p", html_text(f"The answer ended early: {one_line(turn.stop_reason)}."), class_="box bad")
    yield from (_request(request) for request in turn.requests)
    yield from (_correction(correction) for correction in turn.corrections)
    if turn.ignored:
        yield _notes("Blocks that are not requests", turn.ignored)


def _request(request: RequestView) -> Html:
    valid = {True: badge("✓", "good", "valid"), False: badge("✕", "bad", "not valid"), None: None}[request.valid]
    line = el(
        "p",
        el("code", html_text(one_line(request.tool, 80)), class_="tool"),
        [el("code", html_text(one_line(path, 200)), class_="path") for path in request.paths[:20]],
        valid,
        el("span", html_text(one_line(request.explanation, 400)), class_="because") if request.explanation else None,
    )
    changes = [
        *(f"JSON repaired: {repair}" for repair in request.repairs),
        *(f"Converted: {c}" for c in request.coerced),
    ]
    adjusted = [el("li", html_text(one_line(change, 300))) for change in changes]
    shown = json.dumps(request.parameters, indent=2, ensure_ascii=False)
    return el(
        "div",
        line,
        el("ul", adjusted, class_="adjusted") if adjusted else None,
        _folded(f"Parameters ({one_line(request.dialect) or 'as sent'})", shown),
        class_="request",
    )


def _correction(correction: CorrectionView) -> Html:
    words = "The model corrected this block" if correction.taken else f"A correction was not taken: {correction.why}"
    if correction.taken and not correction.changes:
        return el("p", html_text(f"{words}; only the syntax changed."), class_="box good")
    rows = []
    for change in correction.changes[:_LISTED]:
        old, new = difference(change.old, change.new)
        values = (el("del", html_text(old)), html_text(" → "), el("ins", html_text(new)))
        rows.append(
            el("li", el("code", html_text(one_line(change.place, 200)), class_="path"), html_text(" "), *values)
        )
    kind = "bad" if correction.taken else ""
    changed = f"{words}, and changed a value:" if correction.taken else words
    return el(
        "div",
        el("p", html_text(changed)),
        el("ul", rows) if rows else None,
        class_=f"box {kind} drift".replace("  ", " "),
    )


def _refusal(refusal: RefusalView) -> Html:
    return el(
        "div",
        el("p", el("code", html_text(one_line(refusal.code, 60))), html_text(f" {one_line(refusal.message, 1000)}")),
        el("p", html_text(one_line(refusal.hint, 1000)), class_="hint") if refusal.hint else None,
        class_="box bad",
    )


def _gate(gate: GateView, *, drawn: bool) -> Iterator[Html]:
    mark, kind = ("✓", "good") if gate.status == "pass" else ("✕", "bad")
    words = {"pass": "Checks passed", "fail": "Checks failed"}.get(gate.status, "Checks could not be completed")
    checks = f" {', '.join(gate.checks)} · {seconds_text(gate.seconds)}"
    yield el(
        "p", badge(mark, kind, words), el("span", html_text(one_line(checks, 300)), class_="meta"), class_="verdict"
    )
    new = [finding for finding in gate.findings if finding.new]
    yield from (summary_part(outline) for outline in gate.outlines)
    if gate.diff and not drawn:
        yield _diffs(read_diff(gate.diff, new))
    if new:
        yield el("ul", [_finding(finding) for finding in new[:_LISTED]], class_="findings")
    if len(new) > _LISTED:
        yield el("p", html_text(f"and {len(new) - _LISTED} more findings"), class_="meta")
    if gate.fixed:
        yield _notes("Fixed for the agent", gate.fixed)
    if gate.not_checked:
        yield _notes("Not checked", gate.not_checked)


def _finding(finding: FindingView) -> Html:
    return el(
        "li",
        el("code", html_text(one_line(f"{finding.path}:{finding.line}:{finding.column}", 200)), class_="path"),
        html_text(" "),
        el("code", html_text(one_line(finding.rule, 60)), class_="rule"),
        html_text(f" {one_line(finding.message, 600)} "),
        el("span", html_text(one_line(finding.tool, 30)), class_="meta"),
    )


def _approval(approval: ApprovalView, findings: Sequence[FindingView]) -> Html:
    mark, kind, words = {
        "approve": ("✓", "good", "Approved"),
        "deny": ("✕", "bad", "Denied"),
        "abort": ("■", "bad", "Stopped"),
    }.get(approval.answer, ("…", "open", "Nobody has answered yet"))
    took = f"after {seconds_text(approval.seconds)} · {time_text(approval.at)}"
    facts = f"by {approval.by} {took}" if approval.answer else ""
    return el(
        "div",
        el("ul", [el("li", html_text(one_line(risk, 400))) for risk in approval.risks], class_="risks")
        if approval.risks
        else None,
        _notes("Adjusted on the way", approval.notes) if approval.notes else None,
        _diffs(read_diff(approval.diff, findings)),
        el(
            "p",
            badge(mark, kind, words),
            el("span", html_text(f" {one_line(facts, 200)}"), class_="meta"),
            el("q", html_text(one_line(approval.reason, 1000))) if approval.reason else None,
            el("code", html_text(approval.digest[:16]), class_="digest", title="digest of what was decided"),
            class_="decision",
        ),
        class_="approval",
    )


def _diffs(diffs: Sequence[LoggedDiff]) -> Html:
    return join([_diff(diff) for diff in diffs])


def _diff(diff: LoggedDiff) -> Html:
    rows = [
        el(
            "tr",
            el("td", html_text(line.old or ""), class_="n"),
            el("td", html_text(line.new if line.style != "finding" and line.new else ""), class_="n"),
            el("td", html_text(_MARKS.get(line.style, " ")), class_="mark"),
            el("td", html_text(line.text), class_="line"),
            class_=line.style,
        )
        for line in diff.lines
    ]
    counts = f"{diff.kind} +{diff.added} −{diff.removed}" if diff.kind else ""
    title = el(
        "summary", el("code", html_text(one_line(diff.path, 300) or "changes")), el("span", html_text(f" {counts}"))
    )
    table = el("table", el("tbody", rows), aria_label=f"Changes of {one_line(diff.path, 300)}")
    return el("details", title, el("div", table, class_="scroll", tabindex=0), class_="diff", open=True)


def _result(result: ResultView) -> Html:
    kind = "good" if result.ok else "bad"
    if result.changes:
        items = [
            el("li", badge("✓", "good", change.kind), html_text(" "), el("code", html_text(one_line(change.path, 300))))
            for change in result.changes
        ]
        return el("ul", items, class_="written")
    name = f"{result.tool or 'Result'}: {'worked' if result.ok else 'failed'} in {seconds_text(result.seconds)}"
    return el("div", _folded(one_line(name, 200), result.text, open_=not result.ok), class_=f"box {kind}")


def _notes(title: str, lines: Sequence[str]) -> Html:
    items = [el("li", html_text(one_line(line, 400))) for line in lines[:_LISTED]]
    more = [el("li", html_text(f"and {len(lines) - _LISTED} more"))] if len(lines) > _LISTED else []
    return el("div", el("p", html_text(title), class_="label"), el("ul", items, more), class_="notes")


def _folded(title: str, value: str, *, open_: bool = False) -> Html:
    return el("details", el("summary", html_text(title)), el("pre", _bounded(value), tabindex=0), open=open_)


def _prose(value: str) -> Html:
    return el("pre", _bounded(value), class_="prose")


def _bounded(value: str) -> Html:
    shown, left_out = head_and_tail(value, TEXT_CHARS)
    digest = sha256(value.encode("utf-8", "replace"))
    note = f"\n{left_out} characters are left out; SHA-256 of the whole text: {digest}"
    return join(html_text(shown), el("span", html_text(note), class_="meta") if left_out else None)


def badge(mark: str, kind: str, words: str) -> Html:
    """Return a small label: a mark for the eye, words for everyone. ``kind`` is "good", "bad" or "open"."""
    return el("span", el("span", html_text(mark), aria_hidden="true"), html_text(f" {words}"), class_=f"badge {kind}")


def turn_name(turn: TurnView) -> str:
    """Return what a turn is called."""
    return f"Turn {turn.number}" if turn.number else "Before any turn"


def seconds_text(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def time_text(stamp: str) -> str:
    """Return an ISO 8601 time in UTC as people write it; what is none stays as it is."""
    return f"{stamp[:10]} {stamp[11:19]} UTC" if len(stamp) >= 19 else stamp
