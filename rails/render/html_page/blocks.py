"""Blocks as HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, assert_never

from rails.core.change_summary import ChangeSummary
from rails.core.text import counted, head_and_tail, one_line, sha256
from rails.render import blocks
from rails.render.highlight import Span, spans
from rails.render.html_page.markup import Html, el, join
from rails.render.html_page.prose import prose_html
from rails.render.html_page.table import Link, nowhere, table_html
from rails.render.units import seconds_text, time_text

#: Characters of one text that the page shows; the rest is named by its length and hash.
TEXT_CHARS: Final = 64_000
#: What stands left of a line of a diff.
_MARKS: Final = {"add": "+", "remove": "−", "tool_add": "+", "tool_remove": "−", "finding": "▲"}
_BY_TOOL: Final = ("tool_add", "tool_remove")
_SIGNS: Final = {"add": "+", "remove": "−", "change": "~", "note": ""}
_ANSWERS: Final = {
    "approve": blocks.Badge("✓", "good", "Approved"),
    "deny": blocks.Badge("✕", "bad", "Denied"),
    "abort": blocks.Badge("■", "bad", "Stopped"),
    "dry_run": blocks.Badge("·", "dim", "Dry run"),
}
_WAITING: Final = blocks.Badge("…", "open", "Waiting for approval")
_VALID: Final = {True: blocks.Badge("✓", "good", "valid"), False: blocks.Badge("✕", "bad", "not valid")}
_CHECKED: Final = {
    "pass": blocks.Badge("✓", "good", "Checks passed"),
    "fail": blocks.Badge("✕", "bad", "Checks failed"),
}
_UNCHECKED: Final = blocks.Badge("✕", "bad", "Checks could not be completed")
_INDENTS: Final = 2
_LISTED: Final = 200


class HtmlRenderer:
    """Draws blocks; ``picture`` draws a change's meaning, ``link`` links table cells."""

    def __init__(self, picture: Callable[[ChangeSummary], str], link: Link = nowhere) -> None:
        self._picture = picture
        self._link = link
        self._tables = 0

    def section(self, section: blocks.Section, next_failure: int | None = None) -> Html:
        """Return a section; ``next_failure``: the section to link."""
        heading = section.heading
        name = f"turn-{section.number}"
        jump = el("a", "Next failure ↓", href=f"#turn-{next_failure}", class_="jump") if next_failure else None
        title = el(
            "h2",
            f"{heading.title} ",
            badge(heading.badge),
            el("span", one_line(heading.progress), class_="progress") if heading.progress else None,
            jump,
            id=name,
        )
        return el(
            "section",
            [title, _cost(section.cost), *map(self.draw, section.said), *map(self.draw, section.blocks)],
            class_=f"turn {heading.badge.tone}",
            aria_labelledby=name,
            data_first=section.first,
            data_last=section.last,
        )

    def draw(self, block: blocks.Block) -> Html:  # noqa: PLR0912 - one case for each kind of block
        """Return a block."""
        match block:
            case blocks.Facts():
                rows = [(name, [el("p", line) for line in lines]) for name, lines in block.items]
                facts = [el("div", el("dt", _large(name)), el("dd", value)) for name, value in rows]
                return el("dl", facts, class_="facts")
            case blocks.Counts():
                cards = [el("div", el("dt", name), el("dd", f"{n:,}")) for name, n in block.items]
                return el("dl", cards, class_="cards")
            case blocks.Times():
                return _times(block.items)
            case blocks.Remark():
                kind = {"": None, "dim": "meta"}.get(block.tone, f"box {block.tone}")
                return el("p", one_line(block.text, 1_000), class_=kind)
            case blocks.Listing():
                return folded(_large(block.title), "\n".join(block.lines), open_=block.open)
            case blocks.Table():
                self._tables += 1
                return table_html(block, self._link, f"table-{self._tables}")
            case blocks.Prose():
                text = block.text.strip()
                drawn = prose_html(text)
                kind, said = ("pre", bounded(text)) if drawn is None else ("div", drawn)
                return el("div", el(kind, said, class_="prose"), class_="says")
            case blocks.AlertBlock():
                return el("p", one_line(block.sentence, 620), class_="box bad")
            case blocks.Notes():
                return notes_html(block.title, block.lines)
            case blocks.Risks():
                return el("ul", [el("li", one_line(risk, 400)) for risk in block.lines], class_="risks")
            case blocks.CallBlock():
                return _call(block)
            case blocks.Refusals():
                return join([_refusal(*item) for item in block.items])
            case blocks.VerdictBlock():
                return _check_result(block)
            case ChangeSummary():
                return self.summary(block)
            case blocks.Diff():
                return self.diff(block)
            case blocks.FindingsBlock():
                return _findings(block.items)
            case blocks.Answer():
                return _answer(block)
            case blocks.Written():
                return el("ul", [_written(*change) for change in block.changes], class_="written")
            case blocks.Output():
                return _output(block)
            case blocks.Folded():
                return folded(block.title, block.text, open_=block.open)
            case _:
                assert_never(block)

    def diff(self, diff: blocks.Diff) -> Html:
        """Return a file's diff."""
        return diff_html(diff, [diff_row(*both) for both in zip(diff.lines, spans(diff), strict=True)])

    def summary(self, summary: ChangeSummary) -> Html:
        """Return a change's meaning, picture first."""
        lines = []
        for line in summary.lines:
            sign = el("span", _SIGNS[line.style], class_="sign", aria_hidden="true")
            kind = f"{line.style} in-{min(line.indent, _INDENTS)}" if line.indent else line.style
            lines.append(el("li", None if line.indent else sign, blocks.show(line.text), class_=kind))
        if summary.hidden:
            lines.append(el("li", f"Not shown: {counted(summary.hidden, 'line')}.", class_="note"))
        # The picture is made by our own code, which escapes every text in it.
        drawn = Html(self._picture(summary))
        figure = el("div", drawn, class_="scroll picture", tabindex=0) if drawn else None
        title = el("summary", el("code", one_line(summary.path, 300)), el("span", f" {one_line(summary.title, 300)}"))
        return el("details", title, figure, el("ul", lines, class_="outline"), class_="diff", open=True)


