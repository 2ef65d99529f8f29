"""Shell scripts: whether ``bash -n`` can parse them; nothing of them runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import CheckRun, Finding
from rails.gate.kinds.text import marker_findings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind, NotNeededError, suffix_of
from rails.gate.support.read_file import SHELLS, interpreter_of

_PLACES: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_SAID: Final = lazy(r"^/dev/stdin: line (\d+): (.*)$", re.MULTILINE)


def run_check(jobs: Sequence[CheckJob], _context: CheckContext) -> CheckReport:
    """Check each script before and after."""
    bash = next((place for place in _PLACES if Path(place).is_file()), "")
    if not bash:
        return CheckReport(
            tuple(CheckResult.missed(job, "shell", "bash is not installed", required=False) for job in jobs)
        )
    run = CheckRun("bash", "", 0, "syntax", command=f"{bash} -n")
    look = partial(_look, bash)
    return CheckReport.of_files(run, jobs, lambda job: CheckResult.of_look(job, "shell", look).after_broken())


def _look(bash: str, path: str, data: bytes) -> Iterator[Finding]:
    from rails.processes.programs import run_tool

    program = interpreter_of(data)
    if program and program not in SHELLS:
        raise NotNeededError(f"it is run by {one_line(program, 40)}")
    if (text := plain_text(data)) is not None:
        yield from marker_findings(path, text)
    # A script may switch patterns like !(a|b) on while it runs, and hardly any text is broken by them.
    ran = run_tool([bash, "-O", "extglob", "-n", "/dev/stdin"], data=data)
    if not ran.code:
        return
    said = _SAID.search(ran.err.decode("utf-8", "replace"))
    if said is None:
        raise CheckError(f"bash ended with code {ran.code}: {ran.complaint}")
    words = f"bash cannot parse this: {one_line(said[2], 200)}."
    remedy = "Close the quote, bracket or block that is open."
    yield Finding(path, int(said[1]), 1, "syntax-error", words, "bash", end_line=int(said[1]), remedy=remedy)


def _claims(path: str, data: bytes) -> bool:
    return not suffix_of(path) and interpreter_of(data) in SHELLS


KIND = Kind("shell", suffixes=frozenset({".sh", ".bash"}), claims=_claims, place=40)
