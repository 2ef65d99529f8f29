"""The code cells of Jupyter notebooks, linted by ruff and never changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rails.core.errors import CheckError
from rails.core.text import counted, one_line, plain_text
from rails.core.verdict import CheckRun, Finding, NotChecked
from rails.data_formats.json_document import JsonError, parse_document
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind

if TYPE_CHECKING:
    from rails.gate.support.diagnostics import Diagnostic


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Raises CheckError for unreadable configuration."""
    from rails.gate.languages.python import config as settings
    from rails.gate.languages.python.ruff import RuffCli
    from rails.processes import programs

    config = settings.read_python_settings(context.project)
    tool = programs.find_ruff()
    if tool is None:
        missing = "ruff is not installed, and nothing else reads the cells"
        return CheckReport(tuple(CheckResult.missed(job, "ruff", missing) for job in jobs))
    cli = RuffCli(tool, context.project)
    run = CheckRun(
        "ruff",
        tool.version,
        0,
        "notebook cells",
        command=f"{' '.join(tool.argv)} check -",
    )

    def look(path: str, data: bytes) -> Iterator[Finding | NotChecked]:
        return _findings(
            path, data, lambda text: cli.lint(path, text, settings.ruff_for(context.project, path, config))
        )

    return CheckReport.of_files(run, jobs, lambda job: CheckResult.of_look(job, "ruff", look))


class _Language(Struct, frozen=True):
    name: str = "python"


class _Metadata(Struct, frozen=True):
    language_info: _Language = _Language()


class _Cell(Struct, frozen=True):
    source: str | list[str] = ""


class _Book(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    cells: tuple[_Cell, ...] = ()


def _findings(path: str, data: bytes, lint: Callable[[str], list[Diagnostic]]) -> Iterator[Finding | NotChecked]:
    """Yield ruff's findings at lines of the file, and what it does not read. Raises CheckError."""
    text = plain_text(data)
    if text is None:
        raise CheckError("it is not UTF-8 text")
    try:
        document = parse_document(text)
    except JsonError:
        return  # the check of data says so
    book = _Book()
    with contextlib.suppress(msgspec.ValidationError):
        book = msgspec.convert(document.value, _Book)
    name = book.metadata.language_info.name
    if name != "python":
        yield NotChecked(path, "ruff", f"its cells are {one_line(name, 40)}, not Python", required=False)
    elif count := sum("".join(cell.source).lstrip().startswith("%%") for cell in book.cells):
        what = counted(count, "cell begins", "cells begin")
        yield NotChecked(path, "ruff", f"{what} with %%, and is not read", required=False)
    for found in lint(text):
        line = document.line(
            (
                "cells",
                found.cell - 1,
                "source",
                found.start[0] - 1,
            )
        )
        words = f"cell {found.cell}, line {found.start[0]}: {found.message}"
        yield Finding(path, line, 1, found.rule, words, "ruff", end_line=line, remedy=found.remedy)


KIND = Kind("notebook", suffixes=frozenset({".ipynb"}), place=20)
