"""JavaScript and TypeScript: a parser, ESLint with its safe fixes, Prettier; all in one warm Node process."""

from __future__ import annotations

from collections.abc import Sequence

from rails.core.verdict import CheckRun
from rails.gate import consent, jssettings, settings
from rails.gate.checks import Desk, Job, Report
from rails.gate.flow import Road
from rails.gate.nodetools import NodeTools
from rails.gate.options import PROJECT_FILE


def run(jobs: Sequence[Job], desk: Desk) -> Report:
    """Check all files. Raises CheckError when Node.js is missing or configuration is unreadable."""
    config = jssettings.read(desk.project)
    if config.eslint_code and not desk.trusted:
        desk.trusted = consent.given(desk.project, settings.read_file(desk.project / PROJECT_FILE))
    tools = NodeTools(desk, config)
    clocks: dict[str, list[float]] = {}
    outcomes = tuple(Road(job, tools, desk, clocks).outcome() for job in jobs)
    own = desk.trusted and tools.config.eslint
    rules = {
        "eslint": tools.config.eslint_code if own else "ESLint's recommended rules",
        "prettier": "the project's options",
    }
    runs = (
        CheckRun(name, tools.version(name), round(sum(times), 2), rules.get(name, ""), len(jobs), desk.hits[name])
        for name, times in clocks.items()
        if tools.version(name)
    )
    return Report(outcomes, tuple(runs))
