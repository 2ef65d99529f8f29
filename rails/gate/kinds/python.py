"""Python files: CPython's compiler, ruff and its safe fixes, the project's formatter, flake8 where it is wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rails.core.verdict import CheckRun
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult
from rails.gate.support.kind import Kind, suffix_of
from rails.gate.support.read_file import run_by_python

if TYPE_CHECKING:
    from rails.gate.languages.python.tools import PythonTools
    from rails.processes.programs import Tool

#: Two workers, and as many files again that wait for ruff meanwhile.
_THREADS: Final = 4
#: So many files are known to compile before they are judged.
_AHEAD: Final = 16
#: From so many files on, compiling them in the Python workers pays for starting these.
_MANY: Final = 100


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Check all files. Raises CheckError for unreadable configuration."""
    from rails.gate.languages.python import config as settings
    from rails.gate.languages.python.syntax import CompileAhead
    from rails.gate.languages.python.tools import PythonTools
    from rails.gate.support.fix_and_lint import FixAndLint
    from rails.gate.support.warm_processes import side_by_side

    whole = settings.read_python_settings(context.project)
    groups: dict[str, list[CheckJob]] = {}
    for job in jobs:
        near = settings.formatted_by_the_nearest(context.project, job.path, whole)
        groups.setdefault(f"{near.formatter} {near.black_origin}", []).append(job)
    if len(groups) > 1:
        reports = [run_check(some, context) for some in groups.values()]
        outcomes_of_all = tuple(outcome for report in reports for outcome in report.outcomes)
        return CheckReport(outcomes_of_all, tuple(run for report in reports for run in report.runs))
    clocks: dict[str, list[float]] = {}
    outcomes: list[CheckResult] = []
    tools = PythonTools(context, settings.formatted_by_the_nearest(context.project, jobs[0].path, whole))
    many = CompileAhead(jobs, context, _known_to_compile) if len(jobs) >= _MANY else None
    try:
        for start in range(0, len(jobs), _AHEAD):
            some = jobs[start : start + _AHEAD]
            if many is not None:
                many.wait_for(some)
            files = [FixAndLint(job, tools, context, clocks) for job in some]
            outcomes += side_by_side(FixAndLint.outcome, files, _THREADS)
    finally:
        if many is not None:
            many.stop()
    return CheckReport(tuple(outcomes), tuple(_runs(tools, clocks, len(jobs))))


def _known_to_compile(job: CheckJob) -> tuple[object, ...]:
    from rails.gate.languages.python.tools import PythonTools

    return PythonTools.parser, job.path, job.after


def _runs(tools: PythonTools, clocks: dict[str, list[float]], files: int) -> list[CheckRun]:
    config = tools.config
    ruff = tools.ruff_tool.version if tools.ruff_tool else ""
    rules = ", ".join(sorted({how.origin for how in tools.seen_settings()}))
    about: dict[str, tuple[str, str, Tool | None, str]] = {
        "python": (".".join(map(str, sys.version_info[:3])), "", None, ""),
        "ruff": (ruff, tools.origin_of("ruff", rules), tools.ruff_tool, " check -"),
        "ruff format": (ruff, tools.origin_of("ruff", rules), tools.ruff_tool, " format -"),
        "black": (
            tools.black_tool.version if tools.black_tool else "",
            tools.origin_of("black", config.black_origin),
            tools.black_tool,
            " -",
        ),
        "flake8": (
            tools.flake8_tool.version if tools.flake8_tool else "",
            tools.origin_of("flake8", config.flake8_origin),
            tools.flake8_tool,
            " -",
        ),
    }
    return [
        CheckRun(
            name,
            version,
            round(sum(clocks[name]), 2),
            origin,
            files,
            tools.context.hits[name],
            f"{' '.join(tool.argv)}{does}" if tool else "",
        )
        for name, (version, origin, tool, does) in about.items()
        if name in clocks
    ]


def _claims(path: str, data: bytes) -> bool:
    return not suffix_of(path) and run_by_python(data)


KIND = Kind("python", suffixes=frozenset({".py", ".pyi", ".pyw"}), claims=_claims, place=10)
