"""Read the project's files on disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.paths import WorkspacePath
from rails.core.plain_file import real_path

_PROGRAM: Final = lazy(rb"#!\s*(?:\S*/env\s+(?:-\S+\s+)*(?:\w+=\S*\s+)*)?(\S+)")
#: The programs that read what bash reads.
SHELLS: Final = frozenset({"sh", "bash", "dash"})
_LINE: Final = 300
LARGE: Final = f"it is larger than {limits.FILE_BYTES} bytes"


def read_from_disk(project: Path, path: WorkspacePath) -> tuple[bytes, int] | str:
    """Return bytes and permission bits, or why unread. Links are not followed."""
    place = project.joinpath(*path.parts)
    try:
        folder = real_path(place.parent)
        if folder != project and project not in folder.parents:
            return "it is outside the project"
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)  # Python opens no folder as a file
        return "it is not a regular file"
    with os.fdopen(handle, "rb") as file:
        if facts.st_size > limits.FILE_BYTES:
            return LARGE
        return file.read(), stat.S_IMODE(facts.st_mode)


def run_by_python(data: bytes) -> bool:
    """Return whether the first line names Python."""
    return interpreter_of(data).rstrip("0123456789.") in ("python", "pypy", "uv")


def interpreter_of(data: bytes) -> str:
    """Return the program of a ``#!`` line (``#!/usr/bin/env -S bash`` too), or ""."""
    match = _PROGRAM.match(data[:_LINE].split(b"\n", 1)[0])
    return match[1].rpartition(b"/")[2].decode("utf-8", "replace") if match else ""
