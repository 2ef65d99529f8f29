"""Python: CPython's compiler, ruff with safe fixes, the project's formatter, flake8 if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rails.gate.support.check import CheckContext, CheckJob, CheckReport, Kind, suffix_of
from rails.gate.support.read_file import run_by_python

if TYPE_CHECKING:
    from rails.gate.languages.python.config import PythonSettings

#: Two workers, and as many files again that wait for ruff meanwhile.
_THREADS: Final = 4


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Raises CheckError for unreadable configuration."""
    from rails.gate.languages.python import config as settings
    from rails.gate.languages.python.tools import PythonTools
    from rails.gate.support.fix_and_lint import report_of

    whole = settings.read_python_settings(context.project)
    groups: dict[tuple[str, str], tuple[PythonSettings, list[CheckJob]]] = {}
    for job in jobs:
        near = settings.formatted_by_the_nearest(context.project, job.path, whole)
        groups.setdefault((near.formatter, near.black.origin), (near, []))[1].append(job)
    reports = [report_of(PythonTools(context, near), some, context, _THREADS) for near, some in groups.values()]
    outcomes = tuple(outcome for report in reports for outcome in report.outcomes)
    return CheckReport(outcomes, tuple(run for report in reports for run in report.runs))


def _claims(path: str, data: bytes) -> bool:
    return not suffix_of(path) and run_by_python(data)


KIND = Kind("python", suffixes=frozenset({".py", ".pyi", ".pyw"}), claims=_claims, place=10)
