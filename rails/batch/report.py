"""Results by model, agent and setting, and significant differences. Pure.

Errors are counted, but in no rate. Settings are compared on shared tasks and repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, groupby
from statistics import fmean
from typing import Final

from msgspec import Struct

from rails.batch.job_spec import JobResult
from rails.batch.statistics import ALPHA, mcnemar, pass_at
from rails.core.json_text import json_object
from rails.core.tool_request import Json
from rails.projections.share import Share
from rails.render.blocks import Cell, Table, cells
from rails.render.units import seconds_text

#: The stages of a job, in order; "other" is our own.
STAGES: Final = ("prepare", "model", "gate", "human", "run", "write", "score")
#: The parts of a setting, in order.
VARIED: Final = ("model", "agent", "gate")
JobSetting = tuple[str, str, str]


class SettingRow(Struct, frozen=True):
    """A setting on all its tasks. ``cost``: None if partly unknown."""

    setting: JobSetting
    jobs: int
    errors: int
    passed: Share
    first: Share
    at: tuple[tuple[int, float], ...]
    cost: float | None
    tries: float | None
    turns: float
    seconds: tuple[tuple[str, float], ...]

    @property
    def per_solved(self) -> float | None:
        """Return the total cost per passed job."""
        return self.cost / self.passed.hits if self.cost is not None and self.passed.hits else None


class Comparison(Struct, frozen=True):
    """Two settings on shared runs: jobs that only one passed, and the chance of that.

    ``cost``, ``turns``: mean differences (second minus first).
    """

    first: JobSetting
    second: JobSetting
    pairs: int
    both: int
    only_first: int
    only_second: int
    chance: float
    cost: float | None
    turns: float

    @property
    def distinguishable(self) -> bool:
        """Whether the difference is significant."""
        return self.chance < ALPHA


class BatchReport(Struct, frozen=True):
    """Settings, and each pair compared."""

    rows: tuple[SettingRow, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def value(self) -> dict[str, Json]:
        """The figures as JSON."""
        rows: list[Json] = [
            {**json_object(row), "interval": [*row.passed.interval], "per_solved": row.per_solved} for row in self.rows
        ]
        pairs: list[Json] = [{**json_object(one), "distinguishable": one.distinguishable} for one in self.comparisons]
        return {"v": 2, "settings": rows, "comparisons": pairs}


def batch_report(results: Iterable[JobResult]) -> BatchReport:
    """Return the report of ``results``."""
    known = sorted(results, key=lambda one: (setting_of(one), one.task, one.seed))
    groups = {setting: [*found] for setting, found in groupby(known, setting_of)}
    rows = tuple(_row(setting, found) for setting, found in groups.items())
    pairs = combinations(groups, 2)
    return BatchReport(rows, tuple(_compared(a, b, groups[a], groups[b]) for a, b in pairs))


def setting_of(result: JobResult) -> JobSetting:
    """Return what a set can vary: model, agent, gate."""
    return result.model, result.agent, result.gate


def _row(setting: JobSetting, found: Sequence[JobResult]) -> SettingRow:
    counted = [one for one in found if not one.error]
    raised, tries = sum(one.raised for one in counted), sum(one.tries for one in counted)
    costs = [one.cost for one in counted]
    spent = {stage: [one.seconds.get(stage, 0.0) for one in counted] for stage in STAGES}
    return SettingRow(
        setting,
        len(found),
        len(found) - len(counted),
        Share(sum(one.passed for one in counted), len(counted)),
        Share(sum(one.first_try for one in counted), len(counted)),
        _pass_at(counted),
        sum(cost for cost in costs if cost is not None) if None not in costs else None,
        tries / raised if raised else None,
        fmean(one.turns for one in counted) if counted else 0.0,
        tuple((stage, fmean(seconds)) for stage, seconds in spent.items() if any(seconds)),
    )


def _pass_at(counted: Sequence[JobResult]) -> tuple[tuple[int, float], ...]:
    """Return pass@k, the mean over tasks, for each k with enough runs."""
    runs = [[one.passed for one in found] for _, found in groupby(counted, lambda one: one.task)]
    most = min((len(found) for found in runs), default=0)
    return tuple((k, fmean(pass_at(k, len(found), sum(found)) for found in runs)) for k in range(1, most + 1))


def _compared(first: JobSetting, second: JobSetting, a: Sequence[JobResult], b: Sequence[JobResult]) -> Comparison:
    others = {(one.task, one.seed): one for one in b if not one.error}
    pairs = [(one, others[one.task, one.seed]) for one in a if not one.error and (one.task, one.seed) in others]
    passed = Counter((x.passed, y.passed) for x, y in pairs)
    only_first, only_second = passed[True, False], passed[False, True]
    costs = [y.cost - x.cost for x, y in pairs if x.cost is not None and y.cost is not None]
    return Comparison(
        first,
        second,
        len(pairs),
        passed[True, True],
        only_first,
        only_second,
        mcnemar(only_first, only_second),
        fmean(costs) if costs and len(costs) == len(pairs) else None,
        fmean(y.turns - x.turns for x, y in pairs) if pairs else 0.0,
    )


# -- as people read it ------------------------------------------------------------------------------


def report_tables(report: BatchReport, currency: str = "") -> list[Table]:
    """Return a report's tables."""
    pairs = [_pairs_table(report)] if report.comparisons else []
    return [_settings_table(report.rows, currency), _times_table(report.rows), *pairs]


