"""A session as Markdown, for a pull request or an issue: what was asked, what was refused, who agreed."""

from __future__ import annotations

from rails.projections.common import SessionView
from rails.render.blocks import Block
from rails.render.markdown import block_lines, inline, section_lines
from rails.review.reports.session import ending_badge, session_facts, session_figures, session_warnings
from rails.review.reports.turn import turn_section


def session_as_markdown(view: SessionView) -> str:
    """Return a session as Markdown."""
    ended = ending_badge(view.outcome)
    lines = ["# AI-Rails session", "", f"{ended.words}{f': {inline(view.message)}' if view.message else ''}", ""]
    parts: list[Block] = [session_facts(view), *session_figures(view), *session_warnings(view)]
    lines += [line for part in parts for line in block_lines(part)]
    for turn in view.turns:
        lines += ["", *section_lines(turn_section(turn))]
    return "\n".join(lines) + "\n"
