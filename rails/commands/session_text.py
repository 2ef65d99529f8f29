"""A session as text: what it was, turn by turn, and what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rails.core.dataclass import replace
from rails.core.outcomes import is_good
from rails.core.text import one_line
from rails.projections.common import SessionView, TurnView
from rails.render.blocks import Block, Notes
from rails.render.text import DIFF_LINES, TextRenderer
from rails.review.reports.session import session_facts, session_figures, session_history, session_warnings
from rails.review.reports.turn import turn_section


def render_session(view: SessionView, colour: bool = False, *, width: int = 100) -> str:
    """Return a session turn by turn: what was asked, what failed and why, what was decided and written."""
    lines = [*_head(view, colour, width), ""]
    for turn in view.turns:
        lines += [*turn_lines(turn, colour, width=width), ""]
    return "\n".join([*lines, *_drawn(_result(view), colour, width)])


def turn_lines(turn: TurnView, colour: bool = False, *, width: int = 100) -> list[str]:
    """Return one turn as lines."""
    return list(TextRenderer(colour, width).section(turn_section(turn, diff_lines=DIFF_LINES)))


def _head(view: SessionView, colour: bool, width: int) -> list[str]:
    title = TextRenderer(colour, width).line(f"Session {one_line(view.session_id)}", "title")
    return [title, *_drawn([session_facts(replace(view, session_id=""))], colour, width)]


def _drawn(blocks: Iterable[Block], colour: bool, width: int) -> list[str]:
    pen = TextRenderer(colour, width)
    return [line for block in blocks for line in pen.draw(block)]


def _result(view: SessionView) -> Iterator[Block]:
    if view.failures:
        yield Notes("why", "Retries", view.failures, "open")
    yield from session_warnings(view)
    yield from session_figures(view)
    yield session_history(replace(view, head=""))
    resume = f"; where nothing runs it any more: ai-rails run --resume {view.session_id}" if view.models else ""
    unfinished = f"interrupted{resume}"
    words = f"{view.outcome}: {view.message}" if view.outcome else unfinished
    yield Notes("outcome", "Outcome", (words,), "good" if is_good(view.outcome) else "open")
