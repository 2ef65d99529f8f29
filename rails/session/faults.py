"""An exception in a turn becomes an outcome: a traceback in the log, a sentence for operator and agent.

Errors that end or pause a session by design are raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from rails.core.errors import FAULT, LogError, ModelError, RailsError, TimeUpError, UnansweredError
from rails.core.events.base import Event
from rails.core.events.session import ErrorEvent
from rails.core.text import one_line
from rails.session import feedback
from rails.session.feedback import RequestResult

T = TypeVar("T")
_PASSED_ON: Final = (LogError, ModelError, TimeUpError, UnansweredError)
#: Frames of a traceback that are kept, the innermost, and characters of them all.
_FRAMES: Final = 30
_CHARS: Final = 12_000


def attempted(
    publish: Callable[[Event], object], doing: str, step: Callable[[], T], ids: tuple[str, ...] = ()
) -> T | RequestResult:
    """Return the result of ``step``, or its exception's outcome for ``ids``; ``doing`` is its purpose."""
    try:
        return step()
    except FAULT as error:
        return outcome_of(publish, ids, doing, error)


@contextmanager
def happened(what: str) -> Iterator[None]:
    """Make a log's write error tell ``what`` was done before."""
    try:
        yield
    except LogError as error:
        raise LogError(f"{error} {what}".rstrip()) from error


def outcome_of(
    publish: Callable[[Event], object], ids: tuple[str, ...], doing: str, error: BaseException
) -> RequestResult:
    """Publish a fault and return its outcome; raise ``error`` where it ends or pauses the session."""
    if isinstance(error, _PASSED_ON):
        raise error
    if isinstance(error, RailsError):  # the operator's matter, told in its own words
        publish(ErrorEvent(f"Failed while {doing}.", one_line(str(error), 600)))
        return feedback.not_done("hindered", ids, doing=doing)
    publish(fault_event(doing, error))
    return feedback.not_done("internal", ids, doing=doing)


def fault_event(doing: str, error: BaseException) -> ErrorEvent:
    """Return the event of an internal error, with traceback, or of a system's limit."""
    import traceback

    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-_FRAMES)
    if isinstance(error, OSError) and error.strerror:
        file = f"{one_line(str(error.filename), 200)}: " if error.filename else ""
        said = f"Failed while {doing}."
        what = f"{file}{error.strerror}"
    else:
        said = f"AI-Rails itself failed while {doing}."
        what = f"{type(error).__name__}: {one_line(str(error), 200)}".rstrip(": ")
    on = "The session continues; the log has the traceback (--debug shows it)."
    return ErrorEvent(said, f"{what}. {on}", trace="".join(lines)[-_CHARS:])
