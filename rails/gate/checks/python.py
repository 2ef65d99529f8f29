"""Python files: compile, then ruff's safe fixes, then the project's formatter, then the linters.

The order matters: nothing repairs a file that does not parse, and what a fix or the formatter removes
need not be told to anybody. Fixes are only made for findings that the change brought.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from rails.core.errors import CheckError
from rails.core.text import Decoded, decode
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate import ruff, settings, suppressions, syntax
from rails.gate.baseline import Text, mark, split_lines
from rails.gate.checks import Desk, Job, Outcome, Report
from rails.gate.partial import touched_only
from rails.gate.pytools import Findings, NotCheckedError, PythonTools, without_doubles
from rails.gate.workers import side_by_side

#: Fix-and-format rounds. One is enough for nearly every file; a pair of rules can undo each other for ever.
_ROUNDS: Final = 4
#: Rounds of fixes inside one of these: fixes that overlap wait for the next.
_FIX_ROUNDS: Final = 10

T = TypeVar("T")


def run(jobs: Sequence[Job], desk: Desk) -> Report:
    """Check all files; see the module's text for the order. Raises CheckError for unreadable configuration."""
    tools = PythonTools(desk, settings.read(desk.project))
    clocks: dict[str, list[float]] = {}
    outcomes = side_by_side(lambda job: _File(job, tools, desk, clocks).outcome(), jobs, 4)
    return Report(tuple(outcomes), tuple(_runs(tools, clocks, len(jobs))))


def _runs(tools: PythonTools, clocks: dict[str, list[float]], files: int) -> list[CheckRun]:
    config = tools.config
    about = {
        "python": (f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}", ""),
        "ruff": (tools.ruff_tool.version if tools.ruff_tool else "", ""),
        "ruff format": (tools.ruff_tool.version if tools.ruff_tool else "", ""),
        "black": (tools.black_tool.version if tools.black_tool else "", config.black_origin),
        "flake8": (tools.flake8_tool.version if tools.flake8_tool else "", config.flake8_origin),
    }
    origins = sorted({how.origin for how in tools.seen_settings()})
    about["ruff"] = about["ruff format"] = (about["ruff"][0], ", ".join(origins))
    return [
        CheckRun(name, version, round(sum(clocks[name]), 2), origin, files, tools.desk.hits[name])
        for name, (version, origin) in about.items()
        if name in clocks
    ]


