"""Deleting sessions: log, stored values that only it points to, checkpoints and hand-offs.

Renaming its folder deletes a session; after a crash the next call does the rest. The locks of its log and of the
project are held; no session begins meanwhile. Not covered: copies of ``.rails``.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import limits, lock
from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.edits.apply import sole_writer
from rails.edits.checkpoint_commits import is_fix_run
from rails.edits.checkpoint_store import CheckpointStore
from rails.log import files
from rails.log.files import SESSION_ID
from rails.log.reader import LOG_NAME, session_ids
from rails.log.writer import COLLECTING
from rails.session.project import state_of

_DELETED: Final = "deleted"
_VALUE: Final = re.compile(rb'"([0-9a-f]{64})"')
_DAY: Final = 86_400


class KeptBytes(Struct, frozen=True):
    """Bytes of a project's logs, values too large for a log, and checkpoints."""

    logs: int
    values: int
    checkpoints: int


def kept_bytes(project: Path) -> KeptBytes:
    """Return the bytes of ``.rails`` of a project."""
    state = state_of(project)
    logs = sum(folder_bytes(state / name) for name in ("sessions", "handoffs", _DELETED))
    return KeptBytes(logs, folder_bytes(state / "blobs"), folder_bytes(state / "history.git"))


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder; 0 for what is gone."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(at) / name).lstat().st_size
    return total


def older_than(project: Path, days: float) -> tuple[str, ...]:
    """Return the sessions, and runs of ``gate --fix``, whose last record is older than ``days``."""
    state = state_of(project)
    since = time.time() - days * _DAY
    names = [name for name in session_ids(state) if (state / "sessions" / name / LOG_NAME).stat().st_mtime < since]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since))
    last = {step.session: step.at for step in CheckpointStore(project).steps() if is_fix_run(step.session)}
    return (*names, *(name for name, at in last.items() if at < stamp))


def delete_sessions(project: Path, names: Sequence[str]) -> KeptBytes:
    """Delete sessions for good; return the bytes freed.

    Raises UsageError, with nothing deleted, for one that runs or is missing, and WorkspaceError where another process
    writes.
    """
    state = state_of(project)
    before = kept_bytes(project)
    store = CheckpointStore(project)
    with ExitStack() as held:
        workspace = held.enter_context(sole_writer(project))
        known = {step.session for step in store.steps()}
        for name in names:
            if is_fix_run(name) and name in known:
                continue
            log = state / "sessions" / name / LOG_NAME
            if not SESSION_ID.fullmatch(name) or not log.is_file():
                raise UsageError(
                    f"There is no session {one_line(name)!r}. Nothing was deleted; ai-rails review lists them."
                )
            descriptor = files.open_regular(str(log), os.O_RDONLY)
            held.callback(os.close, descriptor)
            if not lock.acquire(descriptor):
                raise UsageError(f"Session {name} is running. Nothing was deleted; end it first.")
        gone = state / _DELETED
        gone.mkdir(mode=0o700, exist_ok=True)
        for name in names:
            if (state / "sessions" / name).is_dir():
                (state / "sessions" / name).rename(gone / name)
            else:
                (gone / name).mkdir()
        left = [one.name for one in gone.iterdir()]
        store.forget([name for name in left if name in known], keep=workspace.lock)
        for name in left:
            shutil.rmtree(state / "handoffs" / name, ignore_errors=True)
        _collect_values(state)
        shutil.rmtree(gone)
    after = kept_bytes(project)
    return KeptBytes(
        before.logs - after.logs, before.values - after.values, max(0, before.checkpoints - after.checkpoints)
    )


def _collect_values(state: Path) -> None:
    """Skipped while a session runs; the next deletion does it."""
    with lock.held(state / COLLECTING, limits.LOCK_SECONDS) as alone:
        logs = [state / "sessions" / name / LOG_NAME for name in session_ids(state)]
        if alone and not any(map(_is_held, logs)):
            used = {value.decode() for log in logs for value in _values(log)}
            for value in (state / "blobs").glob("??/*"):
                if value.name not in used:
                    value.unlink()
        (state / COLLECTING).unlink(missing_ok=True)


def _is_held(log: Path) -> bool:
    descriptor = files.open_regular(str(log), os.O_RDONLY)
    try:
        return not lock.acquire(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _values(log: Path) -> Iterator[bytes]:
    with log.open("rb") as file:
        for line in file:
            yield from _VALUE.findall(line)
