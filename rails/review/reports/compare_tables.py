"""A comparison of two sessions as tables, and the sentences above them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rails.render.blocks import Cell, CellStyle, Table, cells
from rails.review.reports.compare import ComparedTurn, Count, Pair, SessionComparison, Side

_ALIKE: Final[dict[str, tuple[str, CellStyle]]] = {
    "same": ("=", "dim"),
    "other answer": ("≠ other answer", "open"),
    "other outcome": ("≠ other outcome", "bad"),
    "only first": ("only in A", "open"),
    "only second": ("only in B", "open"),
}
_STATES: Final[dict[str, CellStyle]] = {"unchanged": "dim", "new": "bad", "absent": "good"}
_FILES: Final[dict[str, CellStyle]] = {"same": "good", "different": "open"}
_LISTED: Final = 500


def sentences(found: SessionComparison) -> Iterator[str]:
    """Say what matters first: what is compared, and where the two part."""
    yield f"A: {_named(found.first)}"
    yield f"B: {_named(found.second)}"
    if not found.same_task:
        yield "The tasks are not the same, so the figures compare different work."
    if found.parted < 0:
        yield "Every turn is the same in both."
        return
    pair = found.pairs[found.parted]
    where = " and ".join(f"turn {step.number} of {name}" for name, step in _both(pair) if step)
    same = {0: "They", 1: "The first turn is the same; they"}
    before = same.get(found.parted, f"The first {found.parted} turns are the same; they")
    yield f"{before} part at {where}: {_why(pair)}."


def _named(side: Side) -> str:
    models = ", ".join(side.models) or "no model"
    return f"{side.session_id} · {side.task or 'no task'} · {models} · prompts {', '.join(side.prompts) or 'unknown'}"


def _both(pair: Pair) -> tuple[tuple[str, ComparedTurn | None], ...]:
    return ("A", pair.first), ("B", pair.second)


def _why(pair: Pair) -> str:
    if pair.first is None or pair.second is None:
        return "the other has no such turn"
    if pair.likeness == "other outcome":
        return f"A {_ended(pair.first)}, B {_ended(pair.second)}"
    return "the answers differ, with the same outcome"


def _ended(step: ComparedTurn) -> str:
    return f"{step.outcome} ({', '.join(step.causes)})" if step.causes else step.outcome


def compare_tables(found: SessionComparison) -> tuple[Table, ...]:
    """Return the comparison as tables: figures, turns, failures, rules, findings, files."""
    tables = [
        Table(
            "Figures",
            ("", "A", "B"),
            tuple(
                cells(
                    m.name,
                    Cell(m.first, "good" if m.better == 1 else ""),
                    Cell(m.second, "good" if m.better == 2 else ""),
                )
                for m in found.measures
            ),
            numeric=frozenset({1, 2}),
        ),
        _counted("Failures by cause", found.failures),
        _counted("Findings by rule", found.rules),
        Table(
            "Files that were written",
            ("file", "what each left behind"),
            tuple(cells(f.path, Cell(_left(f.state), _FILES.get(f.state, "open"))) for f in found.files[:_LISTED]),
        ),
        Table(
            "Turn by turn",
            ("A", "asked for", "became", "", "B", "asked for", "became"),
            tuple(_pair_row(pair, found) for pair in found.pairs[:_LISTED]),
            numeric=frozenset({0, 4}),
            wide=frozenset({1, 5}),
            notes=(f"The first {_LISTED} of {len(found.pairs)}.",) if len(found.pairs) > _LISTED else (),
        ),
        Table(
            "Findings, with A as the baseline",
            ("in B", "rule", "file", "finding"),
            tuple(
                cells(Cell(f.state, _STATES[f.state]), Cell(f.rule, "head"), f.path, f.message)
                for f in found.findings[:_LISTED]
            ),
            wide=frozenset({3}),
        ),
    ]
    return tuple(table for table in tables if table.rows)


def _left(state: str) -> str:
    words = {"same": "the same bytes", "different": "different bytes"}
    return words.get(state, "only A wrote it" if state == "only first" else "only B wrote it")


def _counted(title: str, counts: tuple[Count, ...]) -> Table:
    rows = tuple(cells(Cell(c.name, "head"), _less(c.first, c.second), _less(c.second, c.first)) for c in counts)
    return Table(title, ("", "A", "B"), rows, numeric=frozenset({1, 2}))


def _less(own: int, other: int) -> Cell:
    return Cell(f"{own:,}", "good" if own < other else "")


def _pair_row(pair: Pair, found: SessionComparison) -> tuple[Cell, ...]:
    words, style = _ALIKE[pair.likeness]
    return (
        *_step_cells(pair.first, found.first.session_id),
        Cell(words, style),
        *_step_cells(pair.second, found.second.session_id),
    )


def _step_cells(step: ComparedTurn | None, session_id: str) -> tuple[Cell, ...]:
    if step is None:
        return cells("", "", "")
    good = step.outcome in ("applied", "ran", "answered")
    number = Cell(str(step.number), session=session_id, turn=step.number, record=step.record)
    return cells(number, step.asked, Cell(_ended(step), "good" if good else "bad"))
