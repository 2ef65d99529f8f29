"""The reports over sessions, by name: what a command line, a page and a terminal offer alike. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rails.config.prices import Prices
from rails.core.dataclass import dataclass
from rails.core.json_text import to_json
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.projections.common import SessionView
from rails.render.blocks import Block, Remark
from rails.review.reports.compare import SessionComparison
from rails.review.reports.compare_tables import compare_tables, sentences
from rails.review.reports.decisions import decisions, decisions_table
from rails.review.reports.models import model_report, models_table
from rails.review.reports.repair_drift import drift_report, drift_tables
from rails.review.reports.rules import heat_map, heat_table

#: Sessions that a report goes through, the newest ones.
REPORT_SESSIONS: Final = 500


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """A report: what it is called, its sentences and tables, and the same for programs."""

    title: str
    blocks: tuple[Block, ...]
    value: Json


def comparison(found: SessionComparison) -> ReviewReport:
    """Return two sessions compared: what matters in sentences, then the tables."""
    told = (Remark(sentence, "") for sentence in sentences(found))
    return ReviewReport(
        one_line(found.first.task or "Two sessions", 200), (*told, *compare_tables(found)), to_json(found)
    )


def _rules(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    del prices
    found = heat_map(views)
    return ReviewReport("Rules", (heat_table(found),), to_json(found))


def _weeks(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    del prices
    found = heat_map(views, "week")
    return ReviewReport("Rules by week", (heat_table(found),), to_json(found))


def _models(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    found = model_report(views, prices)
    rows: list[Json] = [
        {**row, "interval": list(one.first.interval)} if isinstance(row := to_json(one), dict) else row
        for one in found.rows
    ]
    value: dict[str, Json] = {"sessions": found.sessions, "rows": rows, "differences": list(found.differences)}
    return ReviewReport("Models and prompts", (models_table(found),), value)


def _drift(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    del prices
    found = drift_report(views)
    return ReviewReport("Correction drift", drift_tables(found), to_json(found))


def _decisions(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    del prices
    found = decisions(views)
    return ReviewReport("Decisions", (decisions_table(found),), to_json(found))


#: Every report by its name.
REPORTS: Final[dict[str, Callable[[Iterable[SessionView], Prices], ReviewReport]]] = {
    "rules": _rules,
    "weeks": _weeks,
    "models": _models,
    "drift": _drift,
    "decisions": _decisions,
}
