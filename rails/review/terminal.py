"""A review as text: one session turn by turn."""

from __future__ import annotations

from collections.abc import Iterator

from rails.core.text import one_line
from rails.projections.common import SessionTotals, SessionView, TurnView
from rails.render.text import DIFF_LINES, TextRenderer
from rails.review.reports.turn import turn_section


def render_session(view: SessionView, colour: bool = False, *, width: int = 100) -> str:
    """Return a session turn by turn: what was asked, what failed and why, what was decided and written."""
    lines = [*_head(view, TextRenderer(colour, width)), ""]
    for turn in view.turns:
        lines += [*turn_lines(turn, colour, width=width), ""]
    lines += _summary(view, TextRenderer(colour, width))
    return "\n".join(lines)


def turn_lines(turn: TurnView, colour: bool = False, *, width: int = 100) -> list[str]:
    """Return one turn as lines."""
    return list(TextRenderer(colour, width).section(turn_section(turn, diff_lines=DIFF_LINES)))


def frame_lines(view: SessionView, colour: bool = False, *, width: int = 100) -> list[str]:
    """Return the lines about a session as a whole."""
    pen = TextRenderer(colour, width)
    return [*_head(view, pen), "", *_summary(view, pen)]


def _head(view: SessionView, pen: TextRenderer) -> Iterator[str]:
    yield pen.line(f"Session {one_line(view.session_id)}", "title")
    yield from pen.field("task", view.task)
    yield from pen.field("project", view.project)
    yield from pen.field("agents", ", ".join(view.agents))
    yield from pen.field("models", ", ".join(view.models))
    yield from pen.field("started", f"{view.started}, {len(view.turns)} turns")
    yield from pen.list("damaged", view.damage, "risk")
    if view.unknown_events:
        yield from pen.field("unknown", f"{view.unknown_events} records of types that this version does not know")


def _summary(view: SessionView, pen: TextRenderer) -> Iterator[str]:
    for sentence in view.failures:
        yield from pen.field("why", sentence, "finding", limit=1000)
    yield from pen.list("look", view.attention, "risk")
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
