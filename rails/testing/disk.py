"""A disk that records changes and fails on command, to check an order or a fault at every place.

    with RecordingDisk() as disk:
        work()
    for n in range(1, len(disk.operations) + 1):
        with RecordingDisk(fail_at=n) as disk, contextlib.suppress(RailsError):
            work()

It sees the changing functions of ``os``; not ``open()``, SQLite or other processes. Paths are empty except on Linux.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct

#: What changes a file, a folder or what a power cut would leave; the first argument is a path or a descriptor.
_CHANGING: Final = (
    *("write", "pwrite", "ftruncate", "truncate", "fsync", "fdatasync", "fchmod", "chmod"),
    *("rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "rmdir"),
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Operation(Struct, frozen=True):
    """A change: the ``os`` function's name, and the path."""

    name: str
    path: str


class RecordingDisk:
    """Within ``with``, records changes in ``operations``; the ``fail_at``-th (from 1) raises ``error``.

    ``failing``: all later ones too.
    """

    def __init__(self, *, fail_at: int = 0, error: int = errno.ENOSPC, failing: bool = False) -> None:
        self.operations: list[Operation] = []
        self._fail_at, self._error, self._failing = fail_at, error, failing
        self._real: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> Self:
        for name in (*_CHANGING, "open"):
            self._real[name] = getattr(os, name)
            setattr(os, name, self._watched(name, self._real[name]))
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands for any function of os
            if name != "open" or args[1] & _WRITING:
                self._note(name, args[0], kwargs.get("dir_fd", kwargs.get("src_dir_fd")))
            return function(*args, **kwargs)

        return watched

    def _note(self, name: str, target: int | str | Path, folder: int | None) -> None:
        path = _descriptor(target) if isinstance(target, int) else os.fspath(target)
        self.operations.append(Operation(name, str(Path(_descriptor(folder), path)) if folder is not None else path))
        count = len(self.operations)
        if count == self._fail_at or (self._failing and 0 < self._fail_at < count):
            raise OSError(self._error, os.strerror(self._error))


def _descriptor(descriptor: int) -> str:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return ""
