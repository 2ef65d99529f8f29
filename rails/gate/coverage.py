"""Test coverage of the project or of changed lines, by coverage.py.

coverage.py judges the project's threshold (``fail_under``, ``--cov-fail-under``); of changed lines its statements
count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rails.core.diff import line_diff
from rails.core.errors import CheckError
from rails.gate.support.config_files import read_config_file

RULE: Final = "coverage"
REPORT: Final = ".rails-coverage.json"
_DATA: Final = ".rails-coverage"
#: Where the threshold is; a change does not judge itself by what it makes of them.
CONFIGS: Final = ("pyproject.toml", ".coveragerc", "setup.cfg", "tox.ini", "pytest.ini")
_TOO_LITTLE: Final = re.compile(
    r"^(?:(?>.*?Required test coverage of ).* not reached|.*Coverage failure: total of).*$", re.M
)
_ABSENT: Final = re.compile(r"No module named '?coverage")
#: What covers changed lines where nobody says how much.
_ALL: Final = 100.0


def is_measured(project: Path) -> bool:
    """Return whether the project sets a coverage threshold."""
    return re.search(rb"fail[_-]under", _configuration(project)) is not None


def measured(argv: Sequence[str], project: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return pytest's command with coverage, and the report's."""
    python = argv[0]
    found = _configuration(project)
    report = (python, "-P", "-m", "coverage", "json", "-o", REPORT)
    if b"--cov" in found:  # pytest-cov measures
        return tuple(argv), report
    source = () if re.search(rb"^[ \t]*source\b", found, re.M) else ("--source=.",)
    run = (python, "-P", "-m", "coverage", "run", f"--data-file={_DATA}", *source)
    return (*run, *argv[argv.index("-m") :]), (*report, f"--data-file={_DATA}")


def too_little(printed: str) -> str:
    """Return the message about a missed threshold. Raises CheckError."""
    if _ABSENT.search(printed):
        raise CheckError("coverage.py is not installed where the tests run; install it there: pip install coverage")
    found = _TOO_LITTLE.search(printed)
    return found[0].strip() if found else ""


def uncovered(
    report: bytes, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None], wanted: float | None
) -> Iterator[tuple[str, int, str]]:
    """Yield (path, line, message) for each file with too few changed lines covered. Raises CheckError."""
    try:
        known = {
            str(path): (set(one["executed_lines"]), set(one["missing_lines"]))
            for path, one in json.loads(report)["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckError("coverage.py wrote something unknown") from error
    counted = {path: _changed(before.get(path), data) for path, data in after.items() if data and path in known}
    missing = {path: sorted(known[path][1] & lines) for path, lines in counted.items()}
    total = sum(len((known[path][0] | known[path][1]) & lines) for path, lines in counted.items())
    share = 100 * (1 - sum(map(len, missing.values())) / total) if total else _ALL
    least = _ALL if wanted is None else wanted
    for path, lines in missing.items() if share < least else ():
        if lines:
            which = ", ".join(map(str, lines[:20])) + (f" and {len(lines) - 20} more" if len(lines) > 20 else "")
            words = f"No test runs line {which}; tests run {share:.0f} % of the changed lines, {least:g} % are wanted."
            yield path, lines[0], words


def _changed(before: bytes | None, after: bytes) -> set[int]:
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    return {at + 1 for block in line_diff(old, new).changed for at in range(block.new_start, block.new_end)}


def _configuration(project: Path) -> bytes:
    return b"\n".join(read_config_file(project / name) for name in CONFIGS)
