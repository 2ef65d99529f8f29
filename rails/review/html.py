"""A session as one HTML file. Its Content-Security-Policy allows only its style sheet, by hash; ``markup`` escapes
texts.
"""

from __future__ import annotations

import base64
import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Final

from msgspec.structs import replace

from rails.core.change_summary import ChangeSummary
from rails.core.plugins import plugin_of
from rails.core.text import one_line
from rails.log.session_stats import SessionStats
from rails.projections.attempts import AttemptRow, caption, rows_of
from rails.projections.common import SessionView, TurnView
from rails.render.blocks import Badge, Notes
from rails.render.html_page.blocks import HtmlRenderer, badge, bullets
from rails.render.html_page.markup import Html, el, join, titled
from rails.render.html_page.table import Link, nowhere
from rails.review.html_plan import plan_html
from rails.review.reports.grouped import ReviewReport
from rails.review.reports.session import (
    ending_badge,
    session_facts,
    session_figures,
    session_history,
    session_warnings,
    stats_figures,
    task_line,
)
from rails.review.reports.turn import OUTCOMES, turn_name, turn_section

#: What a page of ours says that it was written by, so that it may be written anew.
GENERATOR: Final = "AI-Rails"
#: In the head of every page of ours.
PAGE_MARK: Final = f'content="{GENERATOR}"'
#: Characters of a task that are the title; a longer task is a fact as well.
_TITLE: Final = 120
_LISTED: Final = 100
#: Where the turns go; no text of a log can hold it, for a bracket in a text is escaped.
_TURNS: Final = Html("<!--turns-->")
#: Turns that the strip shows; of a longer session there is none.
MOST_STEPS: Final = 200


def render_html(view: SessionView) -> str:
    """Return the session as an HTML document."""
    return "".join(html_parts(view, view.turns))


def html_parts(view: SessionView, turns: Iterable[TurnView]) -> Iterator[str]:
    """Yield the document in pieces. ``turns`` are whole; those of ``view`` may be outlines."""
    title = one_line(task_line(view.task), 80) or one_line(view.session_id)
    content = join(
        el("a", "Skip to the turns", class_="skip", href="#turns"),
        header(view),
        el("main", plan_html(view.plan), overview(view), why(view), el("div", _TURNS, id="turns")),
        footer(view),
    )
    before, _, after = document(f"{title} · AI-Rails session", content).partition(_TURNS)
    yield before
    yield from turn_sections(view, turns)
    yield after