def badge(status: blocks.Badge) -> Html:
    """Return a label: mark and words."""
    return el("span", el("span", status.mark, aria_hidden="true"), f" {status.words}", class_=f"badge {status.tone}")


def notes_html(title: str, lines: Sequence[str], *, kind: str = "notes", chars: int = 400) -> Html:
    """Return titled sentences, and the number omitted."""
    return el("div", el("p", title, class_="label"), bullets(lines, chars), class_=kind)


def bullets(lines: Sequence[str], chars: int = 1_000) -> Html:
    """Return lines, and the number omitted."""
    more = el("li", f"and {len(lines) - _LISTED} more") if len(lines) > _LISTED else None
    return el("ul", [el("li", one_line(line, chars)) for line in lines[:_LISTED]], more)


def folded(title: str, value: str, *, open_: bool = False) -> Html:
    """Return a text opened on demand."""
    return el("details", el("summary", title), el("pre", bounded(value), tabindex=0), open=open_)


def bounded(value: str) -> Html:
    """Return a text; a long one's middle becomes length and hash."""
    shown, left_out = head_and_tail(value, TEXT_CHARS)
    digest = sha256(value.encode("utf-8", "replace"))
    note = f"\n{left_out} characters are left out; SHA-256 of the whole text: {digest}"
    return join(shown, el("span", note, class_="meta") if left_out else None)


def diff_row(line: blocks.DiffLine, parts: Sequence[Span], before: Html | None = None, of: int | None = None) -> Html:
    """Return a diff line: numbers, mark, text; ``before`` at its left, ``of``: its part."""
    by_tool = el("span", "~", class_="by-tool", title="by a formatter or fixer")
    return el(
        "tr",
        before,
        el("td", line.old or "", class_="n"),
        el("td", line.new if line.style != "finding" and line.new else "", class_="n"),
        el("td", _MARKS.get(line.style, " "), by_tool if line.style in _BY_TOOL else None, class_="mark"),
        el("td", [_part(part) for part in parts], class_="line"),
        class_=line.style,
        data_of=of,
    )


def _part(part: Span) -> Html:
    kind = el("span", part.text, class_=f"tok-{part.kind}") if part.kind else join(part.text)
    return el("mark", kind) if part.changed else kind


def diff_html(diff: blocks.Diff, rows: list[Html], above: Html | None = None, below: Html | None = None) -> Html:
    """Return a diff of ``rows``."""
    counts = f" {diff.kind} +{diff.added} −{diff.removed}" if diff.kind else " "
    counts += f", {diff.by_tools} of these lines by a formatter" if diff.by_tools else ""
    path = one_line(diff.path, 300)
    table = el("table", el("tbody", rows), aria_label=f"Changes of {path}")
    return el(
        "details",
        el("summary", el("code", path or "changes"), el("span", counts)),
        above,
        el("div", table, class_="scroll", tabindex=0),
        below,
        class_="diff",
        open=True,
        data_path=diff.path if below else None,
    )


