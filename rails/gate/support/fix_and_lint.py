"""Runs a source file through its tools: parser, safe fixes, the project's formatter, linters.

The order matters: a file that does not parse is not repaired, and what a fix or the formatter removes is not
reported. Only findings of the change are fixed. A :class:`Language` has the tools.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import Final, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.text import Decoded, decode_text, why_not_text
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate.baseline import TextFindings, first_difference, lines_of, which_are_new, without_numbers
from rails.gate.support.advice import name_list
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, NotNeededError
from rails.gate.support.diagnostics import MORE, SYNTAX, Diagnostic, apply_fixes
from rails.gate.support.warm_processes import side_by_side


class Language(Protocol):
    """The tools for one language. Each method may raise CheckError, also NotNeededError."""

    parser: str
    linter: str
    #: A second linter's name, or "".
    also: str = ""

    @property
    def formatter_name(self) -> str:
        """The program behind :meth:`format`, for reports."""

    @property
    def other_format(self) -> str:
        """The reason why formatting is only noted, or ""."""

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version ("" if it is not there), where its rules are from, and its command, for reports."""

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return the syntax error, if any."""

    def excused(self, data: bytes) -> bool:
        """Return whether a comment excuses the file."""

    def lint(self, path: str, data: bytes) -> tuple[Diagnostic, ...]:
        """Return the linter's findings."""

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted."""

    def look_also(self, _path: str, _data: bytes, /) -> tuple[Finding, ...]:
        """Return the findings of the second linter, ``also``."""
        return ()

    def left_out(self, path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored configuration: check and reason."""

    def same_program(self, path: str, one: str, other: str, /) -> bool:
        """Return whether two texts differ in layout only."""


Told = tuple[Finding, ...]
T = TypeVar("T")

#: Fix-and-format rounds. One is enough for nearly every file; a pair of rules can undo each other for ever.
_ROUNDS: Final = 4
#: Rounds of fixes inside one of these: fixes that overlap wait for the next.
_FIX_ROUNDS: Final = 10

#: Rules whose findings mean that the program no longer works; a fix that introduces one is taken back.
_BREAKS: Final = frozenset({"F821", "F822", "F823", "no-undef", "no-const-assign", SYNTAX})