def _settings_table(rows: Sequence[SettingRow], currency: str) -> Table:
    most = max((len(row.at) for row in rows), default=0)
    columns = ("jobs", "errors", "passed", "95 %", "first try", "turns", "cost", "per solved", "tries per finding")
    drawn = tuple(
        cells(
            *row.setting,
            row.jobs,
            row.errors or "",
            _percent(row.passed),
            _interval(row.passed),
            _percent(row.first),
            f"{row.turns:.1f}",
            _figure(row.cost, ".4g"),
            _figure(row.per_solved, ".4g"),
            _figure(row.tries, ".2f"),
            *(_figure(dict(row.at).get(k), ".0%") for k in range(2, most + 1)),
        )
        for row in rows
    )
    notes = ("Errors (of the model's service, of the machine) count in no rate. Cost is of all jobs, passed or not.",)
    money = (f"Money is {currency}.",) if currency else ()
    names = (*VARIED, *columns, *(f"pass@{k}" for k in range(2, most + 1)))
    return Table("How each did", names, drawn, frozenset(range(3, len(names))), frozenset({0}), notes=(*notes, *money))


def _times_table(rows: Sequence[SettingRow]) -> Table:
    spent = [dict(row.seconds) for row in rows]
    stages = [stage for stage in STAGES if any(stage in one for one in spent)]
    drawn = tuple(
        cells(*row.setting, *(seconds_text(one[stage]) if stage in one else "" for stage in stages))
        for row, one in zip(rows, spent, strict=True)
    )
    columns = (*VARIED, *stages)
    return Table("Time of a job, by stage", columns, drawn, frozenset(range(3, len(columns))), frozenset({0}))


def _pairs_table(report: BatchReport) -> Table:
    columns = ("first", "second", "pairs", "both pass", "first only", "second only", "chance", "turns", "cost", "")
    drawn = tuple(
        cells(
            *(" · ".join(_told(one.first, one.second, which)) for which in (one.first, one.second)),
            one.pairs,
            one.both,
            one.only_first,
            one.only_second,
            f"{one.chance:.3f}",
            f"{one.turns:+.3g}",
            _figure(one.cost, "+.3g"),
            _verdict(one),
        )
        for one in report.comparisons
    )
    note = (
        "Pairs are the same task and repeat. Chance is McNemar's exact test: how often luck alone makes such a "
        f"difference; from {ALPHA:g} on they are not distinguishable. Turns and cost are the second less the first, "
        "on average."
    )
    right, wide = frozenset(range(2, 9)), frozenset({0, 1, 9})
    return Table("Compared on the same tasks", columns, drawn, right, wide, notes=(note,))


def _told(first: JobSetting, second: JobSetting, which: JobSetting) -> list[str]:
    named = zip(VARIED, which, first, second, strict=True)
    return [f"gate {word}" if name == "gate" else word for name, word, a, b in named if a != b]


def _verdict(one: Comparison) -> Cell:
    if not one.pairs:
        return Cell("no run in common", "dim")
    if not one.distinguishable:
        return Cell("not distinguishable", "dim")
    return Cell("second is better" if one.only_second > one.only_first else "first is better", "good")


def _percent(share: Share) -> Cell:
    return Cell(f"{share.hits}/{share.of} {share.hits / share.of:.0%}" if share.of else "")


def _interval(share: Share) -> str:
    low, high = share.interval
    return f"{low:.0%}–{high:.0%}" if share.of else ""


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
