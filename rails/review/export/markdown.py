"""A session as Markdown, for a pull request or an issue: what was asked, what was refused, who agreed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rails.core.events.record import Record
from rails.log.session_stats import SessionStats
from rails.projections.session import session_view
from rails.render.markdown import inline, section_lines
from rails.review.reports.turn import turn_section


def to_markdown(records: Sequence[Record]) -> str:
    """Return the session as Markdown. The same records give the same text."""
    card = SessionStats(records[0].session_id if records else "")
    for record in records:
        card.add(record)
    lines = [*_summary(card)]
    for turn in session_view(records).turns:
        lines += ["", *section_lines(turn_section(turn))]
    return "\n".join(lines) + "\n"


def _summary(card: SessionStats) -> Iterator[str]:
    yield "# AI-Rails session"
    yield ""
    rows = {
        "Task": inline(card.task),
        "Outcome": inline(card.outcome or "not ended") + (f" {inline(card.message)}" if card.message else ""),
        "Session": inline(card.session_id),
        "Time (UTC)": f"{inline(card.started[:19])} to {inline(card.last[:19])}",
        "Agents": ", ".join(map(inline, card.agents)),
        "Models": ", ".join(map(inline, card.models)),
        "Turns": str(card.turns),
        "Requests": f"{card.requests}; {card.refused} refused",
        "Gate": f"{card.gate_failed} failed verdicts" if card.gate_failed else "no failed verdict",
        "Decisions": f"{card.approved} approved, {card.denied} denied",
        "Files": ", ".join(map(inline, card.paths)) or "none",
        "Tokens": f"{card.input_tokens + card.cached_tokens:,} in, {card.output_tokens:,} out",
    }
    yield "| | |"
    yield "|---|---|"
    for name, value in rows.items():
        yield f"| {name} | {value} |"