def document(title: str, content: Html) -> str:
    """Return ``content`` as an HTML document; its policy allows only our style sheet."""
    style = resources.files("rails.review").joinpath("session.css").read_text("utf-8")
    style += plugin_of("n8n").style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="generator", content=GENERATOR),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        # The style sheet is our own file; inside <style> nothing is escaped, so that its hash holds.
        Html(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{el('html', head, el('body', content), lang='en')}\n"


def header(view: SessionView, more: Mapping[str, str] | None = None, status: Badge | None = None) -> Html:
    """Return task, status (by default the ending) and facts, with ``more`` of them."""
    rest = view.task if len(view.task) > _TITLE else ""
    return el(
        "header",
        el("p", "AI-Rails session", class_="eyebrow"),
        el("h1", one_line(task_line(view.task), _TITLE) or "Session"),
        el(
            "p",
            badge(status or ending_badge(view.ending)),
            f" {one_line(view.message, 600)}",
            class_="ending",
        ),
        page_renderer().draw(session_facts(replace(view, task=""), {**(more or {}), "task": rest})),
        class_="top",
    )


def overview(view: SessionView, stats: SessionStats | None = None) -> Html:
    """Return counts, times and turns; ``stats`` if ``view`` is a part."""
    heading = el("h2", "At a glance", id="glance", class_="quiet")
    figures = [page_renderer().draw(block) for block in (stats_figures(stats) if stats else session_figures(view))]
    whole = stats is None and len(view.turns) <= MOST_STEPS
    nav = el("nav", el("ol", _steps(view.turns), class_="strip"), aria_label="Turns") if whole else None
    return el("section", heading, figures, nav, aria_labelledby="glance", class_="overview")


def _steps(turns: Sequence[TurnView]) -> list[Html]:
    steps = []
    for turn in turns:
        ended = OUTCOMES[turn.outcome]
        label = f"{turn_name(turn)}: {ended.words}" + (f", {one_line(turn.progress)}" if turn.progress else "")
        inside = join(el("b", turn.number), el("span", f" {ended.mark}", aria_hidden="true"))
        link = el(
            "a",
            inside,
            href=f"#turn-{turn.number}",
            class_=ended.tone,
            data_record=turn.first_seq,
            aria_label=label,
            title=label,
        )
        steps.append(el("li", link))
    return steps


def why(view: SessionView) -> Html | None:
    """Return explained failures, warnings and log damage, or None."""
    parts = [_attempts(view), *map(_warning, session_warnings(view))]
    return el("div", parts) if view.failures or view.attention or view.damage else None


def _warning(found: Notes) -> Html:
    return titled(found.name, found.title, bullets(found.lines), class_="why look")


def _attempts(view: SessionView) -> Html:
    rows = list(rows_of(view.turns))
    if not rows:
        return Html("")
    shown = [el("div", el("p", caption(row), class_="meta"), _tries(row), class_="row") for row in rows[:_LISTED]]
    more = el("p", f"and {len(rows) - _LISTED} more", class_="meta") if len(rows) > _LISTED else None
    return titled("why", "Retries", shown, more, class_="why tries")


def _tries(row: AttemptRow) -> Html:
    turns = [*row.tries[:_LISTED], *((row.ended,) if row.ended else ())]
    return el("ol", [el("li", _try(turn), class_=f"try-{turn.attempt}" if turn.attempt else None) for turn in turns])


def _try(turn: TurnView) -> Html:
    ended = OUTCOMES[turn.outcome]
    causes = one_line(", ".join(turn.causes), 80) or ended.words
    inside = (
        el("b", turn.number),
        el("span", f" {ended.mark} ", aria_hidden="true"),
        causes,
    )
    chip = el("a", *inside, href=f"#turn-{turn.number}", class_=ended.tone, title=ended.words)
    return join(chip, el("span", one_line(turn.progress), class_="progress"))


def turn_sections(view: SessionView, turns: Iterable[TurnView]) -> Iterator[Html]:
    """Yield a section per turn, linked to the next failed one of ``view``."""
    failures = [turn.number for turn in view.turns if turn.failed]
    page = page_renderer()
    for turn in turns:
        at = bisect_right(failures, turn.number)
        yield page.section(turn_section(turn), failures[at] if at < len(failures) else None)


def workflow_picture(summary: ChangeSummary) -> str:
    """Return the picture of a workflow's change as markup; "" if there is none."""
    if summary.drawing is None:
        return ""
    return plugin_of("n8n").picture(summary.drawing, f"The workflow in {summary.path}: {summary.title}")


def footer(view: SessionView) -> Html:
    """Return later actions on the session and its log's identity."""
    return el("footer", page_renderer().draw(session_history(view)))


def report_html(report: ReviewReport, link: Link = nowhere) -> Html:
    """Return a report's sentences and tables."""
    return join([*map(page_renderer(link).draw, report.blocks)])


def report_file(report: ReviewReport, about: str) -> str:
    """Return a report as an HTML document; ``about``: which sessions."""
    head = el("header", el("p", about, class_="eyebrow"), el("h1", report.title), class_="top")
    return document(report.title, join(head, el("main", report_html(report))))


def page_renderer(link: Link = nowhere) -> HtmlRenderer:
    """Return what draws blocks for a page."""
    return HtmlRenderer(workflow_picture, link)
