"""The files of a change during the checks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.changes import ChangeSet, FileChange
from rails.core.lazy_pattern import lazy
from rails.core.verdict import Finding, Fixed, NotChecked
from rails.gate.baseline import TextFindings, count_in, identity, lines_of, mark_new, nameless
from rails.gate.registry import CHECKS
from rails.gate.support.check import CheckJob, CheckResult

#: A created file that shares this much of its lines with a deleted one is that file, moved.
_MOVED: Final = 0.5
#: From so many lines on, one that is nearly all in a deleted file is a part of it.
_PART: Final = 10
#: A source line in a finding is cut here; minified files have lines of megabytes.
_SOURCE: Final = 1_000
#: Rules that count: how complex, how deep, how long, how many. More than before is worse than before.
_COUNTED: Final = lazy(r"C901|PLR09\d\d|PLR1702|complexity|^max-|sonarjs/cognitive|more-findings|noExcessive")


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

    def judged(self, moved: Moved, *, keep_old: bool) -> list[Finding]:
        """Return new findings with lines; with ``keep_old`` all, marked."""
        findings = [finding for outcome in self.outcomes for finding in outcome.found]
        lines = lines_of(self.after)
        if self.before is not None or (self.compared and moved.findings):
            broken = any(outcome.before_is_broken for outcome in self.outcomes)
            now = TextFindings(lines, findings)
            judged = mark_new(self.old, now, old_is_broken=broken, moved=moved.findings)
            findings = [found for found in _grown(judged, lines, self.old, moved.counted) if found.new or keep_old]
        if (keep := self.job.keep) and any(found.new and found.fixable for found in findings):
            self.not_checked.append(NotChecked(self.path, "fix", keep, required=False))
        if self.compared:
            from rails.gate.support import suppressions

            findings += suppressions.new_ones(self.path, self.before, self.after, moved.comments)
        return [replace(f, source=lines[f.line - 1][:_SOURCE] if 0 < f.line <= len(lines) else "") for f in findings]

    @property
    def old(self) -> TextFindings:
        """The old text and its findings."""
        before = [finding for outcome in self.outcomes for finding in outcome.before]
        return TextFindings(lines_of(self.before or b""), before)


_Counts = defaultdict[tuple[str, str, str], deque[Finding]]


def _grown(findings: Iterable[Finding], lines: Sequence[str], old: TextFindings, moved: _Counts) -> Iterator[Finding]:
    """Yield findings, new where the count exceeds that of the same, moved or edited line."""
    counts: _Counts = defaultdict(deque)
    for found in old.findings:
        if _COUNTED.search(found.rule):
            counts[identity(found, old.lines)].append(found)
    known = [(found, None if found.new else _popped(identity(found, lines), counts, moved)) for found in findings]
    for found, same in known:
        kind = nameless(found, lines) if not found.new and same is None and _COUNTED.search(found.rule) else None
        edited = (count_in(one.message) for some in counts.values() for one in some if nameless(one, old.lines) == kind)
        was = same if same is not None else max(edited, default=None)
        if was is not None and count_in(found.message) > was:
            words = f"worse than before ({was}): {found.message}"
            yield replace(found, new=True, worse_than=was, message=words, remedy=f"Bring it back to {was} or below.")
        else:
            yield found


def _popped(key: tuple[str, str, str], *places: _Counts) -> int | None:
    return next((count_in(counts[key].popleft().message) for counts in places if counts.get(key)), None)


class Moved(NamedTuple):
    """Findings and suppressions that left their file."""

    findings: Counter[tuple[str, str, str]]
    comments: Counter[tuple[str, str]]
    counted: _Counts


def left_elsewhere(files: Sequence[File], gone: Sequence[FileChange]) -> Moved:
    """Return the findings and suppressions whose lines left their file."""
    moved = Moved(Counter(), Counter(), defaultdict(deque))
    if len(files) + len(gone) < 2:
        return moved
    from rails.core.diff import line_map
    from rails.gate.support import suppressions

    sides = [(file.path, file.before, file.after) for file in files if file.before]
    for path, before, after in (*sides, *((str(change.path), change.before, b"") for change in gone)):
        moved.comments.update(suppressions.left_out(path, before or b"", after or b""))
    for file in (file for file in files if file.before and file.old.findings):
        old = file.old
        kept = set(line_map(old.lines, lines_of(file.after)))
        for found in (found for found in old.findings if found.line - 1 not in kept):
            moved.findings[key := identity(found, old.lines)] += 1
            if _COUNTED.search(found.rule):
                moved.counted[key].append(found)
    return moved


def with_baselines(changes: ChangeSet) -> list[tuple[FileChange, bytes | None]]:
    """Pair each change with its old bytes, or those of the deleted file it came from."""
    gone = [change.before for change in changes.changes if change.after is None and change.before]
    pairs = []
    for change in changes.changes:
        before = change.before
        if before is None and change.after is not None:
            before = moved_from(gone, change.after)
        pairs.append((change, before))
    return pairs


def moved_from(gone: Iterable[bytes], data: bytes) -> bytes | None:
    """Return the deleted content that a new file contains or is part of, or None."""
    found = [(share, old) for old in gone if (share := _shared(old, data))]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _shared(old: bytes, new: bytes) -> float:
    ours = Counter(old.splitlines())
    theirs = Counter(new.splitlines())
    shared = (ours & theirs).total()
    is_moved = old == new or shared >= _MOVED * max(ours.total(), theirs.total(), 1)
    is_part = theirs.total() >= _PART and shared >= _MOVED * theirs.total()
    return shared / max(ours.total(), 1) + is_moved if is_moved or is_part else 0


if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary

#: An outline helps to read; a change of very many files is not read one by one.
_MOST: Final = 20


def change_summaries(proposal: ChangeSet) -> tuple[ChangeSummary, ...]:
    """Return the outlines, for kinds that have one."""
    makers = [kind.summary for kind in CHECKS.values() if kind.summary is not None]
    made = (make(change) for change in proposal.changes for make in makers)
    return tuple(islice((outline for outline in made if outline is not None), _MOST))
