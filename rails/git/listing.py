"""Git's knowledge of a project's paths: tracked, at a revision, ignored and why.

Git compares no content of the work tree: that would run the repository's filters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.errors import CheckError, UsageError, WorkspaceError
from rails.core.plain_file import real_path
from rails.core.text import one_line
from rails.git import blobs
from rails.git.program import CLEAN, finish_git, start_git
from rails.git.revisions import index_in_use, repository, shared_folder
from rails.processes import programs

#: A file that was written is one that was touched, whatever the repository says of times.
_TIMES: Final = ("-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.untrackedCache=false")
#: Nor is it believed of who the parents of a commit are, and that names are the same which the disk tells apart.
_FACTS: Final = (
    *("-c", "core.commitGraph=false"),
    *(("-c", "core.ignoreCase=false") if sys.platform == "linux" else ()),
)
#: Differences between a tree and the files, by what the index notes of them; submodules count by their commit.
_DIFF: Final = ("--no-renames", "--relative", "--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv")
#: Every path that git does not ignore, with the flags of the index.
_ENTRIES: Final = ("ls-files", "-v", "-c", "-o", "--exclude-standard", "-z")


class Tracked(Struct, frozen=True):
    """A tree or index entry; the work tree may lack it."""

    mode: str
    object: str
    sparse: bool = False


def indexed_files(project: Path) -> dict[str, Tracked]:
    """Return the index, by path from ``project``."""
    found = {}
    for entry in _split(_git(project, "ls-files", "-t", "-s", "-z")):
        facts, _, path = entry.partition("\t")
        tag, mode, name, _ = facts.split(" ")
        found[path] = Tracked(mode, name, tag == "S")
    return found


def indexed_by_name(project: Path, names: Collection[str]) -> list[str]:
    """Return the paths in the index with one of ``names``, in any folder."""
    wanted = {os.fsencode(name) for name in names}
    paths = _git(project, "ls-files", "-z").split(b"\0")
    return [os.fsdecode(path) for path in paths if path[path.rfind(b"/") + 1 :] in wanted]


def untracked(project: Path) -> list[str]:
    """Return untracked files that are not ignored; a nested repository ends in ``/``."""
    return _split(_git(project, "ls-files", "-o", "--exclude-standard", "-z"))


def files_at(project: Path, revision: str) -> dict[str, Tracked]:
    """Return the files of ``project`` at ``revision``. Raises UsageError for an unknown revision."""
    found = {}
    for entry in _split(_git(project, "ls-tree", "-r", "-z", "--end-of-options", revision, what=revision)):
        facts, _, path = entry.partition("\t")
        mode, _, name = facts.split(" ")
        found[path] = Tracked(mode, name)
    return found


def differing(project: Path, revision: str) -> list[str]:
    """Return the files that differ from ``revision`` and untracked ones, by path from ``project``.

    The index's times are trusted, its flags are not.
    """
    return _differing(project, _git(project, *_changed(revision)), _git(project, *_ENTRIES))


class DiffersNow:
    """The differences from the last commit, or from ``base`` if there is none; git works meanwhile.

    Raises UsageError without a repository, CheckError if git cannot be started.
    """

    def __init__(self, project: Path, base: str) -> None:
        self._project, self._base = project, base
        self._asked = [_Asked(project, *words) for words in (_named("HEAD"), _changed("HEAD"), _ENTRIES)]

    def read(self) -> tuple[str, list[str]]:
        """Return the last commit (or ``base``) and the files; like :func:`differing`."""
        named, changed, entries = self._asked
        try:
            head = named.said().decode().strip()
        except UsageError:
            changed.close()  # before the first commit all that is there differs
            there = dict.fromkeys(entry[2:] for entry in _split(entries.said()))
            return self._base, [path for path in there if os.path.lexists(self._project / path)]
        return head, _differing(self._project, changed.said(), entries.said())


def _differing(project: Path, changed: bytes, entries: bytes) -> list[str]:
    words = _split(changed)
    old = {path: facts.split(" ")[2] for facts, path in zip(words[::2], words[1::2], strict=True)}
    found = {path: None for path, name in old.items() if not _holds(project, path, name)}
    for entry in _split(entries):
        tag = entry[0]
        path = entry[2:]
        if tag == "?" or ((tag.islower() or tag == "S") and os.path.lexists(project / path)):
            found[path] = None
    return [*found]


def _holds(project: Path, path: str, name: str) -> bool:
    try:
        return blobs.has_content(project, project / path, name)
    except OSError:
        return False


def merge_base(project: Path, revision: str) -> str:
    """Return the common ancestor with HEAD, or ``revision`` itself."""
    try:
        return _git(project, "merge-base", "--end-of-options", revision, "HEAD").decode().strip() or revision
    except UsageError:
        return revision


def changed_between(project: Path, revision: str, other: str) -> list[str]:
    """Return the files that differ between two revisions."""
    return _split(_git(project, "diff-tree", "-r", "-z", "--name-only", *_DIFF, revision, other, "--", "."))


def commit_of(project: Path, revision: str) -> str:
    """Return a revision's commit, or ""."""
    try:
        return _git(project, *_named(revision)).decode().strip()
    except UsageError:
        return ""


