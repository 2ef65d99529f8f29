"""Reading a project's files: pipes and devices are errors, never waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_ordinary(place: Path | str, most: int, *, links: bool = True) -> bytes:
    """Return an ordinary file's bytes, at most ``most`` and one. Raises OSError."""
    with os.fdopen(os.open(place, _FLAGS | (0 if links else os.O_NOFOLLOW)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file", str(place))
        return file.read(most + 1)


def real_path(place: Path) -> Path:
    """Return the resolved path; with a loop of links, one that cannot be opened."""
    # What follows a circle is not looked at the first time.
    return Path(os.path.realpath(os.path.realpath(place)))
