"""A report as rows of cells: one value that a terminal, a page and a file draw each in its way. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rails.approval.paint import styled
from rails.core.text import one_line

Style = Literal["", "good", "bad", "open", "dim", "head", "heat-0", "heat-1", "heat-2", "heat-3", "heat-4"]
#: The styles of a terminal for those of a table.
_INK: Final = {"good": "good", "bad": "risk", "open": "finding", "dim": "dim", "head": "title"}
_CELL: Final = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and how it is meant; ``session`` and ``turn`` say where it leads."""

    text: str
    style: Style = ""
    session: str = ""
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows of the same length, and sentences below. ``numeric`` columns stand right.

    ``wide`` are the columns whose text may be long and is shown in full where there is room.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


def cells(*texts: object) -> tuple[Cell, ...]:
    """Return a row of cells: a Cell stays, numbers are written with separators, the rest as text."""
    return tuple(
        item if isinstance(item, Cell) else Cell(f"{item:,}" if isinstance(item, int) else str(item)) for item in texts
    )


def as_text(table: Table, colour: bool = False, *, width: int = 160) -> str:
    """Return a table for a terminal; the last wide column takes the room that is left of ``width``."""
    lines = [styled(table.title, "title", colour)]
    if table.rows:
        lines += _drawn(table, colour, width)
    return "\n".join([*lines, *(f"  {one_line(note, 1_000)}" for note in table.notes)])


def _drawn(table: Table, colour: bool, width: int) -> Iterator[str]:
    shown = [[one_line(cell.text, 400 if column in table.wide else _CELL) for column, cell in enumerate(row)]
             for row in table.rows]  # fmt: skip
    widths = [max(len(text) for text in column) for column in zip(table.columns, *shown, strict=True)]
    for column in sorted(table.wide):
        spare = width - 2 - sum(widths) - 2 * (len(widths) - 1)
        if spare < 0:
            widths[column] = max(len(table.columns[column]), 12, widths[column] + spare)
    yield styled(_line(table.columns, widths, table.numeric), "dim", colour)
    for row, texts in zip(table.rows, shown, strict=True):
        yield _line(texts, widths, table.numeric, [_INK.get(cell.style, "") for cell in row] if colour else None)


def _line(
    texts: Sequence[str], widths: Sequence[int], numeric: frozenset[int], inks: Sequence[str] | None = None
) -> str:
    parts = []
    for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
        cut = text if len(text) <= width else f"{text[: width - 1]}…"
        placed = cut.rjust(width) if column in numeric else cut.ljust(width)
        parts.append(styled(placed, inks[column], True) if inks and inks[column] else placed)
    return f"  {'  '.join(parts)}".rstrip()
