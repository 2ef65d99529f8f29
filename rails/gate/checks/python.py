"""Python files: CPython's compiler, ruff and its safe fixes, the project's formatter, flake8 where it is wanted."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Sequence
from typing import Final

from rails.core.errors import CheckError
from rails.core.verdict import CheckRun
from rails.gate import settings
from rails.gate.checks import Desk, Job, Outcome, Report
from rails.gate.flow import Road
from rails.gate.pytools import PythonTools
from rails.gate.ruff import plain
from rails.gate.turns import taking_turns
from rails.gate.workers import side_by_side

#: Two workers, and as many threads again that talk to ruff meanwhile.
_THREADS: Final = 4
#: So many files are in ruff's hands while as many are judged.
_AHEAD: Final = 16
#: From so many files on, compiling them in the Python workers pays for starting these.
_MANY: Final = 100
#: Files that are compiled at one request.
_BATCH: Final = 25


def run(jobs: Sequence[Job], desk: Desk) -> Report:
    """Check all files. Raises CheckError for unreadable configuration."""
    tools = PythonTools(desk, settings.read(desk.project))
    clocks: dict[str, list[float]] = {}
    outcomes: list[Outcome] = []
    tools.expect(jobs[:_AHEAD])
    if len(jobs) >= _MANY:
        compile_ahead(jobs, desk)
    try:
        for start in range(0, len(jobs), _AHEAD):
            tools.expect(jobs[start + _AHEAD : start + 2 * _AHEAD])
            some = jobs[start : start + _AHEAD]
            roads = [Road(job, tools, desk, clocks, tools.ahead) for job in some]
            # Threads pay where the Python workers do the work; beside ruff they only get in each other's way.
            if tools.uses_workers:
                outcomes += side_by_side(Road.outcome, roads, _THREADS)
            else:
                outcomes += taking_turns(road.steps() for road in roads)
    finally:
        tools.forget()
    return Report(tuple(outcomes), tuple(_runs(tools, clocks, len(jobs))))


def compile_ahead(jobs: Sequence[Job], desk: Desk) -> None:
    """Have the workers say which files compile; the others, and all if a worker fails, are compiled here."""
    # A byte-order mark is a claim about the encoding, which only the bytes themselves can break.
    unknown = (job for job in jobs if (PythonTools.parser, job.path, job.after) not in desk.known)
    readable = (job for job in unknown if not job.after.startswith(codecs.BOM_UTF8))
    texts = {job.path: text for job in readable if (text := plain(job.after)) is not None}
    paths = list(texts)

    def ask(some: list[str]) -> list[str]:
        answer = desk.pool.ask({"op": "compile", "texts": [[path, texts[path]] for path in some]})
        fine = answer.get("fine")
        return [path for path, ok in zip(some, fine, strict=True) if ok is True] if isinstance(fine, list) else []

    by_path = {job.path: job.after for job in jobs}
    try:
        batches = side_by_side(ask, [paths[at : at + _BATCH] for at in range(0, len(paths), _BATCH)])
    except (CheckError, ValueError):
        return
    for path in (path for batch in batches for path in batch):
        desk.known[PythonTools.parser, path, by_path[path]] = None


def _runs(tools: PythonTools, clocks: dict[str, list[float]], files: int) -> list[CheckRun]:
    config = tools.config
    ruff = tools.ruff_tool.version if tools.ruff_tool else ""
    rules = ", ".join(sorted({how.origin for how in tools.seen_settings()}))
    about = {
        "python": (".".join(map(str, sys.version_info[:3])), ""),
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
