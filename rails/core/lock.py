"""File locks with a bounded wait, and what else only ``fcntl`` can do to an open file.

A lock belongs to the open file, not to the process: it ends when the descriptor is closed, also by a crash, so there
is no stale lock to clean up. Nobody waits for ever: who does not get the lock in time receives ``False`` and says so.

Covered: processes of one machine that all ask. Not covered: programs that write without asking, and network file
systems without ``flock``. The only module that imports ``fcntl``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

#: Between two tries, in seconds: short against what a person notices, long against what a try costs.
_PAUSE: Final = 0.02
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def acquire(descriptor: int, seconds: float = 0.0, *, shared: bool = False) -> bool:
    """Return whether the open file's lock was had within ``seconds``. Raises OSError where locks don't work.

    ``shared``: together with other shared holders.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


@contextlib.contextmanager
def held(file: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a file that exists for nothing else, made where missing; yield whether it was had.

    Raises OSError, also where a link stands in its place.
    """
    descriptor = os.open(file, _FLAGS, 0o600)
    try:
        yield acquire(descriptor, seconds)
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Put an open file's content on the disk. Raises OSError; after that the file must not be trusted any more."""
    if (full := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # on macOS, fsync stops at the drive's cache
        fcntl.fcntl(descriptor, full)
    else:
        os.fdatasync(descriptor)


def widen(pipe: IO[bytes], size: int) -> None:
    """Make room for ``size`` bytes in a pipe where the system can (Linux); else it stays as it is."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, size)
