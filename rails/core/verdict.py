"""What the gate says about a change set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rails.core.changes import ChangeSet

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary

Severity = Literal["error", "warning", "info"]
Status = Literal["pass", "fail", "error"]
#: "breaks" is refused, "style" a person may accept, "note" is shown only.
Weight = Literal["breaks", "style", "note"]


class Author(Struct, frozen=True):
    """Whose change it is: the task's words, and whether the role changes only tests it was given."""

    task: str = ""
    given_tests_only: bool = False


class Finding(Struct, frozen=True):
    """One problem at one place. Lines and columns are 1-based and count characters; 0 means unknown.

    ``new`` is whether this change set introduced it: only new findings count. ``worse_than`` is what it counted before
    (complexity, length) where the change made it grow: it counts as a new one. ``remedy`` is the rule's
    own one-sentence advice. ``json_path`` is set where the place is inside a JSON document. ``source`` is
    the line of text the finding is on, for showing. ``weight`` is set by the gate (``rails/gate/weights.toml``).
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
        """What was found and, where that does not say it already, the advice, as sentences."""
        if not self.remedy or self.remedy in self.message:
            return self.message
        return f"{self.message.rstrip('.')}. {self.remedy}"


class Fixed(Struct, frozen=True):
    """Something the gate repaired for the agent: the rule or formatter, and how many places."""

    path: str
    rule: str
    tool: str
    count: int = 1


class NotChecked(Struct, frozen=True):
    """A check that did not run on a file, and why. ``required`` ones keep the verdict from "pass"."""

    path: str
    check: str
    reason: str
    required: bool = True


class CheckRun(Struct, frozen=True):
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
    command: str = ""


class Evidence(Struct, frozen=True):
    """Which checks looked at a file."""

    path: str
    checks: tuple[str, ...]


class Verdict(Struct, frozen=True):
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
    outlines: tuple[ChangeSummary, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The new findings that keep the verdict from "pass"."""
        return tuple(f for f in self.findings if f.new and f.severity == "error")

    @property
    def breaks(self) -> tuple[Finding, ...]:
        """The blocking findings that nobody may accept: they are corrected or go."""
        return tuple(f for f in self.blocking if f.weight == "breaks")

    @property
    def style(self) -> tuple[Finding, ...]:
        """The blocking findings that a person at the keyboard may accept; unattended and in CI they count, too."""
        return tuple(f for f in self.blocking if f.weight == "style")

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings that were there before and whose count the change made grow."""
        return tuple(f for f in self.findings if f.worse_than is not None)
