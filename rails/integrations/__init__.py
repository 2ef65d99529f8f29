"""Protocols by which other programs use our tools, gate and log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rails.log.reader import SessionSummary


def newest_sessions(project: Path) -> list[SessionSummary]:
    """Return the last 50 sessions of a project, by their last event, for another program to list."""
    from rails.log.reader import sessions  # a host's hook waits for neither
    from rails.session.project import state_of

    return sorted(sessions(state_of(project)), key=lambda one: one.last, reverse=True)[:50]
