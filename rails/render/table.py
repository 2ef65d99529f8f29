"""A table as lines of a terminal. Pure."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rails.core.text import one_line
from rails.render.blocks import Cell, Table
from rails.render.lines import styled
from rails.render.terminal import wrap

#: The styles of a terminal for those of a table.
_INK: Final = {"good": "good", "bad": "risk", "open": "finding", "dim": "dim", "head": "title"}
_CELL: Final = 60
#: What a wide column is never narrowed below.
_NARROW: Final = 20
#: So many columns that had no room are not named one by one.
_NAMED: Final = 9


def table_as_text(table: Table, colour: bool = False, *, width: int = 160) -> str:
    """Return a table of ``width`` columns; says what it omits."""
    head = tuple(Cell(name, "dim") for name in table.columns)
    rows = [
        [replace(cell, text=one_line(cell.text, 400 if at in table.wide else _CELL)) for at, cell in enumerate(row)]
        for row in (head, *table.rows)
    ]
    widths = [max(len(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    kept, widths = _fitted(table, widths, width)
    lines = [styled(one_line(table.title), "title", colour)]
    for row in rows if table.rows else ():
        cells = (_cell(row[at], widths[at], right=at in table.numeric, colour=colour) for at in kept)
        lines.append(f"  {'  '.join(cells)}".rstrip())
    notes = list(table.notes)
    if left_out := [cell.text for at, cell in enumerate(rows[0]) if at not in kept]:
        named = ", ".join(left_out) if len(left_out) < _NAMED else f"{len(left_out)} columns"
        notes.append(f"No room here for: {named}. --html FILE and --json have everything.")
    return "\n".join([*lines, *(f"  {piece}" for note in notes for piece in wrap(one_line(note, 1_000), width - 2))])


def _fitted(table: Table, widths: list[int], width: int) -> tuple[list[int], list[int]]:
    kept = list(range(len(widths)))
    fitted = list(widths)

    def missing() -> int:
        return sum(fitted[at] + 2 for at in kept) - width

    shrinkable = sum(max(0, widths[at] - _NARROW) for at in table.wide)
    for at in table.optional:
        if missing() > shrinkable:
            kept.remove(at)
    for at in sorted(table.wide & set(kept), reverse=True):
        fitted[at] = min(fitted[at], max(_NARROW, fitted[at] - max(0, missing())))
    return kept, fitted


def _cell(cell: Cell, width: int, *, right: bool, colour: bool) -> str:
    cut = cell.text if len(cell.text) <= width else f"{cell.text[: width - 1]}…"
    return styled(cut.rjust(width) if right else cut.ljust(width), _INK.get(cell.style, ""), colour)
