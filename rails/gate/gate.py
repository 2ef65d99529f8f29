"""The gate itself: a change set in, a verdict out. Start reading here.

Each file goes to the checks that want it; each check sees the old and the new bytes and works on the new
ones without touching the workspace. What counts is what the change brought (``rails.gate.baseline``).
A check that is missing, crashes, hangs or did not look at a file makes the verdict "error", never "pass".
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import CheckError
from rails.core.paths import WorkspacePath
from rails.core.text import one_line
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked, Status, Verdict
from rails.gate import options
from rails.gate.baseline import Text, identity, line_map, mark, split_lines
from rails.gate.checks import CHECKS, FALLBACK, Desk, Job, Outcome, load, wanted
from rails.gate.modes import Modes
from rails.gate.outlines import outlines
from rails.gate.overlay import Overlay
from rails.gate.ruff import plain
from rails.gate.workers import PythonPool

if TYPE_CHECKING:
    from rails.gate.commands import Command

#: A created file that shares this much of its lines with a deleted one is that file, moved.
_MOVED: Final = 0.5
_ASK_FIRST: Final = "it would execute something of this project; read .rails.toml, then run: ai-rails gate --trust"
#: A source line in a finding is cut here; minified files have lines of megabytes.
_SOURCE: Final = 1_000


class Gate:
    """Judges changes of one project. Keeps its tools warm until :meth:`close`.

    ``strict`` makes everything that was not checked count. ``keep_old`` keeps findings that were there
    before the change in the verdict, marked ``new=False``; they never count. ``pool`` are Python workers
    that several gates share; whoever made it closes it. ``trusted`` lets configuration that is a program
    (``eslint.config.js``) run without a human's agreement on record. ``commands`` are checks that execute
    something (:mod:`rails.gate.commands`), beside those of the settings (:mod:`rails.gate.options`); they run on
    a copy, and only when every file could be parsed.
    ``profile`` is where n8n workflows shall go: import, api, publish or strict.
    """

    def __init__(
        self,
        project: Path,
        *,
        strict: bool = False,
        keep_old: bool = False,
        trusted: bool = False,
        profile: str = "import",
        commands: Sequence[Command] = (),
        pool: PythonPool | None = None,
    ) -> None:
        self.project = project.resolve()
        self.strict, self.keep_old, self.commands = strict, keep_old, tuple(commands)
        self._owns_pool = pool is None
        self._closed = False
        self._overlay = Overlay()
        self._turn = threading.RLock()
        self._trusted = trusted
        self._modes = Modes()
        self._desk = Desk(self.project, pool or PythonPool(), trusted=trusted, profile=profile)

    def judge(self, changes: ChangeSet, *, agent: str = "") -> Verdict:
        """Judge proposed changes. The verdict's proposal holds the safe fixes and formatting.

        ``agent`` is the role that proposes them: how much a finding counts may depend on it.
        """
        files = [
            _File(str(change.path), change, before, change.after, change.mode)
            for change, before in _with_baselines(changes)
            if change.after is not None
        ]
        gone = [change for change in changes.changes if change.after is None]
        with self._turn:
            self._desk.fix = self._desk.exclusions_stand = True
            verdict = self._modes.attempted(self._verdict(files, gone, agent=agent), agent)
        return replace(verdict, outlines=outlines(verdict.proposal))

    def check_files(self, paths: Sequence[WorkspacePath], *, base: str | None = None, fix: bool = False) -> Verdict:
        """Judge files as they are on disk.

        ``base`` is a git revision to compare with; without one every finding counts, except that nothing can
        be known to be new of comments and configuration that switch checks off. ``fix`` puts safe
        fixes and formatting into the verdict's proposal (from the bytes on disk to the repaired bytes);
        nothing is written here. Raises UsageError for an unknown revision.
        """
        names = [str(path) for path in paths]
        old: dict[str, bytes | None] = {}
        if base is not None and names:
            from rails.gate import revisions

            old = revisions.contents(self.project, base, names)
        files, not_checked = [], []
        for path in paths:
            read = _read(self.project, path)
            if isinstance(read, str):
                not_checked.append(NotChecked(str(path), "read", read))
            else:
                data, mode = read
                change = FileChange(path, data, data, mode)
                files.append(_File(str(path), change, old.get(str(path)), data, mode, compared=base is not None))
        with self._turn:
            self._desk.fix = fix
            self._desk.exclusions_stand = base is None or not self._reconfigured(base, names)
            verdict = self._verdict(files, [], not_checked)
        repaired = [change for change in verdict.proposal.changes if change.after != change.before]
        return replace(verdict, proposal=ChangeSet(tuple(repaired)))

    def _reconfigured(self, base: str, names: Sequence[str]) -> bool:
        """Whether the configuration of the checks on disk, which counts here, is another one than at ``base``."""
        from rails.gate import revisions, settings, weakening

        now = {name: settings.read_file(self.project / name) for name in weakening.places(names)}
        then = revisions.contents(self.project, base, list(now))
        return any(
            next(weakening.findings(name, then[name], data or None), None)
            for name, data in now.items()
            if (then[name] or b"") != data
        )

    def close(self) -> None:
        """Stop every tool."""
        with self._turn:
            self._closed = True
            if self._owns_pool:
                self._desk.pool.close()
            for resource in self._desk.resources.values():
                resource.close()
            self._desk.resources.clear()
            self._overlay.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _verdict(
        self,
        files: Sequence[_File],
        gone: Sequence[FileChange],
        not_checked: Sequence[NotChecked] = (),
        *,
        agent: str = "",
    ) -> Verdict:
        runs: list[CheckRun] = []
        unset = self._settings()
        self._desk.hits.clear()
        self._desk.created = frozenset(file.path for file in files if file.change.before is None)
        self._desk.gone = frozenset(str(change.path) for change in gone)
        self._desk.modules = self._overlay.show(self._desk.created)
        self._desk.overlay = self._overlay.folder
        by_path = {file.path: file for file in files}
        for name in (*CHECKS, FALLBACK):
            jobs = [file.job for file in files if name in wanted(file.path)]
            if jobs:
                runs += self._run(name, jobs, by_path)
        left = _left_elsewhere(files)
        findings = [finding for file in files for finding in file.judged(left)]
        findings += _taken_away(gone)
        missed = [*unset, *not_checked, *(miss for file in files for miss in file.not_checked)]
        executed, unable, more = self._execute(files, gone, findings)
        findings += executed
        missed += unable
        runs += more
        findings, missed = self._modes.applied(findings, missed, self._desk.options, agent)
        if self.strict:
            missed = [replace(miss, required=True) for miss in missed]
        shown = tuple(sorted((f for f in findings if f.new or self.keep_old), key=_importance))
        proposal = ChangeSet((*(file.proposal() for file in files), *gone))
        return Verdict(
            _status(shown, missed),
            proposal,
            shown,
            tuple(fixed for file in files for fixed in file.fixed),
            tuple(missed),
            tuple(runs),
        )

    def _settings(self) -> list[NotChecked]:
        """Read what people want of the gate; say what cannot be read, or waits for a human's agreement."""
        try:
            found = options.read(self.project)
        except CheckError as error:
            self._desk.options = options.Options()
            return [NotChecked(options.PROJECT_FILE, "settings", str(error))]
        self._desk.options = found
        self._desk.trusted = self._trusted
        return [
            NotChecked(options.PROJECT_FILE, command.name, _ASK_FIRST, command.blocking) for command in found.held_back
        ]

    def _execute(
        self, files: Sequence[_File], gone: Sequence[FileChange], found: Sequence[Finding]
    ) -> tuple[list[Finding], list[NotChecked], list[CheckRun]]:
        """Run the commands that are wanted for these files on a copy of the project."""
        commands = (*self.commands, *self._desk.options.commands)
        if not commands:
            return [], [], []
        from rails.gate.commands import check

        paths = [*(file.path for file in files), *(str(change.path) for change in gone)]
        before: dict[str, bytes | None] = {file.path: file.before for file in files}
        after: dict[str, bytes | None] = {file.path: file.after for file in files}
        for change in gone:
            before[str(change.path)], after[str(change.path)] = change.before, None
        findings: list[Finding] = []
        missed: list[NotChecked] = []
        runs: list[CheckRun] = []
        for command in commands:
            if not any(path.endswith(command.endings) for path in paths):
                continue
            if any(finding.new and _weight(finding) == 0 for finding in found):
                missed.append(NotChecked(".", command.name, "a file does not parse", command.blocking))
                continue
            start = time.perf_counter()
            try:
                findings += check(command, self.project, before, after)
            except CheckError as error:
                missed.append(NotChecked(".", command.name, str(error), command.blocking))
            runs.append(
                CheckRun(command.name, "", round((time.perf_counter() - start) * 1000, 2), "command", len(paths))
            )
        return findings, missed, runs

    def _run(self, name: str, jobs: Sequence[Job], files: dict[str, _File]) -> Sequence[CheckRun]:
        try:
            report = load(name).run(jobs, self._desk)
        except CheckError as error:
            return _all_missed(name, jobs, files, str(error))
        except Exception as error:  # a bug of ours must not look like a clean file
            return _all_missed(name, jobs, files, f"the check crashed: {type(error).__name__}: {one_line(str(error))}")
        answered = set()
        for outcome in report.outcomes:
            files[outcome.path].take(outcome)
            answered.add(outcome.path)
        silent = [job for job in jobs if job.path not in answered]
        _all_missed(name, silent, files, "the check did not answer for this file")
        return report.runs


