"""Python files: CPython's compiler, ruff and its safe fixes, the project's formatter, flake8 where it is wanted."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final

from rails.core.verdict import CheckRun
from rails.gate import settings
from rails.gate.checks import Desk, Job, Outcome, Report
from rails.gate.flow import Road
from rails.gate.pytools import PythonTools
from rails.gate.workers import side_by_side

#: Two workers, and as many threads again that talk to ruff meanwhile.
_THREADS: Final = 4
#: So many files are in ruff's hands while as many are judged.
_AHEAD: Final = 16


def run(jobs: Sequence[Job], desk: Desk) -> Report:
    """Check all files. Raises CheckError for unreadable configuration."""
    tools = PythonTools(desk, settings.read(desk.project))
    clocks: dict[str, list[float]] = {}
    # Threads pay where the Python workers do the work; beside ruff, which works ahead anyway, they only get
    # in each other's way.
    threads = _THREADS if tools.uses_workers else 1
    outcomes: list[Outcome] = []
    tools.expect(jobs[:_AHEAD])
    try:
        for start in range(0, len(jobs), _AHEAD):
            tools.expect(jobs[start + _AHEAD : start + 2 * _AHEAD])
            some = jobs[start : start + _AHEAD]
            outcomes += side_by_side(lambda job: Road(job, tools, desk, clocks).outcome(), some, threads)
    finally:
        tools.forget()
    return Report(tuple(outcomes), tuple(_runs(tools, clocks, len(jobs))))


def _runs(tools: PythonTools, clocks: dict[str, list[float]], files: int) -> list[CheckRun]:
    config = tools.config
    ruff = tools.ruff_tool.version if tools.ruff_tool else ""
    rules = ", ".join(sorted({how.origin for how in tools.seen_settings()}))
    about = {
        "python": (platform.python_version(), ""),
        "ruff": (ruff, rules),
        "ruff format": (ruff, rules),
        "black": (tools.black_tool.version if tools.black_tool else "", config.black_origin),
        "flake8": (tools.flake8_tool.version if tools.flake8_tool else "", config.flake8_origin),
    }
    return [
        CheckRun(name, version, round(sum(clocks[name]), 2), origin, files, tools.desk.hits[name])
        for name, (version, origin) in about.items()
        if name in clocks
    ]
