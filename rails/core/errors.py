"""What can go wrong, and who should hear of it.

A :class:`Refusal` is a value: the model should hear it, so it travels to ``rails.session.feedback``.
A :class:`RailsError` is an exception: the operator should hear it; ``rails.cli`` catches it once.

    RailsError                 exit 3   something could not be checked or run
    ├── UsageError             exit 2   the command, a file of the user's or a setting is wrong
    │   └── DefinitionError    exit 2   a tool definition or agent template is wrong
    ├── WorkspaceError         exit 3   the project folder could not be read or written
    │   └── StaleError         exit 3   a file changed between the look and the write
    ├── LogError               exit 3   the session log could not be written or read
    ├── CheckError             exit 3   a required check crashed, timed out or is missing
    ├── TimeUpError            exit 1   the time that a session was given is used up
    ├── UnansweredError        exit 1   nobody answered an approval in time; the run can go on later
    └── ModelError             exit 3   the model could not be reached or answered unusably
        └── ModelRetryable     exit 3   the same, but worth another try
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

    ``code`` is a stable word for programs ("not_found"). ``message`` says what is wrong and where,
    quoting the offending text. ``hint`` says what is allowed and what to do next. ``start`` and
    ``end`` are character offsets into the text that was read (``-1``: no position). ``path`` is the
    file or JSON path concerned. ``request_id`` names the request, once there is one. ``expected`` and
    ``received`` say for programs what a schema wants there and what it got.
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
    """The command line, a user's file or a setting is wrong."""

    exit_code = EXIT_USAGE


class DefinitionError(UsageError):
    """A tool definition or an agent template cannot be used."""


class WorkspaceError(RailsError):
    """The project folder could not be read or written."""


class StaleError(WorkspaceError):
    """A file is not what it was when it was looked at, so nothing was written."""


class LogError(RailsError):
    """The session log could not be written or read; tools stop when it cannot be written."""


class LogBusyError(LogError):
    """Another process writes this log, or has just made it; a moment later it may be free."""


class CheckError(RailsError):
    """A required check crashed, timed out or is missing. Not the agent's fault."""


class TimeUpError(RailsError):
    """The time that the session was given is used up, in the middle of something. That is left, and nothing follows."""

    exit_code = EXIT_FINDINGS


class UnansweredError(RailsError):
    """Nobody answered in time. That is no denial: nothing was done, and the same is asked when the run goes on."""

    exit_code = EXIT_FINDINGS


class ModelError(RailsError):
    """The model could not be reached, or its answer cannot be used."""


class ModelTooLongError(ModelError):
    """The prompt is longer than the model's window; ``limit`` is that in tokens, as far as its server said (or 0)."""

    def __init__(self, message: str, limit: int = 0) -> None:
        super().__init__(message)
        self.limit = limit


class ModelRetryable(ModelError):
    """A passing fault of the model's service: overload, time-out, a cut stream.

    ``retry_after`` is the pause that the service asked for, in seconds, if it asked.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
