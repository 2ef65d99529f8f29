"""Write a file whole or not at all, by renaming a flushed new one.

A crash leaves the old file or the new one; a link is replaced, not followed; of two writers one wins. The next start
removes what a killed writer left (:func:`rails.edits.apply.recover`). Not covered: links among the folders above; files
of project and user (:mod:`rails.edits.safe_files`, :mod:`rails.core.user_files`).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from rails.core.lock import acquire, sync

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
RENAME_NOREPLACE: Final = 1  # <linux/fs.h>
RENAME_EXCHANGE: Final = 2
#: What a file system answers that has no such rename, or no second names.
CANNOT_RENAME: Final = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_HERE: Final = -100  # for the system, the current folder


@cache
def _renameat2() -> Callable[..., int] | None:
    import ctypes

    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def rename_by(old: str | Path, new: str | Path, flag: int, folder: int = _HERE) -> bool:
    """Rename in the open ``folder``; return False, with nothing done, where the system cannot. Raises OSError."""
    function = _renameat2()
    if function is None:
        return False
    if function(folder, os.fsencode(old), folder, os.fsencode(new), flag) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in CANNOT_RENAME:
        return False
    raise OSError(number, os.strerror(number), str(old), None, str(new))


def replace_file(file: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace or create ``file``, with missing folders. Raises OSError. Not ``durable``: a power cut may undo it.

    Below a project's ``.rails`` it is written first there, where the next start looks.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = next((one for one in file.parents if one.name == ".rails"), file.parent)
    folder = os.open(file.parent, _FOLDER)
    try:
        with _beside(folder, f"{begun.absolute()}/.{file.name}", data, durable=durable) as temporary:
            os.rename(temporary, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        if durable:
            os.fsync(folder)
    finally:
        os.close(folder)


def create(folder: int, name: str, data: bytes, *, durable: bool = True, begun_in: str = ".") -> bool:
    """Create ``name`` in the open ``folder``, complete and, if ``durable``, on disk. Raises OSError.

    ``begun_in``, seen from there, is where it is written first. ``False``: it exists.
    """
    made = False
    if not _is_there(folder, name):
        with (
            contextlib.suppress(FileExistsError),
            _beside(folder, f"{begun_in}/.{name}", data, durable=durable) as temporary,
        ):
            rename_free(temporary, name, folder)
            made = True
    if durable:
        os.fsync(folder)
    return made


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, however little the kernel takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _beside(folder: int, stem: str, data: bytes, *, durable: bool) -> Iterator[str]:
    """Yield the name of a finished file; it is gone afterwards unless it was renamed."""
    temporary = f"{stem}.{os.urandom(6).hex()}"
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):  # no locks here: nobody removes it
            acquire(descriptor)
        write_all(descriptor, data)
        if durable:
            sync(descriptor)
        yield temporary
    finally:
        os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def rename_free(old: str | Path, new: str | Path, folder: int = _HERE) -> None:
    """Rename in the open ``folder``. Raises OSError; FileExistsError if ``new`` exists."""
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(old, dir_fd=folder)
    except OSError as error:
        if error.errno not in CANNOT_RENAME:
            raise
        if rename_by(old, new, RENAME_NOREPLACE, folder):  # a folder, or a disk without second names
            return
        if _is_there(folder, new):
            raise FileExistsError(errno.EEXIST, "File exists", str(new)) from error
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def _is_there(folder: int, name: str | Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(os.stat(name, dir_fd=folder, follow_symlinks=False))
    return False