def _large(words: str) -> str:
    return words[:1].upper() + words[1:]


def _times(seconds: Sequence[tuple[str, float]]) -> Html:
    total = sum(spent for _, spent in seconds)
    if not total:
        return Html("")
    bars = []
    at = 0.0
    for stage, spent in seconds:
        width = 1000 * spent / total
        bars.append(el("rect", x=f"{at:.2f}", y=0, width=f"{width:.2f}", height=10, class_=f"stage-{stage}"))
        at += width
    legend = [
        el("li", el("span", class_=f"swatch stage-{stage}"), f"{stage} {seconds_text(spent)}")
        for stage, spent in seconds
        if spent
    ]
    bar = el("svg", bars, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")
    return el("div", bar, el("ul", legend, class_="legend", aria_label="Time by stage"), class_="times")


def _cost(cost: blocks.Cost) -> Html:
    stages = ", ".join(f"{stage} {seconds_text(spent)}" for stage, spent in cost.seconds.items())
    tokens = f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out" if cost.tokens_in else ""
    facts = " · ".join(filter(None, (cost.agent, cost.model, time_text(cost.started), stages, tokens)))
    return el("p", one_line(facts, 400), class_="meta")


def _call(call: blocks.CallBlock) -> Html:
    line = el(
        "p",
        el("code", one_line(call.tool, 300), class_="tool"),
        None if call.valid is None else badge(_VALID[call.valid]),
        el("span", one_line(call.why, 400), class_="because") if call.why else None,
    )
    adjusted = [el("li", one_line(change, 300)) for change in call.adjusted]
    return el(
        "div",
        line,
        el("ul", adjusted, class_="adjusted") if adjusted else None,
        folded(f"Parameters ({one_line(call.form) or 'as sent'})", call.parameters),
        class_="request",
    )


def _refusal(code: str, message: str, hint: str) -> Html:
    return el(
        "div",
        el("p", el("code", one_line(code, 60)), f" {one_line(message, 1000)}"),
        el("p", one_line(hint, 1000), class_="hint") if hint else None,
        class_="box bad",
    )


def _check_result(found: blocks.VerdictBlock) -> Html:
    took = "" if found.seconds is None else f" · {seconds_text(found.seconds)}"
    told = el("span", one_line(f" {', '.join(found.checks)}{took}", 300), class_="meta")
    return el("p", badge(_CHECKED.get(found.status, _UNCHECKED)), told, class_="verdict")


def _findings(found: Sequence[blocks.PlacedFinding]) -> Html:
    more = el("p", f"and {counted(len(found) - _LISTED, 'more finding')}", class_="meta")
    shown = el("ul", [_finding(finding) for finding in found[:_LISTED]], class_="findings")
    return join(shown, more if len(found) > _LISTED else None)


def _finding(finding: blocks.PlacedFinding) -> Html:
    return el(
        "li",
        el("code", one_line(f"{finding.path}:{finding.line}:{finding.column}", 200), class_="path"),
        " ",
        el("code", one_line(finding.rule, 60), class_="rule"),
        f" {one_line(finding.message, 600)} ",
        el("span", one_line(finding.tool, 30), class_="meta"),
    )


def _answer(given: blocks.Answer) -> Html:
    facts = f"by {given.by} after {seconds_text(given.seconds)} · {time_text(given.at)}" if given.answer else ""
    return el(
        "p",
        badge(_ANSWERS.get(given.answer, _WAITING)),
        el("span", f" {one_line(facts, 200)}", class_="meta"),
        el("q", one_line(given.reason, 1000)) if given.reason else None,
        el("code", given.digest[:16], class_="digest", title="digest of what was decided"),
        class_="decision",
    )


def _written(kind: str, path: str) -> Html:
    return el("li", badge(blocks.Badge("✓", "good", kind)), " ", el("code", one_line(path, 300)))


def _output(given: blocks.Output) -> Html:
    ended, tone = ("ok", "good") if given.ok else ("failed", "bad")
    title = one_line(f"{given.tool or 'Result'}: {ended}, {seconds_text(given.seconds)}", 200)
    return el("div", folded(title, given.text, open_=not given.ok), class_=f"box {tone}")