@dataclass(slots=True)
class _File:
    """One file and everything the checks said about it."""

    path: str
    change: FileChange
    before: bytes | None
    after: bytes
    mode: int
    #: Whether there is something to compare with; ``before`` is ``None`` for a new file, too.
    compared: bool = True
    outcomes: list[Outcome] = field(default_factory=list)
    fixed: list[Fixed] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)

    @property
    def job(self) -> Job:
        return Job(self.path, self.before, self.after)

    def take(self, outcome: Outcome) -> None:
        self.after = outcome.after
        self.outcomes.append(outcome)
        self.fixed += outcome.fixed
        self.not_checked += outcome.not_checked

    def proposal(self) -> FileChange:
        written = self.change.after
        return replace(self.change, after=self.after, proposed=None if self.after == written else written)

    def judged(self, moved: Sequence[tuple[str, str, str]]) -> list[Finding]:
        """Return the findings with ``new`` decided, and the new suppressions."""
        findings = [finding for outcome in self.outcomes for finding in outcome.found]
        if self.before is not None:
            broken = any(outcome.before_is_broken for outcome in self.outcomes)
            findings = mark(self.old, Text(_lines(self.after), findings), old_is_broken=broken, moved=moved)
        if self.compared:
            from rails.gate import suppressions, weakening

            findings += suppressions.new_ones(self.path, self.before, self.after)
            findings += weakening.findings(self.path, self.before, self.after)
        lines = _lines(self.after)
        return [replace(f, source=lines[f.line - 1][:_SOURCE] if 0 < f.line <= len(lines) else "") for f in findings]

    @property
    def old(self) -> Text:
        before = [finding for outcome in self.outcomes for finding in outcome.before]
        return Text(_lines(self.before or b""), before)


