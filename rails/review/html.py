"""A session as one HTML file: readable anywhere, printable, without scripts and without any request.

The Content-Security-Policy in the file allows exactly its own style sheet, by hash; nothing in the log
can add to it. ``rails.render.html_page.markup`` escapes every text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Final

from rails.core.change_summary import ChangeSummary
from rails.core.text import one_line
from rails.n8n.draw import picture
from rails.projections.attempts import AttemptRow, caption, causes_of, rows_of
from rails.projections.common import SessionView, TurnView
from rails.render.html_page.blocks import HtmlRenderer, badge
from rails.render.html_page.markup import Html, el, html_text, join
from rails.render.html_page.table import table_html, within
from rails.render.units import seconds_text, time_text
from rails.review.html_plan import plan_html
from rails.review.reports.decisions import decisions, decisions_table
from rails.review.reports.turn import OUTCOMES, turn_name, turn_section

_SESSION_WORDS: Final = {
    "done": ("✓", "good", "Done"),
    "gave_up": ("✕", "bad", "Gave up"),
    "aborted": ("■", "bad", "Stopped by the human"),
    "model_failed": ("✕", "bad", "The model failed"),
    "nothing_done": ("✕", "bad", "Nothing was done"),
    "dry_run": ("·", "dim", "Dry run"),
    "partial": ("✕", "bad", "Applied in part"),
    "": ("…", "open", "Unfinished"),
}
_RUNNING: Final = ("●", "open", "Running")
_LISTED: Final = 100
_STAGES: Final = ("model", "gate", "human", "write", "run")


def render_html(view: SessionView) -> str:
    """Return the session as a complete HTML document."""
    title = one_line(view.task, 80) or one_line(view.session_id)
    content = join(
        el("a", html_text("Skip to the turns"), class_="skip", href="#turns"),
        header(view),
        el("main", plan_html(view.plan), overview(view), why(view), el("div", list(turn_sections(view)), id="turns")),
        footer(view),
    )
    return document(f"{title} · AI-Rails session", content)


def document(title: str, content: Html) -> str:
    """Return ``content`` as a complete HTML document with our style sheet, and a policy that allows nothing else."""
    style = resources.files("rails.review").joinpath("session.css").read_text("utf-8") + picture.stylesheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", html_text(title)),
        # The style sheet is our own file; inside <style> nothing is escaped, so that its hash holds.
        Html(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{el('html', head, el('body', content), lang='en')}\n"


def header(view: SessionView, more: Mapping[str, str] | None = None, *, running: bool = False) -> Html:
    """Return the session's task, ending and facts, with ``more`` of them; ``running``: its run is known to run."""
    mark, kind, words = (
        _RUNNING
        if running and not view.outcome
        else _SESSION_WORDS.get(view.outcome, ("…", "open", one_line(view.outcome)))
    )
    facts = {
        "Session": view.session_id,
        "Started": time_text(view.started),
        "Took": _took(view.started, view.ended),
        "Agents": ", ".join(view.agents),
        "Models": ", ".join(view.models),
        "Project": view.project,
        **(more or {}),
    }
    return el(
        "header",
        el("p", html_text("AI-Rails session"), class_="eyebrow"),
        el("h1", html_text(one_line(view.task, 300) or "Session")),
        el("p", badge(mark, kind, words), html_text(f" {one_line(view.message, 600)}"), class_="ending"),
        el("dl", [_fact(name, value) for name, value in facts.items() if value], class_="facts"),
        class_="top",
    )


def _fact(name: str, value: object) -> Html:
    return el("div", el("dt", html_text(name)), el("dd", html_text(one_line(str(value), 200))))


def overview(view: SessionView) -> Html:
    """Return the counts, where the time went, and a strip of turns to jump to."""
    totals = view.totals
    counts = (
        ("turns", totals.turns),
        ("requests", totals.requests),
        ("repaired", totals.repairs),
        ("retries", totals.retries),
        ("findings", totals.findings),
        ("fixed", totals.findings_fixed),
        ("files changed", totals.files_changed),
        *((("tokens in", totals.input_tokens), ("tokens out", totals.output_tokens)) if totals.input_tokens else ()),
    )
    cards = [el("div", el("dt", html_text(name)), el("dd", html_text(f"{count:,}"))) for name, count in counts]
    return el(
        "section",
        el("h2", html_text("At a glance"), id="glance", class_="quiet"),
        el("dl", cards, class_="cards"),
        _times(view),
        _strip(view),
        aria_labelledby="glance",
        class_="overview",
    )


