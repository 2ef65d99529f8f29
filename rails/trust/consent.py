"""Whether a human agreed to what a project would have the gate execute, by one digest.

``gate-trust.json`` in the user's configuration folder: ``{FOLDER: DIGEST}``; its parts:
``rails.gate.support.executed_config``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rails.core.app_dirs import config_folder
from rails.core.errors import UsageError
from rails.trust.record import read_record, write_record

_FILE: Final = "gate-trust.json"


def agreed_digest(project: Path) -> str:
    """Return the agreed digest, or "", also for an unreadable record."""
    try:
        return str(read_record(config_folder() / _FILE).get(str(project.resolve())) or "")
    except (OSError, ValueError, RecursionError):
        return ""


def give_consent(project: Path, digest: str) -> None:
    """Record the agreement. Raises UsageError if that fails."""
    file = config_folder() / _FILE
    try:
        write_record(file, {**read_record(file), str(project.resolve()): digest})
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"Your agreement could not be recorded in {file}: {error}") from error
