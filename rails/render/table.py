"""A table as lines of a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.text import one_line
from rails.render.blocks import Table
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
    shown = [
        [one_line(cell.text, 400 if at in table.wide else _CELL) for at, cell in enumerate(row)] for row in table.rows
    ]
    names = [one_line(name, _CELL) for name in table.columns]
    widths = [max(len(text) for text in column) for column in zip(names, *shown, strict=True)]
    kept, widths = _fitted(table, widths, width)
    left_out = [name for at, name in enumerate(names) if at not in kept]
    lines = [styled(one_line(table.title), "title", colour)]
    if table.rows:
        lines.append(styled(_line(names, widths, kept, table.numeric), "dim", colour))
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


def _line(
    texts: Sequence[str],
    widths: Sequence[int],
    kept: Sequence[int],
    numeric: frozenset[int],
    inks: Sequence[str] | None = None,
) -> str:
    parts = []
    for at in kept:
        text = texts[at]
        width = widths[at]
        cut = text if len(text) <= width else f"{text[: width - 1]}…"
        placed = cut.rjust(width) if at in numeric else cut.ljust(width)
        parts.append(styled(placed, inks[at], True) if inks and inks[at] else placed)
    return f"  {'  '.join(parts)}".rstrip()
