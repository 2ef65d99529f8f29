"""Errors, and who hears of each.

A :class:`Refusal` is a value for the model (``rails.session.feedback``). A :class:`RailsError` is an exception for the
operator; ``rails.cli`` catches it once.

    RailsError                 exit 3
    ├── UsageError             exit 2
    │   └── DefinitionError    exit 2
    ├── WorkspaceError         exit 3
    │   └── StaleError         exit 3
    ├── LogError               exit 3
    ├── CheckError             exit 3
    ├── TimeUpError            exit 1
    ├── UnansweredError        exit 1
    └── ModelError             exit 3
        └── ModelRetryable     exit 3
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from rails.core.exit_codes import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, RailsError

__all__ = ["EXIT_BROKEN", "EXIT_FINDINGS", "EXIT_OK", "EXIT_USAGE", "RailsError"]

#: What a fault of ours may be, and of a library that would end the program: caught where it has to be an outcome.
FAULT: Final = (Exception, SystemExit)


class Refusal(Struct, frozen=True):
    """A "no" with a reason, addressed to whoever wrote the request.

    ``code`` is a stable word ("not_found"). ``message`` quotes what is wrong; ``hint`` is what to do. ``start`` and
    ``end`` are character offsets into the text read (``-1``: none). ``path`` is a file or JSON path; ``expected`` and
    ``received`` are a schema's and what it got.
    """

    code: str
    message: str
    hint: str = ""
    start: int = -1
    end: int = -1
    path: str = ""
    request_id: str = ""
    expected: str = ""
    received: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(RailsError):
    """A command line, user's file or setting is wrong."""

    exit_code = EXIT_USAGE


class DefinitionError(UsageError):
    """A tool definition or agent template is unusable."""


class WorkspaceError(RailsError):
    """The project folder could not be read or written."""


class StaleError(WorkspaceError):
    """A file changed since it was looked at; nothing was written."""


class LogError(RailsError):
    """The session log failed; tools stop when it cannot be written."""


class LogBusyError(LogError):
    """Another process writes or has just made this log; it may soon be free."""


class CheckError(RailsError):
    """A required check crashed, timed out or is missing; not the agent's fault."""


class TimeUpError(RailsError):
    """The session's time is used up; what was going on is abandoned."""

    exit_code = EXIT_FINDINGS


class UnansweredError(RailsError):
    """Nobody answered in time: nothing was done; a resumed run asks again."""

    exit_code = EXIT_FINDINGS


class ModelError(RailsError):
    """The model is unreachable, or its answer unusable."""


class ModelTooLongError(ModelError):
    """The prompt exceeds the model's ``limit`` tokens (0: unknown)."""

    def __init__(self, message: str, limit: int = 0) -> None:
        super().__init__(message)
        self.limit = limit


class ModelRetryable(ModelError):
    """A passing fault of the service: overload, time-out, a cut stream. ``retry_after``: seconds that it asked for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