def _times(view: SessionView) -> Html | None:
    """Draw where the time went. SVG attributes, because the policy forbids style attributes."""
    known = [(stage, view.totals.seconds.get(stage, 0.0)) for stage in _STAGES]
    total = sum(seconds for _, seconds in known)
    if not total:
        return None
    bars, at = [], 0.0
    for stage, seconds in known:
        width = 1000 * seconds / total
        bars.append(el("rect", x=f"{at:.2f}", y=0, width=f"{width:.2f}", height=10, class_=f"stage-{stage}"))
        at += width
    legend = [
        el("li", el("span", class_=f"swatch stage-{stage}"), html_text(f"{stage} {seconds_text(seconds)}"))
        for stage, seconds in known
        if seconds
    ]
    bar = el("svg", bars, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")
    return el("div", bar, el("ul", legend, class_="legend", aria_label="Time by stage"), class_="times")


def _strip(view: SessionView) -> Html:
    steps = []
    for turn in view.turns:
        ended = OUTCOMES[turn.outcome]
        label = f"{turn_name(turn)}: {ended.words}" + (f", {one_line(turn.progress)}" if turn.progress else "")
        inside = join(el("b", html_text(turn.number)), el("span", html_text(f" {ended.mark}"), aria_hidden="true"))
        link = el("a", inside, href=f"#turn-{turn.number}", class_=ended.tone, aria_label=label, title=label)
        steps.append(el("li", link))
    return el("nav", el("ol", steps, class_="strip"), aria_label="Turns")


def why(view: SessionView) -> Html | None:
    """Return what explains failures, what deserves a second look, a damaged log, and who decided what."""
    parts = [
        _attempts(view),
        _sentences("look", "Worth a second look", (*view.attention, *(f"Damaged log: {line}" for line in view.damage))),
    ]
    asked = decisions((view,))
    if asked:
        table = table_html(decisions_table(asked), within, "decisions")
        parts.append(
            el("details", el("summary", html_text(f"Who decided what ({len(asked)})")), table, class_="why folded")
        )
    return el("div", parts) if view.failures or view.attention or view.damage or asked else None


def _attempts(view: SessionView) -> Html:
    """Draw each row of failed tries as a strip: why each failed, and how it compares with the one before."""
    rows = list(rows_of(view.turns))
    if not rows:
        return Html("")
    shown = [
        el("div", el("p", html_text(caption(row)), class_="meta"), _tries(row), class_="row") for row in rows[:_LISTED]
    ]
    more = el("p", html_text(f"and {len(rows) - _LISTED} more"), class_="meta") if len(rows) > _LISTED else None
    heading = el("h2", html_text("Why it took more than one try"), id="why")
    return el("section", heading, shown, more, aria_labelledby="why", class_="why tries")


def _tries(row: AttemptRow) -> Html:
    """Draw one row of tries."""
    turns = [*row.tries[:_LISTED], *((row.ended,) if row.ended else ())]
    return el("ol", [el("li", _try(turn), class_=f"try-{turn.attempt}" if turn.attempt else None) for turn in turns])


def _try(turn: TurnView) -> Html:
    ended = OUTCOMES[turn.outcome]
    causes = one_line(", ".join(causes_of(turn)), 80) or ended.words
    inside = (
        el("b", html_text(turn.number)),
        el("span", html_text(f" {ended.mark} "), aria_hidden="true"),
        html_text(causes),
    )
    chip = el("a", *inside, href=f"#turn-{turn.number}", class_=ended.tone, title=ended.words)
    return join(chip, el("span", html_text(one_line(turn.progress)), class_="progress"))


def _sentences(name: str, title: str, sentences: Sequence[str]) -> Html:
    if not sentences:
        return Html("")
    items = [el("li", html_text(one_line(sentence, 1000))) for sentence in sentences[:_LISTED]]
    more = el("li", html_text(f"and {len(sentences) - _LISTED} more")) if len(sentences) > _LISTED else None
    heading = el("h2", html_text(title), id=name)
    return el("section", heading, el("ul", items, more), aria_labelledby=name, class_=f"why {name}")


def turn_sections(view: SessionView) -> Iterator[Html]:
    """Yield a section for each turn, with a link to the next failed one."""
    failures, page = [turn.number for turn in view.turns if turn.failed], HtmlRenderer(workflow_picture)
    for turn in view.turns:
        following = next((number for number in failures if number > turn.number), None)
        yield page.section(turn_section(turn), following)


def workflow_picture(summary: ChangeSummary) -> str:
    """Return the picture of what a change of a workflow means, as markup; nothing where there is none."""
    label = f"The workflow in {one_line(summary.path, 300)}: {one_line(summary.title, 300)}"
    return picture.svg(summary.drawing, label=label)


def footer(view: SessionView) -> Html:
    """Return what identifies the log."""
    resumed = f"Resumed {view.resumed} times. " if view.resumed else ""
    undone = f"Undone steps: {', '.join(map(str, view.undone))}. " if view.undone else ""
    count = f"{view.records:,} log records; the last one's hash stands for them all:"
    unknown = f"{view.unknown_events} records of unknown types. " if view.unknown_events else ""
    return el(
        "footer",
        el("p", html_text(f"{resumed}{undone}{unknown}{count}")),
        el("p", el("code", html_text(one_line(view.head, 80)))),
    )


def _took(start: str, end: str) -> str:
    try:
        return seconds_text((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except ValueError:
        return ""
