"""What git knows of a project's paths: tracked, at a revision, ignored and why. Nothing of the repository is run.

No content of the work tree is compared by git: that would run the filters that a repository names, and believe the
flags and the times of its index.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rails.core.errors import CheckError, UsageError, WorkspaceError
from rails.core.text import one_line
from rails.git.program import CLEAN, run_git
from rails.git.revisions import repository


class Tracked(NamedTuple):
    """An entry of a tree or of the index: its mode, its object, and whether the work tree need not hold it."""

    mode: str
    object: str
    sparse: bool = False


def indexed_files(project: Path) -> dict[str, Tracked]:
    """Return what is in the index, by path from ``project``."""
    found = {}
    for entry in _split(_git(project, "ls-files", "-t", "-s", "-z")):
        facts, _, path = entry.partition("\t")
        tag, mode, name, _ = facts.split(" ")
        found[path] = Tracked(mode, name, tag == "S")
    return found


def files_at(project: Path, revision: str) -> dict[str, Tracked]:
    """Return the files of ``project`` at ``revision``. Raises UsageError for a revision that there is not."""
    found = {}
    for entry in _split(_git(project, "ls-tree", "-r", "-z", "--end-of-options", revision, what=revision)):
        facts, _, path = entry.partition("\t")
        mode, _, name = facts.split(" ")
        found[path] = Tracked(mode, name)
    return found


def merge_base(project: Path, revision: str) -> str:
    """Return the commit at which ``revision`` and HEAD parted; ``revision`` itself where there is none."""
    try:
        return _git(project, "merge-base", "--end-of-options", revision, "HEAD").decode().strip() or revision
    except UsageError:
        return revision


def knows(project: Path, revision: str) -> bool:
    """Whether there is such a commit."""
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return bool(_git(project, *words).strip())
    except UsageError:
        return False


def ignored(project: Path) -> list[str]:
    """Return what git ignores: files, and folders (with ``/``) in which it ignores everything."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return _split(_git(project, *words))


def ignored_by(project: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the file that holds the pattern by which each path is ignored, from ``project``."""
    root, _ = repository(project)
    data = "\0".join(paths).encode("utf-8", "surrogateescape")
    words = _split(_git(project, "check-ignore", "-v", "-z", "--stdin", "--no-index", data=data, nothing=1))
    found = {words[at + 3]: Path(words[at]) for at in range(0, len(words) - 3, 4)}
    return {path: os.path.relpath(root / source, project.resolve()) for path, source in found.items()}


def _split(out: bytes) -> list[str]:
    return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]


def _git(project: Path, *words: str, data: bytes = b"", what: str = "", nothing: int = 0) -> bytes:
    root, folder = repository(project)
    where = [f"--git-dir={folder}", f"--work-tree={root}", "-c", f"core.excludesFile={_own_ignores()}"]
    try:
        code, out, err = run_git([*where, *words], project, CLEAN, data)
    except WorkspaceError as error:
        raise CheckError(str(error)) from error
    if code not in (0, nothing):
        if what and not err.startswith("fatal: not a tree"):
            raise UsageError(f"There is no git revision {one_line(what)!r} in {root}.")
        raise UsageError(f"git {words[0]} failed: {one_line(err.strip(), 300)}")
    return out


@cache
def _own_ignores() -> str:
    """Return the file with what the user has git ignore everywhere."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return str(Path(home) / "git" / "ignore")
