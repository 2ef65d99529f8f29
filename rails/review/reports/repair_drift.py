"""Correction drift: how often JSON was repaired while parsing, and whether that changed a value. Pure.

The harness's own repairs and conversions keep every value by construction, and are counted; what a model
corrected is compared value by value (``rails.projections.corrections``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.text import one_line
from rails.projections.common import SessionView, TurnView
from rails.render.blocks import Cell, Table, cells

_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class Drifted:
    """A value that a model's correction changed, where, and how it ended. ``None``: there was no such value.

    ``record`` is the turn's first log record.
    """

    session_id: str
    turn: int
    record: int
    model: str
    tool: str
    place: str
    old: str | None
    new: str | None
    taken: bool
    outcome: str


@dataclass(slots=True)
class RepairedParameter:
    """What was repaired in one model's requests. ``corrected`` are corrections that were taken, ``drifted``
    those of them that changed a value; ``rejected`` were not taken.
    """

    model: str
    requests: int = 0
    repaired: int = 0
    converted: int = 0
    corrected: int = 0
    drifted: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Counts by model, and every changed value."""

    sessions: int
    models: tuple[RepairedParameter, ...]
    values: tuple[Drifted, ...]


def drift_report(views: Iterable[SessionView]) -> DriftReport:
    """Return the repairs of these sessions."""
    by_model: dict[str, RepairedParameter] = {}
    values: list[Drifted] = []
    count = 0
    for view in views:
        count += 1
        for turn in view.turns:
            if turn.requests or turn.corrections:
                _count(by_model.setdefault(turn.model, RepairedParameter(turn.model)), turn)
            values += _values(view.session_id, turn)
    return DriftReport(count, tuple(by_model[name] for name in sorted(by_model)), tuple(values))


def _count(row: RepairedParameter, turn: TurnView) -> None:
    taken = [correction for correction in turn.corrections if correction.taken]
    row.requests += len(turn.requests)
    row.repaired += sum(bool(request.repairs) for request in turn.requests)
    row.converted += sum(bool(request.coerced) for request in turn.requests)
    row.corrected += len(taken)
    row.drifted += sum(bool(correction.changes) for correction in taken)
    row.rejected += len(turn.corrections) - len(taken)


def _values(session_id: str, turn: TurnView) -> Iterator[Drifted]:
    tools = {request.id: request.tool for request in turn.requests}
    for correction in turn.corrections:
        outcome = turn.outcome if correction.taken else f"not taken: {correction.why}"
        for change in correction.changes:
            tool = tools.get(correction.request_id, "")
            place = (session_id, turn.number, turn.first_seq, turn.model, tool, change.place)
            yield Drifted(*place, change.old, change.new, correction.taken, outcome)


def difference(old: str | None, new: str | None, width: int = 60) -> tuple[str, str]:
    """Return the parts of two values around the first place where they differ, each on one printable line."""
    if old is None or new is None:
        return tuple("(none)" if value is None else one_line(value, width) for value in (old, new))  # type: ignore[return-value]
    at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = 0 if max(len(old), len(new)) <= width else max(0, at - width // 3)
    dots = "…" if start else ""
    return f"{dots}{one_line(old[start:], width)}", f"{dots}{one_line(new[start:], width)}"


def drift_tables(report: DriftReport) -> tuple[Table, ...]:
    """Return the report as tables."""
    counts = Table(
        "Was a value changed while JSON was repaired?",
        ("model", "requests", "syntax repaired", "converted", "corrected by the model", "value changed", "not taken"),
        tuple(
            cells(
                row.model or "(saved answer)",
                row.requests,
                row.repaired,
                row.converted,
                row.corrected,
                Cell(f"{row.drifted:,}", "bad" if row.drifted else "good"),
                row.rejected,
            )
            for row in report.models
        ),
        numeric=frozenset(range(1, 7)),
        notes=(
            "Syntax repairs and conversions keep every value; only a model's correction (--correction model) can "
            "change one.",
        ),
    )
    values = Table(
        "Changed values",
        ("session", "turn", "tool", "place", "old", "new", "then"),
        tuple(_row(value) for value in report.values[-_LISTED:]),
        numeric=frozenset({1}),
        wide=frozenset({4, 5, 6}),
        notes=(f"The newest {_LISTED} of {len(report.values)}.",) if len(report.values) > _LISTED else (),
    )
    return (counts, values) if report.values else (counts,)


def _row(value: Drifted) -> tuple[Cell, ...]:
    old, new = difference(value.old, value.new)
    return cells(
        Cell(value.session_id, session=value.session_id, turn=value.turn, record=value.record),
        value.turn,
        value.tool,
        value.place,
        old,
        Cell(new, "bad" if value.taken else ""),
        Cell(value.outcome, "" if value.taken else "dim"),
    )
