"""Python: CPython's compiler, ruff with safe fixes, the project's formatter, flake8 if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.gate.support.check import CheckContext, CheckJob, CheckReport, Kind, suffix_of
from rails.gate.support.read_file import run_by_python

#: Two workers, and as many files again that wait for ruff meanwhile.
_THREADS: Final = 4


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Raises CheckError for unreadable configuration."""
    from rails.gate.languages.python.tools import PythonTools
    from rails.gate.support.fix_and_lint import report_of

    return report_of(PythonTools(context, [job.path for job in jobs]), jobs, context, _THREADS)


def _claims(path: str, data: bytes) -> bool:
    return not suffix_of(path) and run_by_python(data)


KIND = Kind("python", suffixes=frozenset({".py", ".pyi", ".pyw"}), claims=_claims, place=10)
