"""One writer at a time: the project's lock, and its state folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rails.core import limits, lock
from rails.core.errors import WorkspaceError
from rails.edits.safe_files import Workspace, write_new

STATE: Final = (".rails",)
JOURNAL: Final = (".rails", "journal")
_LOCK_SECONDS: Final = limits.PROJECT_LOCK_SECONDS


@contextmanager
def locked(workspace: Workspace) -> Iterator[None]:
    """Hold the project's write lock; wait for another holder, then fail with its name.

    A git that records a step gets the descriptor too, so that the lock lasts as long as git writes.
    """
    folder = state_folder(workspace)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open("lock", flags, 0o600, dir_fd=folder)
    except OSError as error:
        raise WorkspaceError(f"Cannot open .rails/journal/lock: {error.strerror}. Nothing was changed.") from error
    try:
        _wait_for(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        workspace.lock = (descriptor,)
        yield
    finally:
        workspace.lock = ()
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    if not lock.acquire(descriptor, _LOCK_SECONDS):
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
        raise WorkspaceError(
            f"Another AI-Rails process (number {holder}) is writing to this project. "
            "Nothing was changed; try again when it is done."
        )


def state_folder(workspace: Workspace) -> int:
    """Return the open ``.rails/journal``; make it, and ``.rails/.gitignore``, if missing."""
    try:
        state = workspace.make_folder(STATE)
        if ".gitignore" not in workspace.names(STATE):
            with suppress(FileExistsError):
                write_new(workspace.disk, ".gitignore", state, b"*\n")
        return workspace.make_folder(JOURNAL)
    except OSError as error:
        raise WorkspaceError(f"Cannot make .rails/journal: {error.strerror}. Nothing was changed.") from error
