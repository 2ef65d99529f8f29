"""Shell scripts: whether bash can parse them. ``bash -n`` reads a script and runs nothing of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.text import one_line, plain_text
from rails.core.verdict import CheckRun, Finding, NotChecked
from rails.gate.checks.text import marker_findings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult
from rails.processes.programs import run_tool

_PLACES: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_SAID: Final = re.compile(r"^/dev/stdin: line (\d+): (.*)$", re.MULTILINE)


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Look at each script, before and after."""
    del context
    bash = next((place for place in _PLACES if Path(place).is_file()), "")
    start = time.perf_counter()
    outcomes = tuple(_outcome(job, bash) for job in jobs)
    duration = round((time.perf_counter() - start) * 1000, 2)
    return CheckReport(outcomes, (CheckRun("bash", "", duration, "syntax", len(jobs)),) if bash else ())


def _outcome(job: CheckJob, bash: str) -> CheckResult:
    try:
        if not bash:
            raise CheckError("bash is not installed")
        old = tuple(_findings(job.path, job.before, bash)) if job.before is not None else ()
        broken = any(finding.rule == "syntax-error" for finding in old)
        return CheckResult(job.path, job.after, tuple(_findings(job.path, job.after, bash)), old, broken)
    except CheckError as error:
        return CheckResult(job.path, job.after, not_checked=(NotChecked(job.path, "shell", str(error), False),))


def _findings(path: str, data: bytes, bash: str) -> Iterator[Finding]:
    """Yield bash's first complaint, and what belongs in no text. Raises CheckError."""
    text = plain_text(data)
    if text is None:
        raise CheckError("it is not UTF-8 text")
    yield from marker_findings(path, text)
    ran = run_tool([bash, "-n", "/dev/stdin"], data=data)
    if ran.code == 0:
        return
    said = _SAID.search(ran.err.decode("utf-8", "replace"))
    if said is None:
        raise CheckError(f"bash ended with code {ran.code}: {one_line(ran.complaint, 200)}")
    words = f"bash cannot parse this: {one_line(said[2], 200)}."
    remedy = "Close the quote, bracket or block that is open."
    yield Finding(path, int(said[1]), 1, "syntax-error", words, "bash", end_line=int(said[1]), remedy=remedy)
