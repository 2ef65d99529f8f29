"""What a language brings to the road of a file (``rails.gate.support.fix_and_lint``): its tools behind one face."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from rails.core.verdict import Finding
from rails.gate.support.diagnostics import Diagnostic


class NotCheckedError(Exception):
    """A tool did not look at a file, for a reason that lies in the file or the configuration."""


class ExcludedError(NotCheckedError):
    """A tool did not look at a file because the project's configuration excludes it by its path."""

    def __init__(self) -> None:
        super().__init__("the project's configuration excludes this file")


class NotNeededError(Exception):
    """A tool did not look at a file, and the project does not ask for it; without words there is nothing to note."""


class Findings(Struct, frozen=True):
    """What a linter found in one text, with its fixes where there are any."""

    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


class Language(Protocol):
    """The tools for one kind of file. Each method may raise CheckError, NotCheckedError or NotNeededError."""

    parser: str
    linter: str
    #: Whether the linter says of every text that does not parse that it does not.
    linter_parses: bool

    @property
    def formatter_name(self) -> str:
        """The formatter as reports call it; what :meth:`format` runs."""

    @property
    def other_format(self) -> str:
        """Say why what the formatter wants is a note and is not written; "" where it is written."""

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return what keeps ``data`` from being parsed."""

    def excused(self, data: bytes) -> bool:
        """Whether a comment excuses the whole file from the linter."""

    def lint(self, path: str, data: bytes) -> Findings:
        """Return the linter's findings."""

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted."""

    def others(self) -> tuple[str, ...]:
        """The names of further linters."""

    def other(self, name: str, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return the findings of a further linter."""

    def left_out(self, path: str, /) -> tuple[tuple[str, str], ...]:
        """Say what of the project's configuration was not honoured: check and reason."""

    def same_program(self, path: str, one: str, other: str, /) -> bool:
        """Whether two texts differ in their layout only."""
