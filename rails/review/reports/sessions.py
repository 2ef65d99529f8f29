"""The list of sessions. Pure. Search: ``rails.log.query`` with words of the task, ``role: model: path: rule: session:
after: before:``, and the ``is:`` of ``states``; ``-`` negates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rails.core.errors import UsageError
from rails.core.outcomes import GOOD, MEANINGS
from rails.log.actions import how_to_answer
from rails.log.query import Query, parse_query
from rails.log.session_stats import SessionStats
from rails.log.terms import Words, folded_words
from rails.render.blocks import Cell, CellStyle, Table, cells
from rails.render.units import minute_text
from rails.review.reports.session import ending_badge, task_line

#: Points of the sparkline: a mark for a terminal, a style, and words.
SPARK: Final[dict[str, tuple[str, CellStyle, str]]] = {
    "p": ("·", "good", "checks passed"),
    "f": ("✕", "bad", "checks failed"),
    "e": ("?", "open", "checks could not be completed"),
    "a": ("✓", "good", "approved"),
    "d": ("■", "bad", "denied"),
}
#: A point that a newer version wrote.
UNKNOWN: Final[tuple[str, CellStyle, str]] = ("?", "open", "unknown")
_POINTS: Final = 16
#: Open questions that stand below the table.
_QUESTIONS: Final = 5
STATES: Final = (
    *("waiting", "unattended", "done", "unfinished", "failed", "findings", "refused", "denied", "approved", "undone"),
    *("damaged", *MEANINGS),
)
#: What a session that can go on has come to, in the words of its log: nothing yet, or a pause.
OPEN: Final = ("", "waiting", "unanswered", "model_failed", "internal_error")
_FIELDS: Final = ("role", "model", "path", "rule", "is")


def chosen(cards: Iterable[SessionStats], line: str) -> tuple[SessionStats, ...]:
    """Return the stats that a line matches. Raises UsageError for a meaningless line."""
    query = parse_query(line)
    if unknown := [facet.name for facet in query.facets if facet.name not in _FIELDS]:
        raise UsageError(f"{unknown[0]}: is a field of records, not of sessions. Use {', '.join(_FIELDS)}, session.")
    for facet in query.facets:
        if facet.name == "is" and facet.value not in STATES:
            raise UsageError(f"is:{facet.value} is not a state of a session. The states are: {', '.join(STATES)}.")
    return tuple(card for card in cards if _takes(card, query))


def _takes(card: SessionStats, query: Query) -> bool:
    return (
        query.takes_session(card.session_id)
        and query.takes_time(card.started)
        and all(piece in card.task for piece in query.pieces)
        and query.has_phrases(Words(f" {' '.join(folded_words(card.task))} ", ""))
        and query.has_facets(_facets(card))
    )


def _facets(card: SessionStats) -> frozenset[tuple[str, str]]:
    values: tuple[Iterable[str], ...] = (card.agents, card.models, card.paths, card.rules, states(card))
    known = zip(_FIELDS, values, strict=True)
    return frozenset((name, value.lower()) for name, several in known for value in several)


def states(card: SessionStats) -> frozenset[str]:
    """Return the values of ``is:`` that hold."""
    outcome = card.ending
    done = outcome in GOOD
    holds: dict[str, object] = {
        outcome: outcome,
        "done": done,
        "unfinished": not card.outcome,
        "failed": not done and outcome not in ("", "asked", "dry_run", "stopped"),
        "waiting": bool(card.waiting) or card.outcome in ("waiting", "unanswered"),
        "unattended": bool(card.unattended),
        "findings": bool(card.gate_failed),
        "refused": bool(card.refused),
        "denied": bool(card.denied),
        "approved": bool(card.approved),
        "undone": bool(card.undone),
        "damaged": bool(card.damage),
    }
    return frozenset(name for name, so in holds.items() if so)


def sessions_table(cards: Sequence[SessionStats]) -> Table:
    """Return sessions as a table, in this order."""
    return Table(
        "Sessions",
        ("session", "started", "turns", "verdicts and decisions", "outcome", "task"),
        tuple(_row(card) for card in cards),
        numeric=frozenset({2}),
        wide=frozenset({5}),
        optional=(1, 2),
        notes=(*_open_questions(cards), *filter(None, [legend(card.spark for card in cards)])),
    )


def unread_lines(card: SessionStats) -> str:
    """Return a suffix on how many log lines are unreadable, "" for none."""
    damage = f"; {card.damage} damaged lines" if card.damage else ""
    return damage + (f"; {card.newer} lines of a newer AI-Rails" if card.newer else "")


def _open_questions(cards: Sequence[SessionStats]) -> Iterator[str]:
    for card in [card for card in cards if card.waiting][:_QUESTIONS]:
        yield f"{card.session_id}: {card.question} {how_on(card)}"


def how_on(card: SessionStats) -> str:
    """Return how to continue a session with an open question."""
    if card.asks:
        return how_to_answer(card.session_id)
    return f"Answer where it runs, or in ai-rails serve. Ask again with: ai-rails run --resume {card.session_id}"


def _row(card: SessionStats) -> tuple[Cell, ...]:
    ended = ending_badge(card.ending)
    return cells(
        Cell(card.session_id, "head", session=card.session_id),
        minute_text(card.started),
        card.turns,
        spark(card.spark[-_POINTS:]),
        Cell(f"{ended.words.lower()}{unread_lines(card)}", ended.tone),
        task_line(card.task),
    )


def spark(letters: str) -> str:
    """Return the sparkline of a session as characters."""
    return "".join(SPARK.get(letter, UNKNOWN)[0] for letter in letters)


def legend(sparks: Iterable[str]) -> str:
    """Return the meaning of the characters that occur."""
    used = set().union(*sparks)
    return ", ".join(f"{mark} {words}" for letter, (mark, _, words) in SPARK.items() if letter in used)
