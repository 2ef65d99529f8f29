"""Private folders and files for what is gone afterwards, outside every project.

The only module that imports ``tempfile``, and only when something is asked for: it costs a short command a few ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import tempfile

ScratchFolder: TypeAlias = "tempfile.TemporaryDirectory[str]"


def scratch_folder(purpose: str) -> ScratchFolder:
    """Return an empty folder that only this user can read, removed at the end of its ``with`` block.

    What cannot be removed (a program still writes into it) is left to the system and no error.
    """
    import tempfile

    return tempfile.TemporaryDirectory(prefix=_prefix(purpose), ignore_cleanup_errors=True)


def kept_folder(purpose: str) -> Path:
    """Return an empty folder that only this user can read, and that whoever asked for it removes."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix=_prefix(purpose)))


def _prefix(purpose: str) -> str:
    return f"ai-rails-{purpose}-"