def _all_missed(name: str, jobs: Sequence[Job], files: dict[str, _File], reason: str) -> Sequence[CheckRun]:
    for job in jobs:
        files[job.path].not_checked.append(NotChecked(job.path, name, reason))
    return ()


def _status(findings: Sequence[Finding], missed: Sequence[NotChecked]) -> Status:
    if any(finding.new and finding.severity == "error" for finding in findings):
        return "fail"
    return "error" if any(miss.required for miss in missed) else "pass"


_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def _importance(finding: Finding) -> tuple[bool, int, int, str, int, int, str]:
    """Sort: new first, errors first, what breaks the program before what is only untidy, then by place."""
    order = _ORDER[finding.severity]
    return not finding.new, order, _weight(finding), finding.path, finding.line, finding.column, finding.rule


def _weight(finding: Finding) -> int:
    rule = finding.rule
    if rule.endswith("syntax") or rule in ("syntax-error", "conflict-marker", "markdown-fence"):
        return 0
    if rule.startswith(("F", "E9")):
        return 1
    return 3 if rule.startswith(("E", "W", "I", "D")) else 2


def _taken_away(gone: Sequence[FileChange]) -> list[Finding]:
    """Return what deleted files mean for the checks' configuration."""
    if not gone:
        return []
    from rails.gate import weakening

    return [found for change in gone for found in weakening.findings(str(change.path), change.before, None)]


def _left_elsewhere(files: Sequence[_File]) -> list[tuple[str, str, str]]:
    """Return identities of old findings whose lines left their file: code that may have moved to another."""
    left: list[tuple[str, str, str]] = []
    if sum(file.before is not None for file in files) == 0 or len(files) < 2:
        return left
    for file in files:
        old = file.old
        kept = set(line_map(old.lines, _lines(file.after)))
        left += [identity(finding, old.lines) for finding in old.findings if finding.line - 1 not in kept]
    return left


def _with_baselines(changes: ChangeSet) -> list[tuple[FileChange, bytes | None]]:
    """Pair each change with the bytes to compare it with: its own old ones, or a deleted file's it came from."""
    gone = [change.before for change in changes.changes if change.after is None and change.before]
    pairs = []
    for change in changes.changes:
        before = change.before
        if before is None and change.after is not None:
            before = next((old for old in gone if _alike(old, change.after)), None)
        pairs.append((change, before))
    return pairs


def _alike(old: bytes, new: bytes) -> bool:
    if old == new:
        return True
    ours, theirs = Counter(old.splitlines()), Counter(new.splitlines())
    return (ours & theirs).total() >= _MOVED * max(ours.total(), theirs.total(), 1)


def _lines(data: bytes) -> Sequence[str]:
    text = plain(data)
    return split_lines(data.decode("latin-1") if text is None else text)


def _read(project: Path, path: WorkspacePath) -> tuple[bytes, int] | str:
    """Return a file's bytes and permission bits, or why it is not read. Links are not followed."""
    place = project.joinpath(*path.parts)
    try:
        if project not in place.parent.resolve(strict=True).parents and place.parent.resolve() != project:
            return "it is outside the project"
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return "it is not a regular file"
        if facts.st_size > limits.FILE_BYTES:
            return f"it is larger than {limits.FILE_BYTES} bytes"
        return file.read(), stat.S_IMODE(facts.st_mode)
