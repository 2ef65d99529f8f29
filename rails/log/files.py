"""Our state's files, opened by descriptor, never through a project's links. Folders 0700, files 0600."""

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
    """Yield a descriptor of ``root/names…``; ``create``: make missing ones. Raises OSError, also for links."""
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
    """Open an existing ordinary file (no link, device or pipe). Raises OSError."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{name} is not an ordinary file")
    return descriptor


def read_regular_file(at: int, name: str) -> bytes:
    """Return an ordinary file's content. Raises OSError."""
    with os.fdopen(open_regular(name, os.O_RDONLY, at=at), "rb") as file:
        return file.read()
