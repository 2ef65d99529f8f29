"""Python: CPython's compiler, ruff with safe fixes, the project's formatter, flake8 if wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rails.core.verdict import CheckRun
from rails.gate.support.check import CheckContext, CheckJob, CheckReport
from rails.gate.support.kind import Kind, suffix_of
from rails.gate.support.read_file import run_by_python

if TYPE_CHECKING:
    from rails.gate.languages.python.config import PythonSettings

#: Two workers, and as many files again that wait for ruff meanwhile.
_THREADS: Final = 4


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Raises CheckError for unreadable configuration."""
    from rails.gate.languages.python import config as settings

    whole = settings.read_python_settings(context.project)
    groups: dict[tuple[str, str], tuple[PythonSettings, list[CheckJob]]] = {}
    for job in jobs:
        near = settings.formatted_by_the_nearest(context.project, job.path, whole)
        groups.setdefault((near.formatter, near.black_origin), (near, []))[1].append(job)
    reports = [_checked(near, some, context) for near, some in groups.values()]
    outcomes = tuple(outcome for report in reports for outcome in report.outcomes)
    return CheckReport(outcomes, tuple(run for report in reports for run in report.runs))


def _checked(config: PythonSettings, jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    from rails.gate.languages.python.tools import PythonTools
    from rails.gate.support.fix_and_lint import FixAndLint
    from rails.gate.support.warm_processes import side_by_side

    clocks: dict[str, list[float]] = {}
    tools = PythonTools(context, config)
    files = [FixAndLint(job, tools, context, clocks) for job in jobs]
    outcomes = side_by_side(FixAndLint.outcome, files, _THREADS)
    rules = ", ".join(sorted({how.origin for how in tools.ruff_settings_seen.values()}))
    about = {
        "python": (None, "", ""),
        "ruff": (tools.ruff_tool, " check -", rules),
        "ruff format": (tools.ruff_tool, " format -", rules),
        "black": (tools.black_tool, " -", config.black_origin),
        "flake8": (tools.flake8_tool, " -", config.flake8_origin),
    }
    runs = []
    for name, (tool, does, setting) in about.items():
        if name not in clocks:  # as "format" without a formatter
            continue
        version = tool.version if tool else sys.version.split()[0] if name == "python" else ""
        command = f"{' '.join(tool.argv)}{does}" if tool else ""
        origin = tools.origin_of(tool.name, setting) if tool else ""
        runs.append(
            CheckRun(name, version, round(sum(clocks[name]), 2), origin, len(jobs), context.hits[name], command)
        )
    return CheckReport(tuple(outcomes), tuple(runs))


def _claims(path: str, data: bytes) -> bool:
    return not suffix_of(path) and run_by_python(data)


KIND = Kind("python", suffixes=frozenset({".py", ".pyi", ".pyw"}), claims=_claims, place=10)
