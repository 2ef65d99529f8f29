"""Reports and comparisons as HTML: the same tables as in the terminal, as fragments and as files."""

from __future__ import annotations

from rails.core.text import one_line
from rails.render.html_page.markup import Html, el, html_text, join
from rails.render.html_page.table import Link, nowhere, table_html
from rails.review.html import document
from rails.review.reports.compare import SessionComparison
from rails.review.reports.compare_tables import compare_tables, sentences
from rails.review.reports.report_list import ReviewReport


def report_parts(report: ReviewReport, link: Link = nowhere) -> Html:
    """Return a report's tables."""
    return join([table_html(table, link, f"table-{number}") for number, table in enumerate(report.tables)])


def comparison_parts(found: SessionComparison, link: Link = nowhere) -> Html:
    """Return a comparison: what matters in sentences, then the tables."""
    told = el("ul", [el("li", html_text(one_line(sentence, 1_000))) for sentence in sentences(found)], class_="told")
    tables = [table_html(table, link, f"table-{number}") for number, table in enumerate(compare_tables(found))]
    return join(el("section", told, class_="why"), tables)


def report_file(report: ReviewReport, about: str) -> str:
    """Return a report as a complete HTML document; ``about`` says which sessions it is about."""
    return _file(report.title, about, report_parts(report))


def comparison_file(found: SessionComparison) -> str:
    """Return a comparison as a complete HTML document."""
    title = one_line(found.first.task or "Two sessions", 200)
    return _file(title, "Two sessions compared", comparison_parts(found))


def _file(title: str, about: str, parts: Html) -> str:
    head = el("header", el("p", html_text(about), class_="eyebrow"), el("h1", html_text(title)), class_="top")
    return document(title, join(head, el("main", parts)))
