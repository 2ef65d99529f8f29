"""Python files: CPython's compiler, ruff and its safe fixes, the project's formatter, flake8 where it is wanted."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final

from rails.core.verdict import CheckRun
from rails.gate import settings
from rails.gate.checks import Desk, Job, Report
from rails.gate.flow import Road
from rails.gate.pytools import PythonTools
from rails.gate.workers import side_by_side

#: Two workers, and as many threads again that talk to ruff meanwhile.
_THREADS: Final = 4


def run(jobs: Sequence[Job], desk: Desk) -> Report:
    """Check all files. Raises CheckError for unreadable configuration."""
    tools = PythonTools(desk, settings.read(desk.project))
    clocks: dict[str, list[float]] = {}
    # Threads pay where the Python workers do the work; beside ruff's half milliseconds they only get in each
    # other's way (31 ms for five files one after the other, 40 to 60 ms side by side).
    threads = _THREADS if tools.uses_workers else 1
    outcomes = side_by_side(lambda job: Road(job, tools, desk, clocks).outcome(), jobs, threads)
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
