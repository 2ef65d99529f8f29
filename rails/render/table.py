"""A report as rows of cells: one value that a terminal, a page and a file draw each in its way. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from rails.approval.terminal.screen import styled, wrap
from rails.core.dataclass import dataclass
from rails.core.text import one_line

CellStyle = Literal["", "good", "bad", "open", "dim", "head", "heat-0", "heat-1", "heat-2", "heat-3", "heat-4"]
#: The styles of a terminal for those of a table.
_INK: Final = {
    **{"good": "good", "bad": "risk", "open": "finding", "dim": "dim", "head": "title"},
    **{"heat-1": "dim", "heat-3": "finding", "heat-4": "risk"},
}
_CELL: Final = 60
#: What a wide column is never narrowed below.
_NARROW: Final = 20
#: So many columns that had no room are not named one by one.
_NAMED: Final = 9


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and how it is meant; ``session``, ``turn`` and the turn's first ``record`` say where it leads.

    ``span`` is (low, value, high) between 0 and 1, which a page draws beside the text.
    """

    text: str
    style: CellStyle = ""
    session: str = ""
    turn: int = 0
    record: int = 0
    span: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows of the same length, and sentences below. ``numeric`` columns stand right.

    ``wide`` are the columns whose text may be long and is shown in full where there is room, ``optional``
    those that a narrow terminal leaves out, in that order.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    optional: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def cells(*texts: object) -> tuple[Cell, ...]:
    """Return a row of cells: a Cell stays, numbers are written with separators, the rest as text."""
    return tuple(
        item if isinstance(item, Cell) else Cell(f"{item:,}" if isinstance(item, int) else str(item)) for item in texts
    )


def table_as_text(table: Table, colour: bool = False, *, width: int = 160) -> str:
    """Return a table for a terminal of ``width`` columns; what has no room is left out, and said."""
    shown = [
        [one_line(cell.text, 400 if at in table.wide else _CELL) for at, cell in enumerate(row)] for row in table.rows
    ]
    widths = [max(len(text) for text in column) for column in zip(table.columns, *shown, strict=True)]
    kept, widths = _fitted(table, widths, width)
    left_out = [name for at, name in enumerate(table.columns) if at not in kept]
    lines = [styled(table.title, "title", colour)]
    if table.rows:
        lines.append(styled(_line(table.columns, widths, kept, table.numeric), "dim", colour))
        lines += [
            _line(texts, widths, kept, table.numeric, [_INK.get(cell.style, "") for cell in row] if colour else None)
            for row, texts in zip(table.rows, shown, strict=True)
        ]
    notes = list(table.notes)
    if left_out:
        named = ", ".join(left_out) if len(left_out) < _NAMED else f"{len(left_out)} columns"
        notes.append(f"No room here for: {named}. --html FILE and --json have everything.")
    return "\n".join([*lines, *(f"  {piece}" for note in notes for piece in wrap(one_line(note, 1_000), width - 2))])


def _fitted(table: Table, widths: list[int], width: int) -> tuple[list[int], list[int]]:
    """Return the columns that fit and the width of each: wide columns shrink first, then optional ones go."""
    kept = list(range(len(widths)))

    def spare() -> int:
        return width - 2 - sum(widths[at] for at in kept) - 2 * (len(kept) - 1)

    fitted = list(widths)
    for at in table.optional:
        shrinkable = sum(max(0, widths[n] - _NARROW) for n in table.wide)
        if spare() + shrinkable >= 0:
            break
        kept.remove(at)
    for at in sorted(table.wide & set(kept), reverse=True):
        missing = sum(fitted[n] for n in kept) + 2 * len(kept) - width
        if missing > 0:
            fitted[at] = max(min(_NARROW, fitted[at]), fitted[at] - missing)
    return kept, fitted


def _line(
    texts: Sequence[str],
    widths: Sequence[int],
    kept: Sequence[int],
    numeric: frozenset[int],
    inks: Sequence[str] | None = None,
) -> str:
    parts = []
    for at in kept:
        text, width = texts[at], widths[at]
        cut = text if len(text) <= width else f"{text[: width - 1]}…"
        placed = cut.rjust(width) if at in numeric else cut.ljust(width)
        parts.append(styled(placed, inks[at], True) if inks and inks[at] else placed)
    return f"  {'  '.join(parts)}".rstrip()
