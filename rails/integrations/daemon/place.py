"""The warm gate's socket, its permissions, and what comes back. Imports almost nothing."""

# pathlib and contextlib would cost each hook call as much as the rest of this.
# ruff: noqa: PTH102, PTH110, PTH116, PTH120, SIM105

from __future__ import annotations

import os
import stat
import sys
from typing import Final

import rails
from rails.core.errors import WorkspaceError

#: The name of a socket may have 107 bytes, of which ours takes 35.
_BASE_BYTES: Final = 70


class HookAnswer:
    """A hook's output (complete JSON or nothing) and exit code."""

    def __init__(self, out: str = "", err: str = "", code: int = 0) -> None:
        self.out = out
        self.err = err
        self.code = code


def project_around(folder: str) -> str:
    """Return the nearest parent with ``.git`` or our files, or the folder."""
    folder = one = os.path.realpath(folder)
    while True:
        if any(os.path.exists(f"{one}/{mark}") for mark in (".git", ".rails.toml", ".rails")):
            return one
        above = os.path.dirname(one)
        if above == one:
            return folder
        one = above


def socket_of(project: str) -> str:
    """Return the gate's socket for this AI-Rails and Python."""
    told = "\0".join((project, rails.__version__, sys.executable, str(_written())))
    digest = 0xCBF29CE484222325  # FNV-1a: the standard library's hashes cost a hook more than all it does itself
    for byte in told.encode("utf-8", "surrogateescape"):
        digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{runtime_folder()}/{digest:016x}.sock"


def runtime_folder() -> str:
    """Make and return our private socket folder. Raises WorkspaceError if others have access."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    short = base and len(os.fsencode(base)) < _BASE_BYTES
    folder = f"{base}/ai-rails" if short else f"/tmp/ai-rails-{os.getuid()}"  # noqa: S108 - looked at below
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    facts = os.lstat(folder)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise WorkspaceError(f"{folder} is not a folder of yours alone; remove it, and try again.")
    return folder


def _written() -> int:
    """Return when this code was installed: an upgrade gets its own gate. Raises OSError amid one."""
    return os.stat(f"{os.path.dirname(rails.__file__)}/cli.py").st_mtime_ns
