"""The interface of a language's tools for ``rails.gate.support.fix_and_lint``."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from rails.core.verdict import Finding
from rails.gate.support.diagnostics import Diagnostic


class NotCheckedError(Exception):
    """A tool skipped a file because of the file or the configuration."""


class ExcludedError(NotCheckedError):
    """The project's configuration excludes the file by its path."""

    def __init__(self) -> None:
        super().__init__("the project's configuration excludes this file")


class NotNeededError(Exception):
    """A tool that the project does not ask for; without a message there is no note."""


class Findings(Struct, frozen=True):
    """A linter's findings in one text, with fixes."""

    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


class Language(Protocol):
    """The tools for one language. Each method may raise CheckError, NotCheckedError or NotNeededError."""

    parser: str
    linter: str
    #: Whether the linter says of every text that does not parse that it does not.
    linter_parses: bool

    @property
    def formatter_name(self) -> str:
        """The program behind :meth:`format`, for reports."""

    @property
    def other_format(self) -> str:
        """The reason why formatting is only noted, or ""."""

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return the syntax error, if any."""

    def excused(self, data: bytes) -> bool:
        """Return whether a comment excuses the file."""

    def lint(self, path: str, data: bytes) -> Findings:
        """Return the linter's findings."""

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted."""

    def others(self) -> tuple[str, ...]:
        """The names of further linters."""

    def other(self, name: str, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return a further linter's findings."""

    def left_out(self, path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored configuration: check and reason."""

    def same_program(self, path: str, one: str, other: str, /) -> bool:
        """Return whether two texts differ in layout only."""
