"""A table as HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from rails.core.text import one_line
from rails.render.blocks import Cell, Table
from rails.render.html_page.markup import Html, el

#: Where a cell about a session leads; ``None``: nowhere.
Link: TypeAlias = Callable[[Cell], str | None]

#: A table of so many columns stands beside another one.
_SMALL: Final = 3


def nowhere(cell: Cell) -> None:
    """Link nothing, in a single file."""
    del cell


def table_html(table: Table, link: Link, name: str) -> Html:
    """Return a table with heading and notes; scrolls sideways if needed."""
    head = el("tr", [_head(column, at, table) for at, column in enumerate(table.columns)])
    body = [el("tr", [_cell(cell, at, table, link) for at, cell in enumerate(row)]) for row in table.rows]
    drawn = el("table", el("thead", head), el("tbody", body))
    kind = "report small" if len(table.columns) <= _SMALL else "report"
    return el(
        "section",
        el("h2", one_line(table.title, 200), id=name),
        el("div", drawn, class_="scroll", tabindex=0, role="region", aria_labelledby=name) if table.rows else None,
        [el("p", one_line(note, 1_000), class_="meta") for note in table.notes],
        class_=kind,
    )


def _head(column: str, at: int, table: Table) -> Html:
    kind = "num" if at in table.numeric else None
    return el("th", one_line(column, 60), scope="col", class_=kind)


def _cell(cell: Cell, at: int, table: Table, link: Link) -> Html:
    target = link(cell) if cell.session and cell.text else None
    words = one_line(cell.text, 400)
    inside = el("a", words, href=target) if target else words
    classes = (cell.style, "num" if at in table.numeric else "", "long" if at in table.wide else "")
    kind = " ".join(filter(None, classes)) or None
    return el("th", inside, scope="row", class_=kind) if cell.style == "head" else el("td", inside, class_=kind)
