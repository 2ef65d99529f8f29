"""Files of our own state, opened from folder to folder without following a link.

A project is somebody else's data: a link placed where our state goes must not lead a write, or a read,
anywhere else. Folders get mode 0700 and files 0600. Everything is relative to open descriptors, so that
renaming a folder under our feet changes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: What a file system without hard links answers (exFAT, some shared folders of virtual machines).
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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


def write_all(descriptor: int, data: bytes) -> None:
    """Write ``data``: one system call, more only where the kernel takes less than all."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Put a file's content on the disk. Raises OSError; after that the file must not be trusted any more."""
    if (full := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # on macOS, fsync stops at the drive's cache
        fcntl.fcntl(descriptor, full)
    else:
        os.fdatasync(descriptor)


def place(at: int, name: str, data: bytes) -> bool:
    """Make the file ``name`` with ``data``, complete and on disk, or not at all.

    Returns ``False`` where there is one already; that one stays.
    """
    temporary = f".{name}.{secrets.token_hex(6)}"
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=at)
    try:
        try:
            write_all(descriptor, data)
            sync(descriptor)
        finally:
            os.close(descriptor)
        made = _link(at, temporary, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=at)
    os.fsync(at)
    return made


def _link(at: int, temporary: str, name: str) -> bool:
    """Give the finished file its name, unless that is taken."""
    try:
        os.link(temporary, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=at, follow_symlinks=False)
            return False
        os.rename(temporary, name, src_dir_fd=at, dst_dir_fd=at)
    return True


def read_regular_file(at: int, name: str) -> bytes:
    """Return the content of the ordinary file ``name``. Raises OSError."""
    with os.fdopen(open_regular(name, os.O_RDONLY, at=at), "rb") as file:
        return file.read()
