"""A work tree of one commit that shares only a repository's objects: no references, no settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.errors import UsageError, WorkspaceError
from rails.core.text import one_line
from rails.git.program import CLEAN, run_git
from rails.git.revisions import shared_folder

_FULL: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: Paths that are named to git one by one.
_NAMED: Final = 100
_CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


class JobTree(Struct, frozen=True):
    """A work tree, its bare store, and its first commit."""

    folder: Path
    store: Path
    commit: str

    def diff(self, paths: Sequence[str], *, tracked: bool) -> str:
        """Return the unified diff of these paths, binary and ignored ones too.

        Where all are ``tracked``, and few, git needs no index.
        """
        if not paths:
            return ""
        flags = ["--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"]
        if tracked and len(paths) <= _NAMED:
            chosen: Sequence[str] = paths
        else:
            names = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
            self.git("update-index", "--add", "--remove", "-z", "--stdin", data=names)
            flags = [*flags, "--cached"]
            chosen = ()
        found = self.git("--literal-pathspecs", "diff", *flags, self.commit, "--", *chosen)
        return found.decode("utf-8", "replace")

    def git(self, *words: str, data: bytes = b"") -> bytes:
        """Run git in the work tree. Raises WorkspaceError."""
        return _git(self.folder, *words, data=data)


def work_tree(repository: Path, commit: str, place: Path) -> JobTree:
    """Make a work tree of ``commit`` in the empty folder ``place``, which the caller removes.

    The repository's hooks and filters are not run. Raises UsageError for an unknown repository or commit.
    """
    objects = objects_of(repository)
    commit = commit if _FULL.fullmatch(commit) else commit_named(repository, commit)
    store = place / "objects.git"
    tree = place / (repository.name.removesuffix(".git") or "project")
    for folder in ("objects/info", "refs/heads"):
        (store / folder).mkdir(parents=True)
    (store / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (store / "config").write_text(_CONFIG, "utf-8")
    (store / "objects/info/alternates").write_bytes(str(objects).encode("utf-8", "surrogateescape") + b"\n")
    try:
        _git(store, "worktree", "add", "--quiet", "--detach", str(tree), commit)
    except WorkspaceError as error:
        words = f"{one_line(commit, 80)} of {repository} cannot be checked out, so the job was not begun: {error}"
        raise UsageError(words) from error
    return JobTree(tree, store, commit)


def objects_of(repository: Path) -> Path:
    """Return a repository's object folder. Raises UsageError if it is none."""
    linked = repository / ".git"  # a file where this is a work tree of another repository
    own = linked.read_text("utf-8").removeprefix("gitdir:").strip() if linked.is_file() else ".git"
    for folder in (repository / own, repository):
        objects = shared_folder(folder) / "objects"
        if objects.is_dir():
            return objects
    raise UsageError(f"{repository} is not a git repository. Clone it first, and name the folder of the clone.")


def commit_named(repository: Path, revision: str) -> str:
    """Return a commit's full name. Raises UsageError if it is unknown."""
    objects_of(repository)
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        return _git(repository, *words).decode().strip()
    except WorkspaceError as error:
        raise UsageError(f"There is no commit {one_line(revision)!r} in {repository}.") from error


def _git(folder: Path, *words: str, data: bytes = b"") -> bytes:
    code, out, err = run_git(words, folder, {**CLEAN, "GIT_CEILING_DIRECTORIES": str(folder.parent)}, data)
    if code:
        raise WorkspaceError(f"git {words[0]} failed: {one_line(err.strip(), 300)}")
    return out
