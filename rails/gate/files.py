"""The files of a change during the checks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.changes import ChangeSet, FileChange
from rails.core.verdict import Finding, Fixed, NotChecked
from rails.gate.baseline import Identity, Known, TextFindings, identity, lines_of, new_findings
from rails.gate.registry import CHECKS
from rails.gate.support.check import CheckJob, CheckResult

#: A created file of whose lines a deleted one has this share is that file, moved, or a part of it.
_MOVED: Final = 0.5
#: Of fewer lines than so many a file is no part: the deleted one has to have as few.
_PART: Final = 10
#: A source line in a finding is cut here; minified files have lines of megabytes.
_SOURCE: Final = 1_000
#: A pointer of Git LFS (its specification, version 1; "hawser" before): lines of a key and a value.
_POINTER: Final = re.compile(
    rb"version https://(?:git-lfs|hawser)\.github\.com/spec/v\d\n(?:[a-z\d.-]+ [^\n]{1,200}\n){2,9}"
)


class File(Struct):
    """A file and its checks' results."""

    path: str
    change: FileChange
    before: bytes | None
    after: bytes
    mode: int
    #: Whether there is something to compare with; ``before`` is ``None`` for a new file, too.
    compared: bool = True
    #: Why nothing of it may be repaired; "" where it may be.
    keep: str = ""
    #: What it was for a command, which sees more than this file, where it is not compared itself.
    was: bytes | None = None
    outcomes: list[CheckResult] = field(default_factory=list)
    fixed: list[Fixed] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    looked: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if _POINTER.fullmatch(self.before or b""):
            self.before = None

    @property
    def job(self) -> CheckJob:
        """The file as a check receives it."""
        return CheckJob(self.path, self.before, self.after, self.keep)

    def is_pointer(self) -> bool:
        """Return whether it is a Git LFS pointer; if so, note it."""
        if not _POINTER.fullmatch(self.after):
            return False
        self.not_checked.append(
            NotChecked(self.path, "read", "it is a pointer of Git LFS: its content is not here", required=False)
        )
        return True

    def take(self, outcome: CheckResult, ran: Iterable[str] = ()) -> None:
        """Keep a result; the next check sees its text."""
        missed = {miss.check for miss in outcome.not_checked}
        self.looked.update((name, None) for name in outcome.ran or ran if name not in missed)
        self.after = outcome.after
        self.outcomes.append(outcome)
        self.fixed += outcome.fixed
        self.not_checked += outcome.not_checked

    def proposal(self) -> FileChange:
        """The change with the checks' repairs."""
        written = self.change.after
        return replace(self.change, after=self.after, proposed=None if self.after == written else written)

    def judged(self, moved: Moved) -> list[Finding]:
        """Return the new findings, with lines."""
        findings = [finding for outcome in self.outcomes for finding in outcome.found]
        lines = lines_of(self.after)
        if self.before is not None or (self.compared and moved.findings):
            broken = any(outcome.before_is_broken for outcome in self.outcomes)
            now = TextFindings(lines, findings)
            findings = new_findings(self.old, now, old_is_broken=broken, moved=moved.findings)
        if self.keep and any(found.fixable for found in findings):
            self.not_checked.append(NotChecked(self.path, "fix", self.keep, required=False))
        if self.compared:
            from rails.gate.support import suppressions

            findings += suppressions.new_ones(self.path, self.before, self.after, moved.comments)
        return [replace(f, source=lines[f.line - 1][:_SOURCE] if 0 < f.line <= len(lines) else "") for f in findings]

    @property
    def old(self) -> TextFindings:
        """The old text and its findings."""
        before = [finding for outcome in self.outcomes for finding in outcome.before]
        return TextFindings(lines_of(self.before or b""), before)


class Moved(NamedTuple):
    """Findings and suppressions that left their file."""

    findings: Known[Identity]
    comments: Counter[tuple[str, str]]


def left_elsewhere(files: Sequence[File], gone: Sequence[FileChange]) -> Moved:
    """Return the findings and suppressions whose lines left their file."""
    moved = Moved(defaultdict(deque), Counter())
    if len(files) + len(gone) < 2:
        return moved
    from rails.core.diff import line_map
    from rails.gate.support import suppressions

    for change in gone:
        moved.comments.update(suppressions.left_out(str(change.path), change.before or b"", b""))
    for file in files:
        moved.comments.update(suppressions.left_out(file.path, file.before or b"", file.after))
        old = file.old
        kept = set(line_map(old.lines, lines_of(file.after))) if old.findings else ()
        for found in old.findings:
            if found.line - 1 not in kept:
                moved.findings[identity(found, old.lines)].append(found)
    return moved


def moved_from(gone: Iterable[FileChange], data: bytes) -> bytes | None:
    """Return the content of the deleted file that a new one is, moved, or is a part of, or None."""
    lines = Counter(data.splitlines())
    found = []
    for change in gone:
        old = Counter((change.before or b"").splitlines())
        shared = (old & lines).total()
        least = lines.total() if lines.total() >= _PART else max(lines.total(), old.total(), 1)
        if shared >= _MOVED * least:
            found.append((shared, -old.total(), change.before))
    return max(found)[2] if found else None


if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary

#: An outline helps to read; a change of very many files is not read one by one.
_MOST: Final = 20


def change_summaries(proposal: ChangeSet) -> tuple[ChangeSummary, ...]:
    """Return the outlines, for kinds that have one."""
    makers = [kind.summary for kind in CHECKS.values() if kind.summary is not None]
    made = (make(change) for change in proposal.changes for make in makers)
    return tuple(islice((outline for outline in made if outline is not None), _MOST))
