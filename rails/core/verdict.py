"""The gate's verdict on a change set."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rails.core.change_summary import ChangeSummary
from rails.core.changes import ChangeSet

Severity = Literal["error", "warning", "info"]
#: Its first word is how an unknown one of a log is read: never as a pass.
Status = Literal["error", "fail", "pass"]
#: "breaks" is refused, "style" a person may accept, "note" is shown only.
Weight = Literal["breaks", "style", "note"]


class Author(Struct, frozen=True):
    """Whose change: the task's words; whether the role changes only given tests; the files that it wrote anew."""

    task: str = ""
    given_tests_only: bool = False
    rewritten: frozenset[str] = frozenset()


class Finding(Struct, frozen=True):
    """One problem at one place. Lines and columns count from 1, in characters; 0: unknown.

    ``new``: of this change set; only these count. ``worse_than``: its count before (complexity, length) if the change
    made it grow: new, too. ``remedy`` is the rule's advice, ``json_path`` the place in JSON, ``source`` the line. The
    gate sets ``weight`` (``rails/gate/weights.toml``).
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    tool: str
    severity: Severity = "error"
    end_line: int = 0
    end_column: int = 0
    fixable: bool = False
    new: bool = True
    remedy: str = ""
    json_path: str = ""
    source: str = ""
    worse_than: int | None = None
    weight: Weight = "breaks"

    @property
    def with_remedy(self) -> str:
        """Message and, if it adds something, advice, as sentences."""
        if not self.remedy or self.remedy in self.message:
            return self.message
        return f"{self.message.rstrip('.')}. {self.remedy}"


class Fixed(Struct, frozen=True):
    """A repair: rule or formatter, and number of places."""

    path: str
    rule: str
    tool: str
    count: int = 1


class NotChecked(Struct, frozen=True):
    """A check that did not run, and why. ``required`` ones prevent "pass"."""

    path: str
    check: str
    reason: str
    required: bool = True


class CheckRun(Struct, frozen=True):
    """A check that ran: version, duration, rules' origin, number of files and of cached answers."""

    name: str
    version: str
    duration_ms: float
    config: str = ""
    files: int = 0
    cached: int = 0
    #: The command that was started, "" where it ran in our own process; of this machine, so not in any log.
    command: str = ""


class Evidence(Struct, frozen=True):
    """The checks that looked at a file."""

    path: str
    checks: tuple[str, ...]


class Verdict(Struct, frozen=True):
    """pass: every required check ran and found nothing new. fail: new findings. error: something required could not be
    checked; never the agent's fault, never a pass.

    ``proposal``: the change set with safe fixes and formatting, which a human is asked about. ``outlines``: changes in
    words (n8n); ``evidence``: by file.
    """

    status: Status
    proposal: ChangeSet
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    outlines: tuple[ChangeSummary, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The new findings that prevent "pass"."""
        return tuple(f for f in self.findings if f.new and f.severity == "error")

    @property
    def breaks(self) -> tuple[Finding, ...]:
        """The blocking findings that nobody may accept."""
        return tuple(f for f in self.blocking if f.weight == "breaks")

    @property
    def style(self) -> tuple[Finding, ...]:
        """The blocking findings that a person may accept; unattended and in CI they count."""
        return tuple(f for f in self.blocking if f.weight == "style")

    @property
    def worse(self) -> tuple[Finding, ...]:
        """Old findings whose count grew."""
        return tuple(f for f in self.findings if f.worse_than is not None)
