"""What the gate says about a change set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary

Severity = Literal["error", "warning", "info"]
Status = Literal["pass", "fail", "error"]


@dataclass(frozen=True, slots=True)
class Author:
    """Whose change it is: the task's words, what runs printed, and whether the role changes only tests it was given."""

    task: str = ""
    outputs: tuple[str, ...] = ()
    given_tests_only: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at one place. Lines and columns are 1-based and count characters; 0 means unknown.

    ``new`` is whether this change set introduced it: only new findings count. ``worse_than`` is what it counted before
    (complexity, length) where the change made it grow: it counts as a new one. ``remedy`` is the rule's
    own one-sentence advice. ``json_path`` is set where the place is inside a JSON document. ``source`` is
    the line of text the finding is on, for showing.
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

    @property
    def with_remedy(self) -> str:
        """What was found and, where that does not say it already, the advice, as sentences."""
        if not self.remedy or self.remedy in self.message:
            return self.message
        return f"{self.message.rstrip('.')}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something the gate repaired for the agent: the rule or formatter, and how many places."""

    path: str
    rule: str
    tool: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A check that did not run on a file, and why. ``required`` ones keep the verdict from "pass"."""

    path: str
    check: str
    reason: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check that ran: its tool's version and how long it took.

    ``config`` says whose rules it used and where they came from, ``files`` on how many files it ran and
    ``cached`` how many of its answers were already known.
    """

    name: str
    version: str
    duration_ms: float
    config: str = ""
    files: int = 0
    cached: int = 0
    #: The command that was started, "" where it ran in our own process; of this machine, so not in any log.
    command: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which checks looked at a file."""

    path: str
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """pass: every required check ran and found nothing new. fail: new findings. error: something
    required could not be checked; this is never the agent's fault and never a pass.

    ``proposal`` is the change set with safe fixes and formatting applied: what a human is asked about.
    ``outlines`` say in words what it means in files whose lines say little (n8n workflows); ``evidence`` says of each
    file which checks looked at it.
    """

    status: Status
    proposal: ChangeSet
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    outlines: tuple[ChangeSummary, ...] = field(default=(), repr=False, compare=False)
    evidence: tuple[Evidence, ...] = field(default=(), repr=False, compare=False)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The new findings that keep the verdict from "pass"."""
        return tuple(f for f in self.findings if f.new and f.severity == "error")

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings that were there before and whose count the change made grow."""
        return tuple(f for f in self.findings if f.worse_than is not None)


def merged(one: Verdict, other: Verdict) -> Verdict:
    """Return what two verdicts about different files say together, without what they propose."""
    status = next(status for status in _WORST if status in (one.status, other.status))
    runs: dict[str, CheckRun] = {}
    for run in (*one.checks, *other.checks):
        was = runs.get(run.name)
        runs[run.name] = run if was is None else _added(was, run)
    return Verdict(
        status,
        ChangeSet(()),
        one.findings + other.findings,
        one.fixed + other.fixed,
        tuple(dict.fromkeys(one.not_checked + other.not_checked)),
        tuple(runs.values()),
        evidence=one.evidence + other.evidence,
    )


_WORST: Final[tuple[Status, ...]] = ("fail", "error", "pass")


def _added(one: CheckRun, other: CheckRun) -> CheckRun:
    ms = round(one.duration_ms + other.duration_ms, 2)
    return replace(one, duration_ms=ms, files=one.files + other.files, cached=one.cached + other.cached)
