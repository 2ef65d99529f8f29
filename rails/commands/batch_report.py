"""``ai-rails batch report``: the figures of a store, and the ablation that is missing in it."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.report import VARIED, JobSetting, batch_report, report_tables
from rails.batch.store import JobStore
from rails.commands.review import show_report
from rails.config.prices import PRICES_NAME, load_price_file
from rails.core.app_dirs import config_folder
from rails.core.errors import UsageError
from rails.core.text import counted, one_line
from rails.review.reports.grouped import ReviewReport

RunJobs = Callable[[argparse.Namespace, JobStore, Sequence[JobSpec]], int]


def report(options: argparse.Namespace, run_jobs: RunJobs) -> int:
    """Show the report; with ``--compare gate=on,off`` what it lacks is run first. Return the exit code."""
    store = JobStore(options.place)
    rows, only = store.rows(), lambda *_: True
    if not rows:
        raise UsageError(f"There is no result in {one_line(options.place)}. Run some first: ai-rails batch run.")
    if options.compare:
        name, values = _compared(options.compare)
        if name == "gate":
            with contextlib.redirect_stdout(sys.stderr if options.json or options.markdown else sys.stdout):
                code = _run_missing(options, store, rows, values, run_jobs)
            if code or options.dry_run:
                return code
            rows = store.rows()
        only = _only(VARIED.index(name), values)
    found = batch_report(rows, only)
    if options.compare and not found.comparisons:
        there = ", ".join(sorted({row.setting[VARIED.index(name)] for row in found.rows}))
        words = f"No two settings in {one_line(options.place)} differ in {name}={','.join(values)} only"
        raise UsageError(f"{one_line(words, 300)}. There is {name} {one_line(there, 500)}.")
    currency = load_price_file(config_folder() / PRICES_NAME).currency
    value: dict[str, Any] = found.value
    about = f"{counted(len(rows), 'job')} of {one_line(options.place)}"
    return show_report(options, ReviewReport("Jobs compared", tuple(report_tables(found, currency)), value), about)


def _run_missing(
    options: argparse.Namespace, store: JobStore, rows: Sequence[JobResult], gates: Sequence[str], run_jobs: RunJobs
) -> int:
    """Run what there is with the gate on or off, and not with the other; return the exit code."""
    specs = [spec for row in rows if (spec := store.spec(row.name))]
    wanted = {(one := msgspec.structs.replace(spec, gate=gate)).name: one for spec in specs for gate in gates}
    if len(wanted) > len(rows):
        print(f"{counted(len(wanted) - len(rows), 'job is', 'jobs are')} missing for gate={','.join(gates)}.")
    return run_jobs(options, store, [*wanted.values()])


def _compared(words: str) -> tuple[str, list[str]]:
    name, _, values = words.partition("=")
    chosen = [value.strip() for value in values.split(",") if value.strip()]
    if name not in VARIED or len(chosen) != 2 or (name == "gate" and set(chosen) != {"on", "off"}):
        raise UsageError(f"--compare takes gate=on,off, model=A,B or agent=A,B, not {one_line(words)!r}.")
    return name, chosen


def _only(place: int, values: Sequence[str]) -> Callable[[JobSetting, JobSetting], bool]:
    """Return what chooses settings that differ in one thing only, and there in these two values."""

    def chosen(first: JobSetting, second: JobSetting) -> bool:
        rest = first[:place] + first[place + 1 :] == second[:place] + second[place + 1 :]
        return rest and {first[place], second[place]} == {*values}

    return chosen
