"""The gate itself: a change set in, a verdict out. Start reading here.

Checks see old and new bytes, not the workspace; only what the change introduced counts. A missing, crashed or hanging
check, or a skipped file, makes the verdict "error", never "pass".
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from msgspec.structs import replace

from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import FAULT, CheckError, Refusal, UsageError
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import one_line
from rails.core.verdict import Author, CheckRun, Evidence, Finding, Fixed, NotChecked, Verdict
from rails.gate.change_findings import of_the_change
from rails.gate.enforcement import Modes
from rails.gate.files import File, change_summaries, left_elsewhere, moved_from
from rails.gate.registry import CHECKS, FALLBACK, checks_for, load_check
from rails.gate.support import settings
from rails.gate.support.advice import name_list
from rails.gate.support.check import CheckContext, CheckReport
from rails.gate.support.read_file import LARGE, read_from_disk
from rails.gate.verdicts import COMMAND, CONFIGURES, importance, rank, status_of

if TYPE_CHECKING:
    from rails.gate.support.warm_processes import PythonPool

_IN_PART: Final = (
    "it is only partly staged, so it is not repaired: stage the rest with git add, "
    "or put it aside with git stash --keep-index, then try again"
)
_BARE: Final = "it is checked without its comments"
_UNPARSED: Final = "a file does not parse"
_GOES_BACK: Final = "it was not run, because the change goes back to the agent anyway"
_ASK_FIRST: Final = "it would execute something of this project; read .rails.toml, then run: ai-rails gate --trust"


class Gate:
    """Judges changes of one project. Keeps its tools warm until :meth:`close`.

    ``strict``: everything unchecked counts. ``pool`` are shared workers, closed by their maker. ``profile`` is where
    n8n workflows run: import, api, publish or strict. ``wait``: commands run even if the change goes back.
    ``settings_agreed``: a person agreed to the change's configuration of checks.
    """

    def __init__(
        self,
        project: Path | str,
        *,
        strict: bool = False,
        profile: str = "import",
        pool: PythonPool | None = None,
        wait: bool = False,
        settings_agreed: bool = False,
    ) -> None:
        self.project = Path(project).resolve()
        self.strict = strict
        self._entered = 0
        self._turn = threading.RLock()
        self._waits = wait
        self._settings_agreed = settings_agreed
        self._approved: Mapping[str, bytes | None] = {}
        self._modes = Modes()
        self._unfinished: dict[WorkspacePath, bytes | None] = {}
        self._context = CheckContext(self.project, pool, profile=profile)

    def judge(
        self,
        changes: ChangeSet,
        *,
        agent: str = "",
        author: Author | None = None,
        base: str | None = None,
        fix: bool = True,
        final: bool = True,
    ) -> Verdict:
        """Judge proposed changes; safe fixes go into the proposal, or with ``fix=False`` are findings.

        ``agent`` is the proposing role; ``author`` what it was asked and shown. ``base``: the revision whose
        configuration counts (default: the disk's). ``final``: no edit of the task follows; else unused code is only
        noted.
        """
        gone = [change for change in changes.changes if change.after is None]
        files = []
        for change in changes.changes:
            if change.after is not None:
                before = moved_from(gone, change.after) if change.before is None else change.before
                files.append(File(str(change.path), change, before, change.after, change.mode))
        with self._turn, self._as_approved(base, files, fix, final) as gate:
            verdict = gate._verdict(files, gone, agent=agent, author=author, goes_back=not self._waits)
            verdict = self._modes.attempted(verdict, agent)
            if not final and len(self._unfinished) < limits.FILES_PER_CHANGE:
                unused = {finding.path for finding in verdict.findings if finding.rule in name_list("unfinished")}
                first = {change.path: change.before for change in changes.changes if str(change.path) in unused}
                self._unfinished = {**first, **self._unfinished}
        return replace(verdict, outlines=change_summaries(verdict.proposal))

    def last_fixes(self, agent: str = "") -> ChangeSet:
        """Return the safe fixes put off by ``final=False``, against the files' first state."""
        now = []
        for path, before in self._unfinished.items():
            read = read_from_disk(self.project, path)
            if not isinstance(read, str):
                now.append(FileChange(path, before, *read))
        self._unfinished = {}
        judged = self.judge(ChangeSet(tuple(now)), agent=agent).proposal.changes
        fixed = [change for change in judged if change.proposed is not None]
        return ChangeSet(tuple(FileChange(one.path, one.proposed, one.after, one.mode) for one in fixed))

    def check_contents(self, contents: Mapping[str, str | bytes | None]) -> Verdict:
        """Judge files by proposed content (``None``: deleted); only what is new counts.

        Nothing is written; the proposal holds safe fixes. Raises UsageError for an invalid path.
        """
        return self.judge(ChangeSet(tuple(self._change(name, content) for name, content in contents.items())))

    def _change(self, name: str, content: str | bytes | None) -> FileChange:
        path = exact_path(name)
        if isinstance(path, Refusal):
            raise UsageError(f"{path} Nothing was checked.")
        is_there = os.path.lexists(self.project.joinpath(*path.parts))
        read = read_from_disk(self.project, path) if is_there else (None, 0o644)
        if isinstance(read, str):
            raise UsageError(f"{one_line(name)} cannot be compared: {read}. Nothing was checked.")
        return FileChange(path, read[0], content.encode() if isinstance(content, str) else content, read[1])

    def check_files(
        self,
        paths: Sequence[WorkspacePath],
        *,
        base: str | None = None,
        fix: bool = False,
        staged: bool = False,
        deleted: Sequence[WorkspacePath] = (),
        missed: Sequence[NotChecked] = (),
        executing: bool = True,
        whole: Collection[WorkspacePath] = (),
    ) -> Verdict:
        """Judge files as on disk or, if ``staged``, in git's index. Nothing is written.

        ``base`` is the revision to compare with; without it, and of ``whole`` (as on disk), every finding counts,
        except suppressions and configuration. ``fix`` puts safe fixes into the proposal. ``deleted`` files of ``base``
        are matched with new ones; ``missed`` could not be checked; without ``executing`` no command runs. Raises
        UsageError for an unknown revision.
        """
        names = [str(path) for path in paths]
        old: dict[str, bytes | None] = {}
        index: dict[str, bytes | None] = {}
        if base is not None or staged:
            from rails.git import revisions

            compared = [str(path) for path in paths if path not in whole]
            old = revisions.contents(self.project, base, [*names, *map(str, deleted)]) if base is not None else {}
            index = revisions.contents(self.project, revisions.INDEX, compared) if staged else {}
        gone = [FileChange(path, was, None) for path in deleted if (was := old.get(str(path)))]
        files = []
        not_checked = [*missed]
        for path, name in zip(paths, names, strict=True):
            read = read_from_disk(self.project, path)
            keep = ""
            content = index.get(name)
            if content is not None:
                there, mode = (None, 0o644) if isinstance(read, str) else read
                keep = "" if there == content else _IN_PART
                read = (content, mode) if len(content) <= limits.FILE_BYTES else LARGE
            if isinstance(read, str):
                not_checked.append(not_read(path, read))
                continue
            data, mode = read
            was = old.get(name)
            is_compared = base is not None and path not in whole
            before = moved_from(gone, data) if was is None else was
            before = before if is_compared else None
            files.append(File(name, FileChange(path, data, data, mode), before, data, mode, is_compared, keep, was))
        with self._turn, self._as_approved(base, files, fix, True) as gate:
            verdict = gate._verdict(files, gone, not_checked, executing=executing, as_asked=True)
        repaired = [one for one in verdict.proposal.changes if one.after not in (None, one.before)]
        return replace(verdict, proposal=ChangeSet(tuple(repaired)))

    def fix_in_steps(
        self, paths: Sequence[WorkspacePath], missed: Sequence[NotChecked], write: Callable[[ChangeSet, int], object]
    ) -> Verdict:
        """Judge files as on disk, after ``write`` got the fixes of some at a time, and how many files that were."""
        fixed: list[Fixed] = []
        given_back: list[NotChecked] = []
        for start in range(0, len(paths), limits.FILES_PER_STEP):
            some = paths[start : start + limits.FILES_PER_STEP]
            verdict = self.check_files(some, fix=True, executing=False)
            write(verdict.proposal, start + len(some))
            fixed += verdict.fixed
            given_back += [miss for miss in verdict.not_checked if miss.check in ("fix", "format")]
        return replace(self.check_files(paths, missed=[*missed, *given_back]), fixed=tuple(fixed))

    @contextlib.contextmanager
    def _as_approved(self, base: str | None, files: Sequence[File], fix: bool, final: bool) -> Iterator[Gate]:
        self._context.fix = fix
        self._context.final = final
        if base is None or not files:
            yield self
            return
        from rails.gate.approved_state import approved_state

        with approved_state(self.project, base, [file.path for file in files]) as state:
            if state is None:
                yield self
                return
            gate = copy.copy(self)
            gate.project, gate._approved = state
            pool = self._context.pool
            gate._context = replace(
                self._context, project=gate.project, home=self.project, shared_pool=pool, known={}, resources={}
            )
            with contextlib.closing(gate):
                yield gate

    @property
    def _home(self) -> Path:
        return self._context.home or self.project

    def close(self) -> None:
        """Stop every tool; a judgement that hangs in one ends too."""
        alone = self._turn.acquire(timeout=limits.GATE_CLOSE_SECONDS)
        try:
            with contextlib.ExitStack() as closing:  # each, whatever another one raises
                for resource in self._context.resources.values():
                    closing.callback(resource.close)
                self._context.resources.clear()
        finally:
            if alone:
                self._turn.release()

    def __enter__(self) -> Self:
        """The last of several exits closes it."""
        self._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered:
            self.close()

    def _verdict(
        self,
        files: Sequence[File],
        gone: Sequence[FileChange],
        not_checked: Sequence[NotChecked] = (),
        *,
        agent: str = "",
        author: Author | None = None,
        executing: bool = True,
        goes_back: bool = False,
        as_asked: bool = False,
    ) -> Verdict:
        unset = self._settings()
        self._context.fix = self._context.fix and (as_asked or self._context.options.fix)
        self._context.hits.clear()
        self._context.created = frozenset(file.path for file in files if file.change.before is None)
        self._context.gone = frozenset(str(change.path) for change in gone)
        runs = self._checked({file.path: file for file in files if not file.is_pointer()})
        left = left_elsewhere(files, gone)
        findings = [found for file in files for found in file.judged(left)]
        findings += of_the_change(self.project, self._home, files, gone, author)
        findings += self._newly_hidden(files)
        told_only = {CONFIGURES} if self._settings_agreed else set[str]()
        if not self._context.final:
            told_only.update(name_list("unfinished"))
        findings = [replace(f, severity="warning") if f.rule in told_only else f for f in findings]
        missed = list(dict.fromkeys((*unset, *not_checked, *(miss for file in files for miss in file.not_checked))))
        if executing:
            held = _UNPARSED if any(rank(found) == 0 for found in findings) else ""
            if goes_back and not held:
                weighed, _ = self._modes.applied(findings, (), self._context.options, agent)
                held = _GOES_BACK if status_of(weighed, ()) == "fail" else ""
            executed, unable, more = self._execute(files, gone, held)
            findings += executed
            missed += unable
            runs += more
        findings, missed = self._modes.applied(findings, missed, self._context.options, agent)
        if self.strict:
            missed = [replace(miss, required=True) for miss in missed]
        return Verdict(
            status_of(findings, missed),
            ChangeSet((*(file.proposal() for file in files), *gone)),
            tuple(sorted(findings, key=importance)),
            tuple(fixed for file in files for fixed in file.fixed),
            tuple(missed),
            tuple(runs),
            evidence=tuple(Evidence(file.path, tuple(file.looked)) for file in files),
        )

    def _newly_hidden(self, files: Sequence[File]) -> Iterator[Finding]:
        from rails.gate.support import suppressions

        bare = []
        for file in files:
            if file.before and file.before != file.after:
                old, new = (suppressions.uncovered(file.path, data) for data in (file.before, file.after))
                if old.excused and new.excused:
                    shown = File(file.path, file.change, old.text, new.text, file.mode, keep=_BARE)
                    bare.append((shown, old.excused, new.excused))
        self._checked({file.path: file for file, _, _ in bare})
        for file, was, now in bare:
            known = {(was.get(found.line), found.rule) for one in file.outcomes for found in one.before}
            for found in (found for one in file.outcomes for found in one.found if found.line in now):
                if (now[found.line], found.rule) not in known and rank(found) < 3 and found.rule != "format":
                    yield replace(found, message=f"An existing comment hides it: {found.message}", fixable=False)

    def _settings(self) -> list[NotChecked]:
        try:
            found = settings.read_gate_settings(self.project, self._context.home)
        except CheckError as error:
            self._context.options = settings.GateSettings()
            return [NotChecked(settings.PROJECT_FILE, "settings", str(error))]
        self._context.options = found
        self._context.trusted = False
        return [
            NotChecked(settings.PROJECT_FILE, command.name, _ASK_FIRST, command.blocking) for command in found.held_back
        ]

    def _execute(
        self, files: Sequence[File], gone: Sequence[FileChange], held: str
    ) -> tuple[list[Finding], list[NotChecked], list[CheckRun]]:
        """Run the commands on the project's copy, with the approved state's configuration; ``held``: why not."""
        from rails.gate.support.known_tools import wanted_tools

        findings: list[Finding] = []
        missed: list[NotChecked] = []
        runs: list[CheckRun] = []
        before = {file.path: file.before if file.compared else file.was for file in files}
        before |= {str(one.path): one.before for one in gone}
        after = {**dict.fromkeys(before), **{file.path: file.after for file in files}}
        names = [*before]
        whole = {file.path for file in files if not file.compared}
        counted = None if whole.issuperset(names) else whole
        wanted = wanted_tools(self.project, [file.path for file in files])
        for command in (*self._context.options.commands, *wanted):
            required = command.blocking and not command.optional
            if not any(path.endswith(command.endings) for path in names):
                continue
            if held:
                missed.append(NotChecked(".", command.name, held, required))
                continue
            from rails.gate.command_checks import findings_of_command

            start = time.perf_counter()
            sides = {**before, **self._approved}, {**after, **self._approved}
            try:
                findings += findings_of_command(command, self._home, *sides, whole=counted)
            except FAULT as error:
                missed.append(NotChecked(".", command.name, _why(error), required))
            took = round((time.perf_counter() - start) * 1000, 2)
            runs.append(CheckRun(command.name, "", took, COMMAND, len(names), command=" ".join(command.argv)))
        return findings, missed, runs

    def _checked(self, files: dict[str, File]) -> list[CheckRun]:
        """Run every check on the files that are of its kind; return what ran."""
        runs: list[CheckRun] = []
        for name in (*CHECKS, FALLBACK):
            jobs = [file.job for file in files.values() if name in checks_for(file.path, file.after)]
            left = dict.fromkeys(job.path for job in jobs)
            why = "the check did not answer for this file"
            try:
                report = load_check(name).run_check(jobs, self._context) if jobs else CheckReport(())
                runs += report.runs
                for outcome in report.outcomes:
                    files[outcome.path].take(outcome, [run.name for run in report.runs] or [name])
                    left.pop(outcome.path, None)
            except FAULT as error:
                why = _why(error)
            for path in left:
                files[path].not_checked.append(NotChecked(path, name, why))
        return runs


def not_read(path: WorkspacePath, why: str) -> NotChecked:
    """Return that a file was not read. What has no check at any size need not be."""
    return NotChecked(str(path), "read", why, why != LARGE or checks_for(str(path)) != [FALLBACK])


def _why(error: BaseException) -> str:
    """Describe an error: our own bug must not look clean."""
    if isinstance(error, CheckError):
        return str(error)
    return f"the check crashed: {type(error).__name__}: {one_line(str(error))}"
