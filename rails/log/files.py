"""Files of our own state, opened from folder to folder without following a link.

A project is somebody else's data: a link placed where our state goes must not lead a write, or a read,
anywhere else. Folders get mode 0700 and files 0600. Everything is relative to open descriptors, so that
renaming a folder under our feet changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rails.core.lazy_pattern import lazy

#: What a session's folder may be called.
SESSION_ID: Final = lazy(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def folder(root: Path, *names: str, create: bool = False) -> Iterator[int]:
    """Open the folder ``root/names…`` and yield its descriptor; with ``create``, make what is missing.

    Raises OSError, also where a link stands in the place of ``root`` or one of ``names``.
    """
    if create:
        with contextlib.suppress(FileExistsError):
            root.mkdir(mode=0o700)
    current = os.open(root, _FOLDER)
    try:
        for name in names:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=current)
            below = os.open(name, _FOLDER, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def open_regular(name: str, flags: int, *, at: int | None = None) -> int:
    """Open an existing ordinary file (no link, device or pipe) with ``flags``. Raises OSError."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{name} is not an ordinary file")
    return descriptor


def read_regular_file(at: int, name: str) -> bytes:
    """Return the content of the ordinary file ``name``. Raises OSError."""
    with os.fdopen(open_regular(name, os.O_RDONLY, at=at), "rb") as file:
        return file.read()
