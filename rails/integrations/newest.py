"""The sessions that another program may list."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Final

from rails.log.reader import SessionSummary, sessions
from rails.session.project import state_of

_LISTED: Final = 50


def newest_sessions(project: Path) -> list[SessionSummary]:
    """Return the last 50 sessions of a project, those in which something happened last first."""
    return sorted(sessions(state_of(project)), key=attrgetter("last"), reverse=True)[:_LISTED]
