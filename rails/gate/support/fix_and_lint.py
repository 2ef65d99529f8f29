"""Runs a source file through its tools: parser, safe fixes, the project's formatter, linters.

The order matters: a file that does not parse is not repaired, and what a fix or the formatter removes is not
reported. Only findings of the change are fixed. A :class:`Language` has the tools.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import copy_context
from itertools import compress
from typing import Final, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.text import Decoded, decode_text, why_not_text
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate.baseline import TextFindings, first_difference, lines_of, split_lines, which_are_new, without_numbers
from rails.gate.support.advice import name_list
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, NotNeededError
from rails.gate.support.diagnostics import MORE, SYNTAX, Diagnostic, apply_fixes


class Language(Protocol):
    """The tools for one language. Each method may raise CheckError, also NotNeededError."""

    parser: str
    linter: str
    #: A second linter's name, or "".
    also: str = ""

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version ("" if it is not there), where its rules are from, and its command, for reports."""

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return the syntax error, if any."""

    def excused(self, text: str) -> bool:
        """Return whether a comment excuses the file."""

    def lint(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """Return the linter's findings."""

    def formatter(self, path: str, /) -> str:
        """Return the program behind :meth:`format`, for reports."""

    def format(self, path: str, text: str) -> str:
        """Return ``text`` formatted."""

    def other_format(self, _path: str, /) -> str:
        """Return the reason why formatting is only noted, or ""."""
        return ""

    def look_also(self, _path: str, _text: str, /) -> tuple[Finding, ...]:
        """Return the findings of the second linter, ``also``."""
        return ()

    def left_out(self, _path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored configuration: check and reason."""
        return ()


Told = tuple[Finding, ...]
T = TypeVar("T")

#: Fix-and-format rounds. One is enough for nearly every file; a pair of rules can undo each other for ever.
_ROUNDS: Final = 4
#: Rounds of fixes inside one of these: fixes that overlap wait for the next.
_FIX_ROUNDS: Final = 10

#: Rules whose findings mean that the program no longer works; a fix that introduces one is taken back.
_BREAKS: Final = frozenset(
    {
        "F821",
        "F822",
        "F823",
        "no-undef",
        "no-const-assign",
        SYNTAX,
    }
)


class FixAndLint(Struct):
    """One file on its way through the tools."""

    job: CheckJob
    tools: Language
    context: CheckContext
    fixed: list[Fixed] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    #: The tools that answered, with milliseconds.
    took: dict[str, float] = field(default_factory=dict)
    decoded: Decoded = field(default_factory=lambda: Decoded(""))
    #: The old text, if it could be compared, and the linter's findings in it.
    old: str = ""
    known: Told = ()
    before_is_broken: bool = False

    def outcome(self) -> CheckResult:
        """Run all steps."""
        before, after = self.job.before, self.job.after
        tools = self.tools
        was: Finding | None = None
        if before is not None:
            with contextlib.suppress(CheckError):
                was = self._syntax(before)
        broken = self._try(tools.parser, lambda: self._syntax(after))
        if broken and was:
            self._miss(tools.linter, "the file does not parse, as before this change")
        if broken:
            return self._result(after, (broken,), (was,) if was else ())
        if self.not_checked:
            return self._result(after)
        decoded = decode_text(after)
        if decoded is None:
            self._miss(tools.linter, why_not_text(after))
            return self._result(after)
        self.decoded = decoded
        if before is not None:
            old = decode_text(before) or Decoded("")
            self.before_is_broken = self._unreadable(before) or tools.excused(old.text)
            if not self.before_is_broken:
                self.old = old.text
                self.known = self._found(old.text)
        return self._finish(self._repaired() if self._may_write else decoded.text)

    def _finish(self, text: str) -> CheckResult:
        tools = self.tools
        if tools.excused(text):
            self._miss(tools.linter, "a comment excuses the whole file from it")
        findings = self._found(text)
        earlier = self.known
        noted = tools.other_format(self.job.path)
        if noted:
            self.not_checked.append(
                NotChecked(
                    ".",
                    self._formatter,
                    noted,
                    required=False,
                )
            )
        if noted or not self._may_write:
            findings += self._unformatted(text, noted)
        if tools.also:
            findings += self._also(text, findings)
            earlier += self._also(self.old, earlier) if self.old else ()
        for check, reason in tools.left_out(self.job.path):
            self._miss(check, reason, required=False)
        return self._result(self.decoded.encode(text), findings, earlier)

    def _result(self, data: bytes, found: Told = (), before: Told = ()) -> CheckResult:
        missed = {miss.check for miss in self.not_checked}
        return CheckResult(
            self.job.path,
            data,
            found,
            before,
            self.before_is_broken,
            tuple(self.fixed),
            tuple(self.not_checked),
            tuple(name for name in self.took if name not in missed),
        )

    @property
    def _formatter(self) -> str:
        return self.tools.formatter(self.job.path)

    @property
    def _may_write(self) -> bool:
        return self.context.fix and not self.job.keep

    # -- repairs ----------------------------------------------------------------------------------

    def _repaired(self) -> str:
        """Fix and format until stable; return the agent's text if that does harm."""
        text = self.decoded.text
        if any(found.rule == MORE for found in self._lint(text)):
            self._miss("fix", "it has more findings than are listed, so nothing of it was repaired", required=False)
            return text
        seen = {text}
        for turn in range(_ROUNDS):
            fixed = self._fixes(text)
            if turn and fixed == text:
                break  # it is what the formatter wrote
            formatted = self._formatted(fixed)
            if formatted == text:
                break
            text = formatted
            if text in seen:
                self._miss("format", "fixes and formatter undo each other; the text is as the formatter left it")
                break
            seen.add(text)
        # Every fix was parsed when made; here the whole is.
        if harm := self._harm(self.decoded.text, text):
            self.fixed.clear()
            self._miss("fix", f"{harm}, so the text is as the agent wrote it")
            return self.decoded.text
        return text

    def _fixes(self, text: str) -> str:
        counts: Counter[str] = Counter()
        for _ in range(_FIX_ROUNDS):
            text, applied = self._applied(text, self._new_and_safe(text))
            if not applied:
                break
            counts.update(diagnostic.rule for diagnostic in applied)
        self.fixed += [Fixed(self.job.path, rule, self.tools.linter, count) for rule, count in sorted(counts.items())]
        return text

    def _new_and_safe(self, text: str) -> list[Diagnostic]:
        kept = () if self.context.final else name_list("unfinished")
        safe = [one for one in self._lint(text) if one.safe and one.edits and one.rule not in kept]
        if self.job.before is None or not safe:
            return safe
        found = self._found(text)
        sides = TextFindings(lines_of(self.job.before), self.known), TextFindings(split_lines(text), found)
        fresh = which_are_new(*sides, old_is_broken=self.before_is_broken)
        places = {(one.rule, one.line, one.column) for one in compress(found, fresh)}
        return [one for one in safe if (one.rule, *one.start) in places]

    def _applied(self, text: str, chosen: list[Diagnostic]) -> tuple[str, list[Diagnostic]]:
        """Apply the fixes that do no harm together; the others wait for the next round.

        Two fixes may be right alone and wrong together: if a used name is imported twice, each removes one import.
        Halving finds such a group; all others are applied.
        """
        good = list[Diagnostic]()
        parts = [chosen]
        result = (text, list[Diagnostic]())
        while parts:
            part = parts.pop()
            made, applied = apply_fixes(text, [*good, *part])
            if made != text and not self._harm(text, made):
                good += part
                result = (made, applied)
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return result

    def _harm(self, text: str, made: str) -> str:
        """Say what keeps a repaired text from working that did not keep ``text`` from it, or ""."""
        if made == text:
            return ""
        if self._unreadable(self.decoded.encode(made)):
            return "a fix or the formatter broke the file"
        sides = (self._lint(text), self._lint(made))
        was, now = (Counter((one.rule, without_numbers(one.message)) for one in side) for side in sides)
        rules = sorted({rule for rule, _ in now - was if rule in _BREAKS})
        return f"a fix brought {', '.join(rules)}" if rules else ""

    def _formatted(self, text: str) -> str:
        if self.tools.other_format(self.job.path):
            return text
        wanted = self._wanted(text)
        if wanted != text and not any(fixed.rule == "format" for fixed in self.fixed):
            self.fixed.append(Fixed(self.job.path, "format", self._formatter))
        return wanted

    def _wanted(self, text: str) -> str:
        """Return ``text`` formatted; a file that was not formatted before stays as it is, whatever is edited in it."""
        formatted = self._format(text)
        before = self.job.before
        if formatted == text or before is None:
            return formatted
        old = None if self._unreadable(before) else decode_text(before)
        return formatted if old and self._format(old.text) == old.text else text

    def _format(self, text: str) -> str:
        formatted = self._try(
            self._formatter,
            lambda: self.tools.format(self.job.path, text),
        )
        return text if formatted is None else formatted

    def _unformatted(self, text: str, noted: str) -> Told:
        wanted = self._wanted(text)
        if wanted == text:
            return ()
        name = self._formatter
        first = first_difference(split_lines(text), split_lines(wanted))
        words = f"The file is not formatted as {name} would."
        found = Finding(
            self.job.path,
            first,
            1,
            "format",
            words,
            name,
            "info" if noted else "error",
        )
        return (replace(found, fixable=not noted, end_line=first),)

    # -- tools ------------------------------------------------------------------------------------

    def _syntax(self, data: bytes) -> Finding | None:
        path = self.job.path
        return self.context.once(
            (self.tools.parser, path, data),
            lambda: self.tools.syntax(path, data),
        )

    def _unreadable(self, data: bytes) -> bool:
        try:
            return self._syntax(data) is not None
        except CheckError:
            return True

    def _lint(self, text: str) -> tuple[Diagnostic, ...]:
        return (
            self._try(
                self.tools.linter,
                lambda: self.tools.lint(self.job.path, text),
            )
            or ()
        )

    def _found(self, text: str) -> Told:
        return tuple(one.as_finding(self.job.path, self.tools.linter) for one in self._lint(text))

    def _also(self, text: str, told: Told) -> Told:
        """Return the second linter's findings but those that the first has told (same rule on the same line)."""
        found = (
            self._try(
                self.tools.also,
                lambda: self.tools.look_also(self.job.path, text),
            )
            or ()
        )
        known = {(one.rule, one.line) for one in told}
        return tuple(one for one in found if (one.rule, one.line) not in known)

    def _try(self, check: str, work: Callable[[], T]) -> T | None:
        """Return what a tool says, timed; None if it does not look, which is noted."""
        start = time.perf_counter()
        try:
            made = work()
        except CheckError as reason:
            if reason.args:
                self._miss(
                    check,
                    str(reason),
                    required=not isinstance(reason, NotNeededError),
                )
            return None
        self.took[check] = self.took.get(check, 0) + (time.perf_counter() - start) * 1000
        return made

    def _miss(self, check: str, reason: str, *, required: bool = True) -> None:
        miss = NotChecked(
            self.job.path,
            check or "format",
            reason,
            required,
        )
        if miss not in self.not_checked:
            self.not_checked.append(miss)


def report_of(tools: Language, jobs: Sequence[CheckJob], context: CheckContext, threads: int = 1) -> CheckReport:
    """Return every file's result, on so many threads, and which tools ran."""
    files = [FixAndLint(job, tools, context) for job in jobs]
    outcomes = _outcomes(files, threads)
    runs = []
    for name in dict.fromkeys(name for file in files for name in file.took):
        version, origin, command = tools.about(name)
        took = round(sum(file.took.get(name, 0) for file in files), 2)
        if version:  # none has what is not installed
            runs.append(
                CheckRun(
                    name,
                    version,
                    took,
                    origin,
                    len(jobs),
                    context.hits[name],
                    command,
                )
            )
    return CheckReport(tuple(outcomes), tuple(runs))


def _outcomes(files: Sequence[FixAndLint], threads: int) -> list[CheckResult]:
    if len(files) < 2:
        return [file.outcome() for file in files]
    from concurrent.futures import ThreadPoolExecutor  # which imports logging

    pool = ThreadPoolExecutor(threads)
    try:
        waiting = [pool.submit(copy_context().run, file.outcome) for file in files]
        return [one.result() for one in waiting]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
