"""Files of the project, reached by descriptors: no link is followed, no check can be raced.

Also refused: devices, pipes, sockets, over-large files, a parent folder swapped for a link. Not covered: the same
user's process with an open descriptor; network file systems that lie about ``fsync``. All changes go through one
:class:`Disk`; :mod:`rails.core.atomic_file` does not look at what it displaces.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.atomic_file import RENAME_EXCHANGE, rename_by, rename_free
from rails.core.errors import WorkspaceError
from rails.core.paths import WorkspacePath

_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NOFOLLOW
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
_CHUNK: Final = 1 << 20


class UnsafeFileError(WorkspaceError):
    """Not a plain file inside the project, or too large."""


class Snapshot(Struct, frozen=True):
    """A file at one moment."""

    data: bytes
    mode: int
    links: int
    owner: tuple[int, int]
    identity: tuple[int, int]  # device, inode


class Disk:
    """Every call that looks at or changes the disk, in an open folder. Raises OSError."""

    def look(self, name: str, folder: int) -> int:
        """Open for reading, without following a link."""
        return os.open(name, _READ, dir_fd=folder)

    def create(self, name: str, folder: int) -> int:
        """Create an empty, private file; fail if the name is taken."""
        return os.open(name, _CREATE, 0o600, dir_fd=folder)

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of ``data``."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view[:_CHUNK]) :]

    def set_owner(self, descriptor: int, owner: tuple[int, int]) -> None:
        """Set the file's user and group."""
        os.fchown(descriptor, *owner)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Set the permission bits."""
        os.fchmod(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        """Put a file's bytes, or a folder's names, on stable storage."""
        os.fsync(descriptor)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Rename within a folder, atomically replacing ``new``."""
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def exchange(self, one: str, other: str, folder: int) -> bool:
        """Swap two names atomically; False, with nothing done, where the system cannot."""
        return rename_by(one, other, RENAME_EXCHANGE, folder)

    def move(self, old: str, new: str, folder: int) -> None:
        """Rename within a folder; fail if ``new`` is taken."""
        rename_free(old, new, folder)

    def link(self, old: str, new: str, folder: int, target: int) -> None:
        """Make a hard link; fail if the name is taken."""
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)

    def unlink(self, name: str, folder: int) -> None:
        """Remove a name."""
        os.unlink(name, dir_fd=folder)

    def make_folder(self, name: str, folder: int) -> None:
        """Make a folder."""
        os.mkdir(name, 0o777, dir_fd=folder)

    def remove_folder(self, name: str, folder: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=folder)


DISK: Final = Disk()


def write_new(
    disk: Disk, name: str, folder: int, data: bytes, mode: int = 0o600, *, owner: tuple[int, int] | None = None
) -> None:
    """Create a file, synced, with ``owner`` if permitted. Raises OSError, FileExistsError."""
    descriptor = disk.create(name, folder)
    try:
        disk.write(descriptor, data)
        if owner and owner != (os.getuid(), os.getgid()):
            with suppress(PermissionError):
                disk.set_owner(descriptor, owner)
        disk.set_mode(descriptor, mode)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


