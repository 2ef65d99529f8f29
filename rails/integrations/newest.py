"""The sessions that another program may list."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

from rails.log.reader import SessionSummary, sessions
from rails.session.project import state_of


def newest_sessions(project: Path) -> list[SessionSummary]:
    """Return the last 50 sessions of a project, by their last event."""
    return sorted(sessions(state_of(project)), key=attrgetter("last"), reverse=True)[:50]