@dataclass(slots=True)
class _File:
    """One file on its way through the tools."""

    job: Job
    tools: PythonTools
    desk: Desk
    clocks: dict[str, list[float]]
    fixed: list[Fixed] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """Run the whole flow."""
        before, after = self.job.before, self.job.after
        broken = self._timed("python", lambda: self._syntax(after))
        was_broken = self._syntax(before) if before is not None else None
        if broken and not self._only_newer_python_reads(after):
            return self._broken(broken, was_broken)
        decoded = decode(after)
        if decoded is None:
            self._miss("ruff", "it is not UTF-8 text")
            return self._result(after, Findings(()), ())
        old = b"" if before is None or was_broken else before
        before_found = self._lint(old) if old else Findings(())
        data = self._repaired(decoded, before_found, was_broken is not None) if self.desk.fix else after
        return self._finish(data, old, before_found, was_broken is not None)

    def _syntax(self, data: bytes) -> Finding | None:
        """What CPython says about ``data``; known from the last turn for the text before this one."""
        return self.desk.once(("python", self.job.path, data), lambda: syntax.error_in(self.job.path, data))

    def _finish(self, data: bytes, old: bytes, before: Findings, was_broken: bool) -> Outcome:
        found = self._lint(data)
        findings, earlier = found.findings, before.findings
        if not self.desk.fix:
            findings += self._unformatted(data)
        if self.tools.config.flake8 is not None:
            findings += without_doubles(self._flake8(data), findings)
            earlier += without_doubles(self._flake8(old), earlier) if old else ()
        outcome = self._result(data, Findings(findings), earlier)
        return replace(outcome, before_is_broken=was_broken)

    def _broken(self, error: Finding, was: Finding | None) -> Outcome:
        """One finding, whatever the linters would say about the rest of the file."""
        if was is not None:
            self._miss("ruff", "the file does not parse, as before this change")
        before = (was,) if was else ()
        return self._result(self.job.after, Findings((error,)), before)

    def _result(self, data: bytes, found: Findings, before: tuple[Finding, ...]) -> Outcome:
        return Outcome(
            self.job.path,
            data,
            found.findings,
            before,
            fixed=tuple(self.fixed),
            not_checked=tuple(self.not_checked),
        )

    # -- repairs ----------------------------------------------------------------------------------

    def _repaired(self, decoded: Decoded, before: Findings, was_broken: bool) -> bytes:
        """Fix and format until neither changes anything; give up quietly on what never settles."""
        data = self.job.after
        seen = {data}
        whole = False
        for _ in range(_ROUNDS):
            fixed = self._fixes(data, decoded, before, was_broken)
            if whole and fixed == data:
                break  # it is what the formatter wrote
            formatted = self._formatted(fixed)
            whole = formatted == self._format(fixed)
            if formatted == data:
                break
            data = formatted
            if data in seen:
                self._miss("format", "fixes and formatter undo each other; the text is as the formatter left it")
                break
            seen.add(data)
        # Every fix was compiled when it was made; the formatters' result is read by ruff's parser.
        if any(found.rule == ruff.SYNTAX for found in self._lint(data).diagnostics):
            self.fixed.clear()
            self._miss("fix", "a fix or the formatter broke the file, so the text is as the agent wrote it", True)
            return self.job.after
        return data

    def _fixes(self, data: bytes, decoded: Decoded, before: Findings, was_broken: bool) -> bytes:
        text = _decoded(data)
        counts: dict[str, int] = {}
        for _ in range(_FIX_ROUNDS):
            found = self._lint(decoded.encode(text))
            chosen = self._new_and_safe(text, found, before, was_broken)
            if not chosen:
                break
            text, applied = self._applied(text, chosen)
            if not applied:
                break
            for diagnostic in applied:
                counts[diagnostic.rule] = counts.get(diagnostic.rule, 0) + 1
        self.fixed += [Fixed(self.job.path, rule, "ruff", count) for rule, count in sorted(counts.items())]
        return decoded.encode(text)

    def _new_and_safe(self, text: str, found: Findings, before: Findings, was_broken: bool) -> list[ruff.Diagnostic]:
        safe = [diagnostic for diagnostic in found.diagnostics if diagnostic.safe and diagnostic.edits]
        if self.job.before is None or not safe:
            return safe
        old = Text(split_lines(_decoded(self.job.before)), before.findings)
        marked = mark(old, Text(split_lines(text), found.findings), old_is_broken=was_broken)
        new = {(finding.rule, finding.line, finding.column) for finding in marked if finding.new}
        return [diagnostic for diagnostic in safe if (diagnostic.rule, *diagnostic.start) in new]

    def _applied(self, text: str, chosen: list[ruff.Diagnostic]) -> tuple[str, list[ruff.Diagnostic]]:
        """Apply fixes; when all together break the file (an emptied block), apply them one by one."""
        fixed, applied = ruff.apply(text, chosen)
        if not syntax.error_in(self.job.path, fixed.encode()):
            return fixed, applied
        for diagnostic in chosen:
            fixed, applied = ruff.apply(text, [diagnostic])
            if not syntax.error_in(self.job.path, fixed.encode()):
                return fixed, applied
        return text, []

    def _formatted(self, data: bytes) -> bytes:
        wanted = self._wanted(data)
        if wanted != data and not any(fixed.rule == "format" for fixed in self.fixed):
            self.fixed.append(Fixed(self.job.path, "format", self.tools.formatter_name))
        return wanted

    def _wanted(self, data: bytes) -> bytes:
        """Return how ``data`` should be formatted: wholly if the file is new or was formatted, else where touched."""
        formatted, before = self._format(data), self.job.before
        if formatted == data or before is None:
            return formatted
        decoded = decode(data)
        if decoded is None:
            return data
        partial = decoded.encode(touched_only(_decoded(before), decoded.text, _decoded(formatted)))
        if partial == formatted or self._syntax(before) or self._format(before) != before:
            return partial
        return formatted

    def _format(self, data: bytes) -> bytes:
        if not self.tools.formatter:
            self._miss("format", "the project uses a formatter that AI-Rails does not run", False)
            return data
        formatted = self._try(self.tools.formatter_name, lambda: self.tools.format(self.job.path, data))
        return data if formatted is None else formatted

    def _unformatted(self, data: bytes) -> tuple[Finding, ...]:
        wanted = self._wanted(data)
        if wanted == data:
            return ()
        name, lines, others = self.tools.formatter_name, split_lines(_decoded(data)), split_lines(_decoded(wanted))
        first = next(
            (i for i, pair in enumerate(zip(lines, others, strict=False), 1) if pair[0] != pair[1]), len(lines)
        )
        words = f"The file is not formatted as {name} would."
        return (Finding(self.job.path, first, 1, "format", words, name, fixable=True, end_line=first),)

    # -- linters ----------------------------------------------------------------------------------

    def _lint(self, data: bytes) -> Findings:
        if suppressions.whole_file(data, "ruff"):
            self._miss("ruff", "a comment excuses the whole file from it")
        return self._try("ruff", lambda: self.tools.lint(self.job.path, data)) or Findings(())

    def _flake8(self, data: bytes) -> tuple[Finding, ...]:
        found = self._try("flake8", lambda: self.tools.flake8(self.job.path, data)) or ()
        for reason in self.tools.flake8_left_out():
            self._miss("flake8", reason, False)
        return found

    def _try(self, check: str, work: Callable[[], T]) -> T | None:
        """Run one tool; what keeps it from running is noted once for the file."""
        try:
            return self._timed(check, work)
        except (CheckError, NotCheckedError) as reason:
            self._miss(check, str(reason))
            return None

    def _miss(self, check: str, reason: str, required: bool = True) -> None:
        miss = NotChecked(self.job.path, check, reason, required)
        if miss not in self.not_checked:
            self.not_checked.append(miss)

    def _timed(self, name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.clocks.setdefault(name, []).append((time.perf_counter() - start) * 1000)

    def _only_newer_python_reads(self, data: bytes) -> bool:
        """Whether the project is for a newer Python than this one, and ruff can read the file."""
        target = self.tools.config.target
        if target is None or target <= sys.version_info[:2]:
            return False
        found = self._lint(data)
        return not any(diagnostic.rule == ruff.SYNTAX for diagnostic in found.diagnostics)


def _decoded(data: bytes) -> str:
    return ruff.plain(data) or ""
