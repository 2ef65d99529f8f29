"""File locks with a bounded wait. The only module that imports ``fcntl``.

Closing its descriptor, also by a crash, ends a lock. Not covered: programs that do not ask; network file systems
without ``flock``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: Between two tries, in seconds: short against what a person notices, long against what a try costs.
_PAUSE: Final = 0.02
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def acquire(descriptor: int, seconds: float = 0.0, *, shared: bool = False) -> bool:
    """Return whether the lock was had within ``seconds``; ``shared``: beside others. Raises OSError where locks don't
    work.
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
    """Hold the lock of a file made only for it; yield whether it was had. Raises OSError, also for a link."""
    descriptor = os.open(file, _FLAGS, 0o600)
    try:
        yield acquire(descriptor, seconds)
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Flush an open file to disk. Raises OSError: then don't trust the file."""
    if (full := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # on macOS, fsync stops at the drive's cache
        fcntl.fcntl(descriptor, full)
    else:
        os.fdatasync(descriptor)
