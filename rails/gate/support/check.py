"""Inputs, results and shared state of checks. ``rails.gate.baseline`` alone decides what is new."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.text import decode_text, why_not_text
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate.support.settings import GateSettings

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary
    from rails.core.changes import FileChange
    from rails.gate.support.warm_processes import PythonPool

T = TypeVar("T")

#: Answers kept: those about a few hundred files.
_KNOWN: Final = 16_384


class CheckJob(Struct, frozen=True):
    """A file to check. ``before`` is ``None`` for a new file or nothing to compare with.

    ``keep`` is why it may not be repaired, or "".
    """

    path: str
    before: bytes | None
    after: bytes
    keep: str = ""


class NotNeededError(CheckError):
    """What is not checked and need not be; without a message there is no note."""


class ExcludedError(NotNeededError):
    """The project's configuration excludes the file by its path."""

    def __init__(self) -> None:
        super().__init__("the project's configuration excludes this file")


#: What a check says of a file, by its path and content: findings, and what of it was not looked at.
FileLook: TypeAlias = "Callable[[str, bytes], Iterable[Finding | NotChecked]]"
#: The rules of what keeps a parser from reading on.
_BROKEN: Final = frozenset({"syntax-error", "conflict-marker", "markdown-fence"})


class CheckResult(Struct, frozen=True):
    """A file after a check: its text, and what was found in it and in the old text."""

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
        """Return that a check skipped a file, and why."""
        return cls(job.path, job.after, not_checked=(NotChecked(job.path, check, reason, required),))

    @classmethod
    def of_look(cls, job: CheckJob, check: str, look: FileLook, look_before: FileLook | None = None) -> CheckResult:
        """Return what ``look`` says of both sides; the file is not checked if it raises CheckError.

        ``look_before`` looks at the old text, if that is done otherwise.
        """
        try:
            after = [*look(job.path, job.after)]
        except CheckError as error:
            return cls.missed(job, check, str(error), required=not isinstance(error, NotNeededError))
        before: list[Finding | NotChecked] = []
        if job.before:
            with contextlib.suppress(CheckError):
                before += (look_before or look)(job.path, job.before)
        missed = tuple(one for one in after if isinstance(one, NotChecked))
        return cls(job.path, job.after, _findings(after), _findings(before), not_checked=missed)

    def after_broken(self) -> CheckResult:
        """Return the same, where the old text could not be read to its end: what is on unchanged lines is old."""
        return replace(self, before_is_broken=any(one.rule in _BROKEN for one in self.before))


class CheckReport(Struct, frozen=True):
    """A check's results and the tools that ran."""

    outcomes: tuple[CheckResult, ...]
    runs: tuple[CheckRun, ...] = ()

    @classmethod
    def of_files(
        cls, run: CheckRun, jobs: Sequence[CheckJob], outcome: Callable[[CheckJob], CheckResult]
    ) -> CheckReport:
        """Return the report of a check on single files; ``run`` gets its time and files here."""
        start = time.perf_counter()
        outcomes = tuple(map(outcome, jobs))
        return cls(
            outcomes, (replace(run, duration_ms=round((time.perf_counter() - start) * 1000, 2), files=len(jobs)),)
        )


def _findings(said: Iterable[Finding | NotChecked]) -> tuple[Finding, ...]:
    return tuple(one for one in said if isinstance(one, Finding))


def text_to_check(data: bytes) -> str:
    """Return a file's text. Raises CheckError for what is none."""
    decoded = decode_text(data)
    if decoded is None:
        raise CheckError(why_not_text(data))
    return decoded.text


class CheckContext(Struct):
    """Shared by checks: project, warm tools and known answers.

    ``home`` is the project that ``project`` may replace. ``final``: no edit of the task follows. ``trusted``:
    configuration programs may run. ``profile`` is where n8n workflows run. ``created`` and ``gone`` are paths.
    ``known`` caches by tool, version, configuration, path, content.
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
    known: dict[tuple[object, ...], Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    hits: Counter[object] = field(default_factory=Counter)

    @property
    def pool(self) -> PythonPool:
        """The warm Python workers: shared, or our own from first use."""
        from rails.gate.support.warm_processes import PythonPool  # most changes of text start no process

        own: PythonPool = self.shared_pool or self.resources.setdefault("pool", PythonPool())
        return own

    def once(self, key: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Return the cached result or compute it. Failures are not cached."""
        if key in self.known:
            self.hits[key[0]] += 1
            value: T = self.known[key]
            return value
        if len(self.known) >= _KNOWN:
            self.known.clear()
        value = self.known[key] = compute()
        return value


class Check(Protocol):
    """The protocol of the modules of ``rails.gate.kinds``."""

    def run_check(self, jobs: Sequence[CheckJob], context: CheckContext, /) -> CheckReport:
        """Check the files. Raises CheckError if the whole check cannot run."""


#: What is written of a rule in reports: why it is there, and an example of what it finds.
RuleTexts: TypeAlias = "Mapping[str, tuple[str, str]]"


class Kind(Struct, frozen=True):
    """A kind of files. ``suffixes`` (".csv") and ``names`` ("dockerfile") are in lower case.

    ``claims(path, data)`` looks into a file, which is then of this kind alone. Checks with a lower ``place`` run first.
    ``summary`` outlines a change for reviewers; ``rules`` are the texts of all rules.
    """

    name: str
    suffixes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    claims: Callable[[str, bytes], bool] | None = None
    place: int = 90
    summary: Callable[[FileChange], ChangeSummary | None] | None = None
    rules: Callable[[], RuleTexts] | None = None

    def wants(self, path: str) -> bool:
        """Return whether a file's name is of this kind."""
        name = path.rpartition("/")[2].lower()
        return name in self.names or suffix_of(name) in self.suffixes


def suffix_of(path: str) -> str:
    """Return the name's ending with its dot, in lower case, or ""."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem else ""