class FixAndLint(Struct):
    """One file on its way through the tools. ``clocks`` collects milliseconds by tool."""

    job: CheckJob
    tools: Language
    context: CheckContext
    clocks: dict[str, list[float]]
    fixed: list[Fixed] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    ran: dict[str, None] = field(default_factory=dict)
    decoded: Decoded = field(default_factory=lambda: Decoded(""))
    #: The old text, if it could be compared, and the linter's findings in it.
    old: bytes = b""
    known: Told = ()
    before_is_broken: bool = False

    def outcome(self) -> CheckResult:
        """Run all steps."""
        before = self.job.before
        after = self.job.after
        was: Finding | None = None
        with contextlib.suppress(CheckError):
            was = self._syntax(before) if before is not None else None
        try:
            broken = self._timed(self.tools.parser, lambda: self._syntax(after))
        except CheckError as reason:
            self._miss(self.tools.parser, str(reason))
            return self._result(after)
        if broken:
            if was is not None:
                self._miss(self.tools.linter, "the file does not parse, as before this change")
            return self._result(after, (broken,), (was,) if was else ())
        decoded = decode_text(after)
        if decoded is None:
            self._miss(self.tools.linter, why_not_text(after))
            return self._result(after)
        self.decoded = decoded
        if before is not None:
            self.before_is_broken = self._unreadable(before) or self.tools.excused(before)
            self.old = b"" if self.before_is_broken else before
            self.known = self._found(self.old) if self.old else ()
        if not self._may_write:
            return self._finish(after)
        if any(found.rule == MORE for found in self._lint(after)):
            self._miss("fix", "it has more findings than are listed, so nothing of it was repaired", required=False)
            return self._finish(after)
        return self._finish(self._repaired())

    def _finish(self, data: bytes) -> CheckResult:
        tools = self.tools
        if tools.excused(data):
            self._miss(tools.linter, "a comment excuses the whole file from it")
        findings = self._found(data)
        earlier = self.known
        if tools.other_format:
            self.not_checked.append(NotChecked(".", tools.formatter_name, tools.other_format, required=False))
        if tools.other_format or not self._may_write:
            findings += self._unformatted(data)
        if tools.also:
            findings += self._also(data, findings)
            earlier += self._also(self.old, earlier) if self.old else ()
        for check, reason in tools.left_out(self.job.path):
            self._miss(check, reason, required=False)
        return self._result(data, findings, earlier)

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
            tuple(name for name in self.ran if name not in missed),
        )

    @property
    def _may_write(self) -> bool:
        return self.context.fix and not self.job.keep

    # -- repairs ----------------------------------------------------------------------------------

    def _repaired(self) -> bytes:
        """Fix and format until stable; return the agent's text if that does harm."""
        data = self.job.after
        seen = {data}
        for turn in range(_ROUNDS):
            fixed = self._fixes(data)
            if turn and fixed == data:
                break  # it is what the formatter wrote
            formatted = self._formatted(fixed)
            if formatted == data:
                break
            data = formatted
            if data in seen:
                self._miss("format", "fixes and formatter undo each other; the text is as the formatter left it")
                break
            seen.add(data)
        if data != self.job.after and (harm := self._regression(data)):
            self.fixed.clear()
            self._miss("fix", f"{harm}, so the text is as the agent wrote it")
            return self.job.after
        return data

    def _regression(self, data: bytes) -> str:
        """Say what the repairs broke, if anything: every fix was parsed when made, the whole is read here."""
        broken = self._broken_by(self.job.after, data)
        if self._unreadable(data) or SYNTAX in broken:  # one that is too new stays
            return "a fix or the formatter broke the file"
        return f"a fix brought {', '.join(broken)}" if broken else ""

    def _fixes(self, data: bytes) -> bytes:
        counts: Counter[str] = Counter()
        for _ in range(_FIX_ROUNDS):
            data, applied = self._applied(data, self._new_and_safe(data))
            if not applied:
                break
            counts.update(diagnostic.rule for diagnostic in applied)
        self.fixed += [Fixed(self.job.path, rule, self.tools.linter, count) for rule, count in sorted(counts.items())]
        return data

    def _new_and_safe(self, data: bytes) -> list[Diagnostic]:
        kept = () if self.context.final else name_list("unfinished")
        safe = [one for one in self._lint(data) if one.safe and one.edits and one.rule not in kept]
        if self.job.before is None or not safe:
            return safe
        found = self._found(data)
        sides = TextFindings(lines_of(self.job.before), self.known), TextFindings(lines_of(data), found)
        fresh = which_are_new(*sides, old_is_broken=self.before_is_broken)
        places = {(one.rule, one.line, one.column) for one in compress(found, fresh)}
        return [one for one in safe if (one.rule, *one.start) in places]

    def _applied(self, data: bytes, chosen: list[Diagnostic]) -> tuple[bytes, list[Diagnostic]]:
        """Apply the fixes that do no harm together; the others wait for the next round.

        Two fixes may be right alone and wrong together: if a used name is imported twice, each removes one import.
        Halving finds such a group; all others are applied.
        """
        text = _text(data)
        good = list[Diagnostic]()
        parts = [chosen]
        result = (data, list[Diagnostic]())
        while parts:
            part = parts.pop()
            fixed, applied = apply_fixes(text, [*good, *part])
            made = self.decoded.encode(fixed)
            if fixed != text and not self._does_harm(data, made):
                good += part
                result = (made, applied)
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return result

    def _does_harm(self, data: bytes, made: bytes) -> bool:
        """Return whether a text does not parse, or has a fatal finding that ``data`` lacks."""
        return self._unreadable(made) or bool(self._broken_by(data, made))

    def _broken_by(self, data: bytes, made: bytes) -> list[str]:
        """Return the rules of what keeps ``made`` from working and is not in ``data``."""
        was, now = (
            Counter((found.rule, without_numbers(found.message)) for found in self._lint(text)) for text in (data, made)
        )
        return sorted({rule for rule, _ in now - was if rule in _BREAKS})

    def _formatted(self, data: bytes) -> bytes:
        if self.tools.other_format:
            return data
        wanted = self._wanted(data)
        if wanted != data and not any(fixed.rule == "format" for fixed in self.fixed):
            self.fixed.append(Fixed(self.job.path, "format", self.tools.formatter_name))
        return wanted

    def _wanted(self, data: bytes) -> bytes:
        """Return ``data`` formatted: entirely if the file is new or was formatted, else where touched."""
        formatted = self._format(data)
        before = self.job.before
        if formatted == data or before is None:
            return formatted
        from rails.gate.support.partial_format import touched_only

        texts = map(_text, (before, data, formatted))
        same = partial(self.tools.same_program, self.job.path)
        touched = self.decoded.encode(touched_only(*texts, same=same))
        if touched == formatted or self._unreadable(before) or self._format(before) != before:
            return touched
        return formatted

    def _format(self, data: bytes) -> bytes:
        formatted = self._try(self.tools.formatter_name, lambda: self.tools.format(self.job.path, data))
        return data if formatted is None else formatted

    def _unformatted(self, data: bytes) -> Told:
        wanted = self._wanted(data)
        if wanted == data:
            return ()
        name = self.tools.formatter_name
        first = first_difference(lines_of(data), lines_of(wanted))
        words = f"The file is not formatted as {name} would."
        found = Finding(self.job.path, first, 1, "format", words, name, fixable=True, end_line=first)
        return (replace(found, severity="info", fixable=False) if self.tools.other_format else found,)

    # -- tools ------------------------------------------------------------------------------------

    def _syntax(self, data: bytes) -> Finding | None:
        path = self.job.path
        return self.context.once((self.tools.parser, path, data), lambda: self.tools.syntax(path, data))

    def _unreadable(self, data: bytes) -> bool:
        try:
            return self._syntax(data) is not None
        except CheckError:
            return True

    def _lint(self, data: bytes) -> tuple[Diagnostic, ...]:
        return self._try(self.tools.linter, lambda: self.tools.lint(self.job.path, data)) or ()

    def _found(self, data: bytes) -> Told:
        return tuple(one.as_finding(self.job.path, self.tools.linter) for one in self._lint(data))

    def _also(self, data: bytes, told: Told) -> Told:
        """Return the second linter's findings but those that the first has told (same rule on the same line)."""
        found = self._try(self.tools.also, lambda: self.tools.look_also(self.job.path, data)) or ()
        known = {(one.rule, one.line) for one in told}
        return tuple(one for one in found if (one.rule, one.line) not in known)

    def _try(self, check: str, work: Callable[[], T]) -> T | None:
        try:
            return self._timed(check, work)
        except CheckError as reason:
            if reason.args:
                self._miss(check, str(reason), required=not isinstance(reason, NotNeededError))
        return None

    def _miss(self, check: str, reason: str, *, required: bool = True) -> None:
        miss = NotChecked(self.job.path, check or "format", reason, required)
        if miss not in self.not_checked:
            self.not_checked.append(miss)

    def _timed(self, name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            made = work()
            self.ran[name] = None
            return made
        finally:
            self.clocks.setdefault(name, []).append((time.perf_counter() - start) * 1000)


def report_of(tools: Language, jobs: Sequence[CheckJob], context: CheckContext, threads: int = 1) -> CheckReport:
    """Return every file's result, on so many threads, and which tools ran."""
    clocks: dict[str, list[float]] = {}
    files = [FixAndLint(job, tools, context, clocks) for job in jobs]
    outcomes = side_by_side(FixAndLint.outcome, files, threads)
    runs = []
    for name, times in clocks.items():
        version, origin, command = tools.about(name)
        if version:  # none has what is not installed or not wanted
            took = round(sum(times), 2)
            runs.append(CheckRun(name, version, took, origin, len(jobs), context.hits[name], command))
    return CheckReport(tuple(outcomes), tuple(runs))


def _text(data: bytes) -> str:
    decoded = decode_text(data)
    return decoded.text if decoded else ""
