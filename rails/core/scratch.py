"""Private temporary folders, outside every project. Imports ``tempfile`` when used: it costs a few ms."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

#: The name of a socket may have 107 bytes, of which ours and the standard library's own take up to 53.
_SOCKETS_BASE_BYTES: Final = 50
#: What a person looks into when the process has ended.
_STAYS: Final = ("demo", "job")


def scratch_folder(purpose: str) -> contextlib.AbstractContextManager[str]:
    """Yield an empty folder that only this user can read, removed afterwards.

    What cannot be removed is the system's; after a kill, the next call removes it.
    """
    import tempfile

    return tempfile.TemporaryDirectory(prefix=_prefix(purpose), ignore_cleanup_errors=True)


def kept_folder(purpose: str) -> Path:
    """Return such a folder, which the caller removes."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix=_prefix(purpose)))


@contextlib.contextmanager
def room_for_sockets() -> Iterator[None]:
    """Make temporary files in /tmp meanwhile, if TMPDIR is too long for a socket's name."""
    import tempfile

    told = tempfile.gettempdir()
    if len(os.fsencode(told)) > _SOCKETS_BASE_BYTES:
        tempfile.tempdir = "/tmp"  # noqa: S108 - a folder of ours alone is made in it
    try:
        yield
    finally:
        tempfile.tempdir = told


def _prefix(purpose: str) -> str:
    if purpose in _STAYS:
        return f"ai-rails-{purpose}-"
    _remove_abandoned()
    return f"ai-rails-{purpose}-{os.getpid()}-{_numbers()}-"


def _numbers() -> int:
    """Return an id of this process-number space: containers differ, and so do boots."""
    import zlib

    try:
        return zlib.crc32(Path("/proc/sys/kernel/random/boot_id").read_bytes(), Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return 0


@cache
def _remove_abandoned() -> None:
    import shutil
    import tempfile

    for folder in Path(tempfile.gettempdir()).glob(f"ai-rails-*-*-{_numbers()}-*"):
        # It stops nobody that one is gone, none of ours, or deeper than can be removed: a command may have made it.
        with contextlib.suppress(Exception):
            try:
                if folder.lstat().st_uid == os.getuid():
                    os.getpgid(int(folder.name.split("-")[-3]))
            except ProcessLookupError:
                shutil.rmtree(folder, ignore_errors=True)
