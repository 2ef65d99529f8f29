"""A session as text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rails.core.outcomes import is_good
from rails.core.text import one_line
from rails.projections.common import SessionView
from rails.render.blocks import Block, Notes
from rails.render.markdown import block_lines, inline, section_lines
from rails.render.text import DIFF_LINES, TextRenderer
from rails.review.reports.session import ending_badge, session_facts, session_figures, session_history, session_warnings
from rails.review.reports.turn import turn_section


def render_session(view: SessionView, colour: bool = False, *, width: int = 100) -> str:
    """Return a session turn by turn."""
    pen = TextRenderer(colour, width)
    lines = [
        pen.line(f"Session {one_line(view.session_id)}", "title"),
        *pen.draw(session_facts(replace(view, session_id=""))),
    ]
    for turn in view.turns:
        lines += ["", *pen.section(turn_section(turn, diff_lines=DIFF_LINES))]
    lines.append("")
    for block in _result(view):
        lines += pen.draw(block)
    return "\n".join(lines)


def _result(view: SessionView) -> Iterator[Block]:
    if view.failures:
        yield Notes("why", "Retries", view.failures, "open")
    yield from session_warnings(view)
    yield from session_figures(view)
    yield session_history(replace(view, head=""))
    resume = f"; if it is not running: ai-rails run --resume {view.session_id}" if view.models else ""
    words = f"{view.ending}: {view.message}" if view.ending else f"interrupted{resume}"
    yield Notes("outcome", "Outcome", (words,), "good" if is_good(view.outcome) else "open")


def session_as_markdown(view: SessionView) -> str:
    """Return Markdown for a pull request."""
    ended = ending_badge(view.ending)
    lines = ["# AI-Rails session", "", f"{ended.words}{f': {inline(view.message)}' if view.message else ''}", ""]
    parts: list[Block] = [session_facts(view), *session_figures(view), *session_warnings(view)]
    lines += [line for part in parts for line in block_lines(part)]
    for turn in view.turns:
        lines += ["", *section_lines(turn_section(turn))]
    return "\n".join(lines) + "\n"