def knows(project: Path, revision: str) -> bool:
    """Return whether there is such a commit."""
    return bool(commit_of(project, revision))


def ignored(project: Path) -> list[str]:
    """Return ignored files, and entirely ignored folders (with ``/``)."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return _split(_git(project, *words))


def ignored_by(project: Path, paths: Sequence[str]) -> dict[str, tuple[Path, str]]:
    """Return the ignore file and pattern of each ignored path."""
    root, _ = repository(project)
    data = "\0".join(paths).encode("utf-8", "surrogateescape")
    words = _split(_git(project, "check-ignore", "-v", "-z", "--stdin", "--no-index", data=data, nothing=1))
    return {words[at + 3]: (root / words[at], words[at + 2]) for at in range(0, len(words) - 3, 4)}


def own_ignore_files(project: Path) -> tuple[Path, Path]:
    """Return the user's uncommitted ignore files; they may not exist."""
    _, folder = repository(project)
    return real_path(shared_folder(folder)) / "info" / "exclude", Path(_own_ignores())


def changed_pattern(pattern: str, before: bytes | None, now: bytes) -> bool:
    """Return whether a pattern may not have been in effect ``before``."""
    sides = [list(map(str.rstrip, (data or b"").decode("utf-8", "replace").splitlines())) for data in (before, now)]
    was, are = (_exceptions(side, pattern) for side in sides)
    return was is None or are is None or not was <= are


def _exceptions(lines: Sequence[str], pattern: str) -> set[str] | None:
    """Return the effective exceptions after a pattern; None if there is no such pattern."""
    if pattern not in lines:
        return None
    return {line for line in lines[len(lines) - lines[::-1].index(pattern) :] if line.startswith("!")}


def without_exceptions(project: Path, before: Mapping[str, bytes | None]) -> Iterator[str]:
    """Yield the folders (with ``/``) whose ignore file lost an exception."""
    for name, was in before.items():
        file = project / name
        now = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
        if {line for line in (was or b"").splitlines() if line.startswith(b"!")} - {*now.splitlines()}:
            yield name.removesuffix(".gitignore")


def _split(out: bytes) -> list[str]:
    return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]


def _named(revision: str) -> tuple[str, ...]:
    return "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"


def _changed(revision: str) -> tuple[str, ...]:
    return "diff-index", "-z", *_DIFF, revision, "--", "."


def _git(project: Path, *words: str, data: bytes = b"", what: str = "", nothing: int = 0) -> bytes:
    return _Asked(project, *words).said(data, what, nothing)


class _Asked:
    """A running git. Raises UsageError, CheckError."""

    def __init__(self, project: Path, *words: str) -> None:
        self._words, (self._root, folder) = words, repository(project)
        where = [f"--git-dir={folder}", f"--work-tree={self._root}", "-c", f"core.excludesFile={_own_ignores()}"]
        try:
            self._process = start_git([*where, *_TIMES, *_FACTS, *words], project, {**CLEAN, **index_in_use(project)})
        except WorkspaceError as error:
            raise CheckError(str(error)) from error

    def said(self, data: bytes = b"", what: str = "", nothing: int = 0) -> bytes:
        """Return git's output; ``nothing`` is the exit status of no output."""
        try:
            code, out, err = finish_git(self._process, data)
        except WorkspaceError as error:
            raise CheckError(str(error)) from error
        if code not in (0, nothing):
            if what and not err.startswith("fatal: not a tree"):
                raise UsageError(f"There is no git revision {one_line(what)!r} in {self._root}.")
            raise UsageError(f"git {self._words[0]} failed: {one_line(err.strip(), 300)}")
        return out

    def close(self) -> None:
        if self._process.returncode is None:
            programs.kill_tool(self._process)


@cache
def _own_ignores() -> str:
    return str(Path(os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")) / "git" / "ignore")
