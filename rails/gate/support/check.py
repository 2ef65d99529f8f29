"""What a check is given, what it answers, and what checks share.

A check receives which files changed (both texts) and answers with what it found in them, before and
after, with what it repaired, and with what it could not check. What is *new* is decided in one place,
``rails.gate.baseline``; nothing here compares.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.text import plain_text, why_not_text
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate.support.settings import GateSettings

if TYPE_CHECKING:
    from rails.gate.support.warm_processes import PythonPool

T = TypeVar("T")
#: Yields what is wrong with a text; its path comes first.
TextCheck: TypeAlias = "Callable[[str, str], Iterable[Finding]]"


#: Answers kept: those about a few hundred files. The oldest go first.
_KNOWN: Final = 16_384


class CheckJob(Struct, frozen=True):
    """One file to check. ``before`` is ``None`` for a new file, or when there is nothing to compare with.

    ``keep`` is why nothing of it may be repaired, "" where it may be.
    """

    path: str
    before: bytes | None
    after: bytes
    keep: str = ""


class CheckResult(Struct, frozen=True):
    """What a check says about one file.

    ``after`` is the content with safe fixes and formatting. ``found`` is about ``after``, ``before`` is
    what the same check finds in the old content; ``before_is_broken`` says that the old content did not
    parse, so that nothing is known of it. A file with something required in ``not_checked`` never passes. ``ran``
    are the tools that looked at it, where not all of the report did.
    """

    path: str
    after: bytes
    found: tuple[Finding, ...] = ()
    before: tuple[Finding, ...] = ()
    before_is_broken: bool = False
    fixed: tuple[Fixed, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    ran: tuple[str, ...] = ()

    @classmethod
    def missed(cls, job: CheckJob, check: str, reason: str, *, required: bool = True) -> CheckResult:
        """Return that a check did not look at a file, and why."""
        return cls(job.path, job.after, not_checked=(NotChecked(job.path, check, reason, required),))

    @classmethod
    def of_text(cls, tool: str, job: CheckJob, findings: TextCheck) -> CheckResult:
        """Return what ``findings(path, text)`` yields for both sides of a file that stays as it is.

        A file that is not UTF-8 text is not checked, by the name of ``tool``.
        """
        text = plain_text(job.after)
        if text is None:
            return cls.missed(job, tool, why_not_text(job.after))
        before = plain_text(job.before or b"")
        old = tuple(findings(job.path, before)) if before else ()
        return cls(job.path, job.after, tuple(findings(job.path, text)), old)


class CheckReport(Struct, frozen=True):
    """What a check says about all its files, and which tools it ran for that."""

    outcomes: tuple[CheckResult, ...]
    runs: tuple[CheckRun, ...] = ()

    @classmethod
    def of_texts(cls, tool: str, about: str, jobs: Sequence[CheckJob], findings: TextCheck) -> CheckReport:
        """Return the report of a check that reads each file alone; ``about`` says what it looks at."""
        return cls.of_files(CheckRun(tool, "", 0, about), jobs, lambda job: CheckResult.of_text(tool, job, findings))

    @classmethod
    def of_files(
        cls, run: CheckRun, jobs: Sequence[CheckJob], outcome: Callable[[CheckJob], CheckResult]
    ) -> CheckReport:
        """Return the report of a check that looks at each file alone; ``run`` has neither its time nor its files."""
        start = time.perf_counter()
        outcomes = tuple(map(outcome, jobs))
        spent = round((time.perf_counter() - start) * 1000, 2)
        return cls(outcomes, (replace(run, duration_ms=spent, files=len(jobs)),))


class CheckContext(Struct):
    """What checks share: the project, warm tools, and answers that are already known.

    ``home`` is the project itself where ``project`` is a folder that only stands for it, with other configuration.

    ``fix`` is whether fixes and formatting may change the text. ``final`` is whether no further edit of the same task
    is to come.
    ``trusted`` is whether configuration of the project that is a program may be executed. ``profile`` is
    where n8n workflows are to run (import, api, publish, strict). ``options`` are the settings. ``created`` and
    ``gone`` are the paths that this change set adds and removes; ``overlay`` is a folder outside
    the workspace with an empty stand-in for each Python file that they bring, ``modules`` are their places.
    ``known`` holds results by everything they depend on (tool, version, configuration, path, content), so
    that no text is checked twice.
    """

    project: Path
    shared_pool: PythonPool | None = None
    home: Path | None = None
    fix: bool = True
    final: bool = True
    trusted: bool = False
    profile: str = "import"
    options: GateSettings = field(default_factory=GateSettings)
    created: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    overlay: str = ""
    modules: tuple[str, ...] = ()
    known: dict[tuple[object, ...], Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    hits: Counter[object] = field(default_factory=Counter)

    @property
    def pool(self) -> PythonPool:
        """The Python tools in processes that stay warm: the shared ones, or our own from the first use on."""
        if self.shared_pool is not None:
            return self.shared_pool
        if "pool" not in self.resources:
            from rails.gate.support.warm_processes import PythonPool  # most changes of text start no process

            self.resources.setdefault("pool", PythonPool())
        pool: PythonPool = self.resources["pool"]
        return pool

    def once(self, key: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Return the known result for ``key``, or compute and keep it. Failures are not kept."""
        if key in self.known:
            self.hits[key[0]] += 1
            value: T = self.known[key]
            return value
        if len(self.known) >= _KNOWN:
            for old in list(self.known)[: _KNOWN // 4]:
                self.known.pop(old, None)
        value = self.known[key] = compute()
        return value


class Check(Protocol):
    """What a module of this folder offers: one function, with the files and the shared things."""

    def run_check(self, jobs: Sequence[CheckJob], context: CheckContext, /) -> CheckReport:
        """Check the files. Raises CheckError when the check as a whole cannot run."""
