"""Reports and comparisons as HTML: the same tables as in the terminal, as fragments and as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rails.core.text import one_line
from rails.review.compare import Comparison
from rails.review.compare_tables import compare_tables, sentences
from rails.review.html import document
from rails.review.markup import Html, el, join, text
from rails.review.reports import Report
from rails.review.table import Cell, Table

#: Where a cell about a session (and a turn, if one is meant) leads; ``None``: nowhere.
Link = Callable[[str, int | None], str | None]


def nowhere(session_id: str, turn: int | None) -> None:
    """Link nothing: a file has no other pages."""
    del session_id, turn


def report_parts(report: Report, link: Link = nowhere) -> Html:
    """Return a report's tables."""
    return join([table_html(table, link, f"table-{number}") for number, table in enumerate(report.tables)])


def comparison_parts(found: Comparison, link: Link = nowhere) -> Html:
    """Return a comparison: what matters in sentences, then the tables."""
    told = el("ul", [el("li", text(one_line(sentence, 1_000))) for sentence in sentences(found)], class_="told")
    tables = [table_html(table, link, f"table-{number}") for number, table in enumerate(compare_tables(found))]
    return join(el("section", told, class_="why"), tables)


def report_file(report: Report, about: str) -> str:
    """Return a report as a complete HTML document; ``about`` says which sessions it is about."""
    return _file(report.title, about, report_parts(report))


def comparison_file(found: Comparison) -> str:
    """Return a comparison as a complete HTML document."""
    title = one_line(found.first.task or "Two sessions", 200)
    return _file(title, "Two sessions compared", comparison_parts(found))


def _file(title: str, about: str, parts: Html) -> str:
    head = el("header", el("p", text(about), class_="eyebrow"), el("h1", text(title)), class_="top")
    return document(title, join(head, el("main", parts)))


def table_html(table: Table, link: Link, name: str) -> Html:
    """Return a table with its heading and its notes; it scrolls sideways by itself where there is no room."""
    head = el("tr", [_head(column, at, table) for at, column in enumerate(table.columns)])
    body = [el("tr", [_cell(cell, at, table, link) for at, cell in enumerate(row)]) for row in table.rows]
    drawn = el("table", el("thead", head), el("tbody", body))
    heat = any(cell.style.startswith("heat") for row in table.rows for cell in row)
    return el(
        "section",
        el("h2", text(one_line(table.title, 200)), id=name),
        el("div", drawn, class_="scroll", tabindex=0, role="region", aria_labelledby=name) if table.rows else None,
        [el("p", text(one_line(note, 1_000)), class_="meta") for note in table.notes],
        class_="report heat" if heat else "report",
        aria_labelledby=name,
    )


def _head(column: str, at: int, table: Table) -> Html:
    return el("th", text(one_line(column, 60)), scope="col", class_="num" if at in table.numeric else None)


def _cell(cell: Cell, at: int, table: Table, link: Link) -> Html:
    target = link(cell.session, cell.turn) if cell.session and cell.text else None
    words = text(one_line(cell.text, 400))
    inside = el("a", words, href=target) if target else words
    classes = [cell.style, "num" if at in table.numeric else "", "long" if at in table.wide else ""]
    if cell.style == "head":
        return el("th", inside, scope="row", class_=" ".join(filter(None, classes)))
    return el("td", inside, class_=" ".join(filter(None, classes)) or None)


def tables_html(tables: Sequence[Table], link: Link = nowhere) -> Html:
    """Return several tables."""
    return join([table_html(table, link, f"table-{number}") for number, table in enumerate(tables)])
