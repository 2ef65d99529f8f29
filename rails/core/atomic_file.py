"""A file written whole or not at all: a new file beside it, flushed, then renamed into its place.

Covered: a crash, a full disk or an interrupt at any moment leaves the old file or the new one, never a part; a link
in the place of the file is replaced, not followed; two writers at once leave the file of one of them. Not covered: a
link among the folders above (the caller knows where its state goes), and files of the project, which
:mod:`rails.edits.safe_files` writes against races by other means, as
:mod:`rails.core.user_files` does the user's.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core.lock import sync

if TYPE_CHECKING:
    import ctypes

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE: Final = 0o600
RENAME_NOREPLACE: Final = 1  # <linux/fs.h>
RENAME_EXCHANGE: Final = 2
#: What a file system answers that has no such rename, or no second names.
CANNOT_RENAME: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
#: What a file system without hard links answers (exFAT, some shared folders of virtual machines).
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


@cache
def _renameat2() -> ctypes._NamedFuncPointer | None:
    """Return the C library's ``renameat2``, or None where there is none."""
    import ctypes

    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None


def rename_by(old: str | Path, new: str | Path, flag: int, folder: int = -100) -> bool:
    """Rename as ``flag`` says, from the folder that is open (the current one if none is).

    Returns False, with nothing done, where the system cannot. Raises OSError.
    """
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


def replace_file(file: Path, data: bytes, *, mode: int = _PRIVATE, durable: bool = True) -> None:
    """Put ``data`` in the place of ``file``; folders that are missing are made. Raises OSError.

    Not ``durable``: a power cut may undo it, as is right for what can be made again.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(file.parent, _FOLDER)
    try:
        with _beside(folder, file.name, data, mode, durable=durable) as temporary:
            os.rename(temporary, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        if durable:
            os.fsync(folder)
    finally:
        os.close(folder)


def create(folder: int, name: str, data: bytes, *, mode: int = _PRIVATE, durable: bool = True) -> bool:
    """Make the file ``name`` in the open ``folder``, complete and, if ``durable``, on disk. Raises OSError.

    Returns ``False`` where there is one already; that one stays.
    """
    made = False
    if not _is_there(folder, name):
        with _beside(folder, name, data, mode, durable=durable) as temporary:
            made = _link(folder, temporary, name)
    if durable:
        os.fsync(folder)
    return made


def write_all(descriptor: int, data: bytes) -> None:
    """Write ``data``: one system call, more only where the kernel takes less than all."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _beside(folder: int, name: str, data: bytes, mode: int, *, durable: bool) -> Iterator[str]:
    """Yield the name of a finished file beside ``name``; it is gone afterwards unless it was renamed."""
    temporary = f".{name}.{os.urandom(6).hex()}"
    descriptor = os.open(temporary, _NEW, _PRIVATE, dir_fd=folder)
    try:
        try:
            write_all(descriptor, data)
            if mode != _PRIVATE:
                os.fchmod(descriptor, mode)  # opening would leave it to the umask
            if durable:
                sync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _link(folder: int, temporary: str, name: str) -> bool:
    """Give the finished file its name, unless that is taken."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _is_there(folder, name):
            return False
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _is_there(folder: int, name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(os.stat(name, dir_fd=folder, follow_symlinks=False))
    return False
