"""Private folders and files for what is gone afterwards, outside every project.

The only module that imports ``tempfile``, and only when something is asked for: it costs a short command a few ms.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import tempfile

ScratchFolder: TypeAlias = "tempfile.TemporaryDirectory[str]"

#: The name of a socket may have 107 bytes, of which ours and the standard library's own take up to 33.
_SOCKETS_BASE_BYTES: Final = 70


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


@contextlib.contextmanager
def room_for_sockets() -> Iterator[None]:
    """Have what is made meanwhile lie where the name of a socket is not too long: in /tmp where TMPDIR is."""
    import tempfile

    told = tempfile.gettempdir()
    if len(os.fsencode(told)) > _SOCKETS_BASE_BYTES:
        tempfile.tempdir = "/tmp"  # noqa: S108 - a folder of ours alone is made in it
    try:
        yield
    finally:
        tempfile.tempdir = told


def _prefix(purpose: str) -> str:
    return f"ai-rails-{purpose}-"