class Workspace:
    """The project folder: a context manager. Folders are held open, whatever happens to their names."""

    def __init__(self, project: Path, disk: Disk = DISK) -> None:
        self.project = project
        self.disk = disk
        self._folders: dict[tuple[str, ...], int] = {}
        #: The descriptor of the project's lock, while we hold it.
        self.lock: tuple[int, ...] = ()

    def __enter__(self) -> Workspace:
        try:
            self._folders[()] = os.open(self.project, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError as error:
            raise WorkspaceError(f"Cannot open the project folder {self.project}: {error.strerror}.") from error
        return self

    def __exit__(self, *_: object) -> None:
        while self._folders:
            os.close(self._folders.popitem()[1])

    def folder(self, parts: tuple[str, ...]) -> int | None:
        """Return a folder's descriptor, or None. Raises UnsafeFileError for a link."""
        if parts in self._folders:
            return self._folders[parts]
        parent = self.folder(parts[:-1])
        if parent is None:
            return None
        descriptor = _open_folder(parts, parent)
        if descriptor is not None:
            self._folders[parts] = descriptor
        return descriptor

    def make_folder(self, parts: tuple[str, ...]) -> int:
        """Return a folder's descriptor; make what is missing. Raises OSError."""
        found = self.folder(parts)
        if found is not None:
            return found
        parent = self.make_folder(parts[:-1])
        with suppress(FileExistsError):
            self.disk.make_folder(parts[-1], parent)
            self.disk.sync(parent)
        made = self.folder(parts)
        if made is None:
            raise UnsafeFileError(f"{'/'.join(parts)} vanished while it was being made.")
        return made

    def remove_folder(self, parts: tuple[str, ...]) -> None:
        """Remove and close a folder. Raises OSError if it is not empty."""
        parent = self.folder(parts[:-1])
        if parent is not None:
            self.disk.remove_folder(parts[-1], parent)
            self.disk.sync(parent)
            if parts in self._folders:
                os.close(self._folders.pop(parts))

    def still_there(self, parts: tuple[str, ...]) -> bool:
        """Return whether the path leads to the held folder."""
        again = Workspace(self.project, self.disk)
        again._folders[()] = os.dup(self._folders[()])
        try:
            found = again.folder(parts)
            return found is not None and os.path.samestat(os.fstat(found), os.fstat(self._folders[parts]))
        except (OSError, UnsafeFileError):
            return False
        finally:
            again.__exit__()

    def read(self, path: WorkspacePath) -> Snapshot | None:
        """Return a file, or None. Raises UnsafeFileError for no plain file, OSError."""
        folder = self.folder(path.parts[:-1])
        return None if folder is None else self.read_name(path.name, folder, str(path))

    def read_name(self, name: str, folder: int, shown: str = "", most: int = limits.FILE_BYTES) -> Snapshot | None:
        """Like :meth:`read`, for a name in an open folder."""
        try:
            descriptor = self.disk.look(name, folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unsafe(shown or name, error) from error
        try:
            return _read_open(descriptor, shown or name, most)
        finally:
            os.close(descriptor)

    def names(self, parts: tuple[str, ...]) -> list[str]:
        """Return a folder's names; none if it does not exist."""
        folder = self.folder(parts)
        return [] if folder is None else os.listdir(folder)  # noqa: PTH208 - by descriptor


def _open_folder(parts: tuple[str, ...], parent: int) -> int | None:
    try:
        return os.open(parts[-1], _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unsafe("/".join(parts), error) from error


def _unsafe(shown: str, error: OSError) -> OSError | UnsafeFileError:
    """Separate what a path is (final) from a failure of the disk (OSError)."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return UnsafeFileError(f"{shown} is a symbolic link. Links are not followed; name the file it points to.")
    if error.errno == errno.ENOTDIR:
        return UnsafeFileError(f"{shown} is not a folder, or is a link to one. Links are not followed.")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return UnsafeFileError(f"{shown} is not a plain file.")
    return error


def _read_open(descriptor: int, shown: str, most: int) -> Snapshot:
    facts = os.fstat(descriptor)
    if stat.S_ISDIR(facts.st_mode):
        raise UnsafeFileError(f"{shown} is a folder.")
    if not stat.S_ISREG(facts.st_mode):
        raise UnsafeFileError(f"{shown} is not a plain file.")
    if facts.st_size > most:
        raise UnsafeFileError(f"{shown} has {facts.st_size} bytes; {most} are allowed.")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UnsafeFileError(f"{shown} grew beyond {most} bytes while it was read.")
    return Snapshot(
        data,
        stat.S_IMODE(facts.st_mode) & 0o777,
        facts.st_nlink,
        (facts.st_uid, facts.st_gid),
        (facts.st_dev, facts.st_ino),
    )
