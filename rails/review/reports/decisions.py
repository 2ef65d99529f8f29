"""Who approved what, when, after how long, and whether it was regretted. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from typing import Final

from rails.core.dataclass import dataclass
from rails.projections.attempts import REFLEX_LINES, REFLEX_SECONDS, hardly_read, is_person
from rails.projections.common import ApprovalView, SessionView, TurnView
from rails.render.blocks import Cell, CellStyle, Table, cells
from rails.render.diffs import read_diff
from rails.render.units import seconds_text

_LISTED: Final = 500


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A question and its answer; ``seconds`` from asking to answering, ``lines`` added and removed.

    ``record`` is the turn's first log record; ``answer`` is "" while nobody has answered. ``reflex``: a person
    approved many lines in no time.
    ``undone``: approved, written, and taken back later.
    """

    session_id: str
    turn: int
    record: int
    agent: str
    what: str
    lines: int
    answer: str
    by: str
    at: str
    seconds: float
    reason: str
    digest: str
    reflex: bool
    undone: bool


def decisions(views: Iterable[SessionView]) -> tuple[DecisionRow, ...]:
    """Return every question of these sessions, in order."""
    return tuple(row for view in views for turn in view.turns for row in _of_turn(view, turn))


def _of_turn(view: SessionView, turn: TurnView) -> Iterator[DecisionRow]:
    undone = bool(set(view.undone) & set(turn.checkpoints))
    for asked in (asked for asked in turn.approvals if asked.answer != "dry_run"):
        files = read_diff(asked.diff)
        lines = sum(diff.added + diff.removed for diff in files)
        yield DecisionRow(
            session_id=view.session_id,
            turn=turn.number,
            record=turn.first_seq,
            agent=turn.agent,
            what=_what(asked, turn, [diff.path for diff in files]),
            lines=lines,
            answer=asked.answer,
            by=asked.by,
            at=asked.at or asked.asked_at,
            seconds=asked.seconds,
            reason=asked.reason,
            digest=asked.digest[:16],
            reflex=hardly_read(asked, lines),
            undone=undone and asked.answer == "approve",
        )


def _what(asked: ApprovalView, turn: TurnView, paths: list[str]) -> str:
    tools = ", ".join(asked.tools) or ", ".join(dict.fromkeys(request.tool for request in turn.requests))
    files = ", ".join(dict.fromkeys(path for path in paths if path))
    return " ".join(filter(None, (tools, files)))


def decisions_table(rows: tuple[DecisionRow, ...]) -> Table:
    """Return the decisions as a table, the newest last, with their sums below."""
    return Table(
        "Who decided what, when, and after how long",
        ("when (UTC)", "session", "turn", "what", "lines", "decision", "by", "after", "reason"),
        tuple(_cells(row) for row in rows[-_LISTED:]),
        numeric=frozenset({2, 4, 7}),
        wide=frozenset({3, 8}),
        optional=(4, 1),
        notes=tuple(_sums(rows)),
    )


def _cells(row: DecisionRow) -> tuple[Cell, ...]:
    words = {"approve": "approved", "deny": "denied", "abort": "stopped", "": "no answer"}.get(row.answer, row.answer)
    styles: dict[str, CellStyle] = {"approve": "good", "": "open"}
    extra = [word for word, holds in (("undone later", row.undone), ("hardly read", row.reflex)) if holds]
    return cells(
        row.at[:19].replace("T", " "),
        Cell(row.session_id, session=row.session_id, turn=row.turn, record=row.record),
        row.turn,
        row.what,
        row.lines,
        Cell("; ".join([words, *extra]), "bad" if extra else styles.get(row.answer, "bad")),
        row.by,
        seconds_text(row.seconds) if row.answer else "",
        row.reason,
    )


def _sums(rows: tuple[DecisionRow, ...]) -> Iterator[str]:
    if not rows:
        yield "Nobody was asked anything yet."
        return
    people = [row for row in rows if is_person(row.by)]
    counts = [sum(row.answer == word for row in rows) for word in ("approve", "deny", "abort", "")]
    yield "{} approved, {} denied, {} stopped, {} without an answer.".format(*counts)
    if people:
        middle = statistics.median(row.seconds for row in people)
        yield f"{len(people)} by a person, after {seconds_text(middle)} in the middle of them (median)."
    if regretted := sum(row.undone for row in rows):
        yield f"{regretted} of {counts[0]} approvals were undone later."
    if reflexes := sum(row.reflex for row in rows):
        yield f"{reflexes} approved {REFLEX_LINES} lines or more within {REFLEX_SECONDS:.0f} s."
    if len(rows) > _LISTED:
        yield f"The newest {_LISTED} of {len(rows)} are shown."
