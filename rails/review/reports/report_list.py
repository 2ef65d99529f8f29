"""The reports over sessions, by name: what a command line, a page and a terminal offer alike. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias, TypeVar

from rails.config.prices import Prices
from rails.core.dataclass import dataclass
from rails.core.json_text import to_json
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.projections.common import SessionView
from rails.render.blocks import Block, Remark, Table
from rails.review.reports.compare import SessionComparison
from rails.review.reports.compare_tables import compare_tables, sentences
from rails.review.reports.decisions import decisions, decisions_table
from rails.review.reports.models import model_report, models_table
from rails.review.reports.repair_drift import drift_report, drift_tables
from rails.review.reports.rules import heat_map, heat_table

T = TypeVar("T")
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


Report: TypeAlias = Callable[[Iterable[SessionView], Prices], ReviewReport]


def _plain(title: str, find: Callable[[Iterable[SessionView]], T], tables: Callable[[T], tuple[Table, ...]]) -> Report:
    """Return a report that needs no prices: what ``find`` makes of the sessions, as ``tables`` and as JSON."""

    def report(views: Iterable[SessionView], _prices: Prices) -> ReviewReport:
        found = find(views)
        return ReviewReport(title, tables(found), to_json(found))

    return report


def _models(views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    found = model_report(views, prices)
    rows: list[Json] = [
        {**row, "interval": list(one.first.interval)} if isinstance(row := to_json(one), dict) else row
        for one in found.rows
    ]
    value: dict[str, Json] = {"sessions": found.sessions, "rows": rows, "differences": list(found.differences)}
    return ReviewReport("Models and prompts", (models_table(found),), value)


#: Every report by its name.
REPORTS: Final[dict[str, Report]] = {
    "rules": _plain("Rules", heat_map, lambda found: (heat_table(found),)),
    "weeks": _plain("Rules by week", partial(heat_map, by="week"), lambda found: (heat_table(found),)),
    "models": _models,
    "drift": _plain("Correction drift", drift_report, lambda found: (*drift_tables(found),)),
    "decisions": _plain("Decisions", decisions, lambda found: (decisions_table(found),)),
}
