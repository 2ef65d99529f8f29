"""Which rules fire where: rule by session or by week, and what each rule cost. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from typing import Final, Literal

from rails.core.dataclass import dataclass, field
from rails.projections.common import SessionView, TurnView
from rails.render.blocks import Cell, CellStyle, Table, cells

By = Literal["session", "week"]
_RULES: Final = 30
_COLUMNS: Final = 14


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule. ``fired`` counts new findings in all verdicts, ``turns`` failed turns that had one, ``fixed``
    findings that a later verdict of the session no longer had, ``waived`` those approved in spite of it.
    ``counts`` is ``fired`` by column.
    """

    rule: str
    tool: str
    fired: int
    sessions: int
    turns: int
    fixed: int
    waived: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Rules by how often they fired; ``columns`` are session ids or ISO weeks, in order."""

    by: By
    sessions: int
    columns: tuple[str, ...]
    labels: dict[str, str]
    rules: tuple[RuleRow, ...]


@dataclass(slots=True)
class _Tally:
    tool: str = ""
    fired: int = 0
    turns: int = 0
    fixed: int = 0
    waived: int = 0
    sessions: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


def heat_map(views: Iterable[SessionView], by: By = "session") -> HeatMap:
    """Return which rules fired in these sessions, which are in order, the oldest first."""
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    labels: dict[str, str] = {}
    count = 0
    for view in views:
        count += 1
        column = view.session_id if by == "session" else _week(view.started)
        _take(tallies, view, column)
        if any(finding.new for turn in view.turns for gate in turn.gates for finding in gate.verdict.findings):
            labels[column] = view.started[5:16].replace("T", " ") if by == "session" else column
    rows = [
        RuleRow(rule, t.tool, t.fired, len(t.sessions), t.turns, t.fixed, t.waived, dict(t.counts))
        for rule, t in tallies.items()
    ]
    rows.sort(key=lambda row: (-row.fired, row.rule))
    return HeatMap(by, count, tuple(labels), labels, tuple(rows))


def _take(tallies: dict[str, _Tally], view: SessionView, column: str) -> None:
    open_findings: dict[str, set[tuple[str, str, str]]] = {}
    for turn in view.turns:
        before = open_findings.get(turn.agent, set())
        for gate in turn.gates:
            now = set()
            for finding in gate.verdict.findings:
                if finding.new:
                    tally = tallies[finding.rule]
                    tally.tool = finding.tool
                    tally.fired += 1
                    tally.sessions.add(view.session_id)
                    tally.counts[column] += 1
                    now.add((finding.path, finding.rule, finding.message))
            for _, rule, _ in before - now:
                tallies[rule].fixed += 1
            before = now
        if turn.gates:
            open_findings[turn.agent] = before
            _blame(tallies, turn, {rule for _, rule, _ in before})


def _blame(tallies: dict[str, _Tally], turn: TurnView, rules: set[str]) -> None:
    waived = any(approval.answer == "approve" for approval in turn.approvals)
    for rule in rules:
        tallies[rule].turns += turn.failed
        tallies[rule].waived += waived


def _week(stamp: str) -> str:
    try:
        year, week, _ = date.fromisoformat(stamp[:10]).isocalendar()
    except ValueError:
        return "unknown"
    return f"{year}-W{week:02d}"


def heat_table(heat: HeatMap) -> Table:
    """Return the map as a table; the newest columns where there are too many."""
    columns = heat.columns[-_COLUMNS:]
    rows = heat.rules[:_RULES]
    top = max((row.counts.get(column, 0) for row in rows for column in columns), default=0) or 1
    notes = [
        "Each cell counts new findings; the stronger its colour, the more of them. turns: failed turns that the rule "
        "cost. let through: approved in spite of it."
    ]
    if len(heat.rules) > _RULES:
        notes.append(f"The {_RULES} most frequent of {len(heat.rules)} rules.")
    if len(heat.columns) > _COLUMNS:
        notes.append(f"The newest {_COLUMNS} of {len(heat.columns)} {heat.by}s; the sums are of all.")
    if not rows:
        notes = [f"No rule has found anything new in {heat.sessions} sessions."]
    fixed = ("all", "sessions", "turns", "fixed", "let through")
    return Table(
        f"Rules that fired, by {heat.by}",
        ("rule", *fixed, *(heat.labels[column] for column in columns)),
        tuple(
            (
                *cells(Cell(row.rule, "head"), row.fired, row.sessions, row.turns, row.fixed),
                Cell(f"{row.waived:,}", "bad" if row.waived else ""),
                *(_cell(row.counts.get(column, 0), top, column if heat.by == "session" else "") for column in columns),
            )
            for row in rows
        ),
        numeric=frozenset(range(1, 6 + len(columns))),
        optional=tuple(range(6, 5 + len(columns))),
        notes=tuple(notes),
    )


def _cell(count: int, top: int, session: str) -> Cell:
    level = 0 if not count else 1 + min(3, count * 4 // (top + 1))
    styles: tuple[CellStyle, ...] = ("heat-0", "heat-1", "heat-2", "heat-3", "heat-4")
    return Cell(f"{count:,}" if count else "", styles[level], session if count else "")
