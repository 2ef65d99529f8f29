"""git, run without anything that a repository or environment can make it execute."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from rails.core import limits
from rails.core.errors import CheckError, WorkspaceError
from rails.core.text import one_line
from rails.processes import programs

_OVERRIDES: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "log.showSignature=false",
    # One synced pack for each step: two files instead of a dozen, and safe when the power goes.
    "fastimport.unpackLimit=1",
    "core.fsync=committed,reference",
)
_GIT_SECONDS: Final = 60
#: What git may print: every byte of a restored change set, and more.
_OUTPUT: Final = 4 * limits.CHANGE_BYTES
#: Settings that make the git variables of the caller's environment ineffective.
CLEAN: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    "GIT_NAMESPACE": "",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_TRACE": "0",
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
}


def run_git(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    data: bytes = b"",
    *,
    keep: Sequence[int] = (),
) -> tuple[int, bytes, str]:
    """Run git with ``data`` as input. Return exit status, output and error text.

    ``keep``: descriptors that stay open in git. Raises WorkspaceError if git cannot be run.
    """
    return finish_git(start_git(arguments, folder, environment, keep=keep), data)


def start_git(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, keep: Sequence[int] = ()
) -> programs.ToolProcess:
    """Start git, for :func:`finish_git`. Raises WorkspaceError."""
    options = [word for pair in _OVERRIDES for word in ("-c", pair)]
    if Path(_git_program()).resolve().is_relative_to(folder.resolve()):
        raise WorkspaceError(f"git would be {_git_program()}, which is inside {folder}. It was not run.")
    with _told():
        return programs.start_tool(
            [_git_program(), *options, *arguments], cwd=str(folder), extra=environment, keep=keep
        )


def finish_git(process: programs.ToolProcess, data: bytes = b"") -> tuple[int, bytes, str]:
    """Return :func:`run_git`'s result for a started git. Raises WorkspaceError."""
    with _told():
        ran = programs.finish_tool(process, _git_program(), data, timeout=_GIT_SECONDS, most=_OUTPUT)
    return ran.code, ran.out, ran.err.decode("utf-8", "replace")


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except CheckError as error:
        raise WorkspaceError(f"git could not be run: {one_line(str(error), 300)}") from error


def git_library() -> ModuleType:
    """Return GitPython. Its import runs git: ours, not one of the current folder."""
    os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = _git_program()
    import git

    return git


@cache
def _git_program() -> str:
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    found = programs.first_program("git", [*os.defpath.split(os.pathsep), *folders])
    if found is None:
        raise WorkspaceError("git is not installed.")
    return str(Path(found).absolute())
