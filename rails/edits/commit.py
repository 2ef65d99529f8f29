"""One clean commit of a session on the user's own branch (``--commit``).

By plumbing and our own index: no hook, filter, signature or monitor runs. Refused: a file with uncommitted changes
before or changes since, staged otherwise or filtered (LFS); a merge or rebase in progress. Ignored files are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core.changes import FileChange
from rails.core.errors import UsageError, WorkspaceError
from rails.core.paths import WorkspacePath, exact_path, protected
from rails.core.scratch import scratch_folder
from rails.core.text import one_line
from rails.edits.apply import read_file
from rails.edits.checkpoints import History
from rails.git import listing, revisions
from rails.git.program import CLEAN, git_library, run_git

_BUSY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "index.lock")


class Committed(Struct, frozen=True):
    """The commit, its files, and ignored ones."""

    commit: str
    files: tuple[str, ...]
    ignored: tuple[str, ...] = ()


def commit_session(project: Path, session: str, title: str) -> Committed:
    """Commit a session's changes, as they are now, on the current branch; ``title``'s first line is the subject.

    Raises WorkspaceError, with nothing changed, if that is not possible cleanly.
    """
    changes = net_changes(project, session)
    later = [str(change.path) for change in changes if read_file(project, change.path) != change.after]
    if later:
        raise WorkspaceError(f"Changed since the session: {', '.join(later)}. Nothing was committed; do it by hand.")
    repository = _Repository.around(project)
    repository.check_idle()
    names = [repository.name(change) for change in changes]
    ignored = revisions.ignored(repository.top, names) - {*repository.listed()}
    kept = [(name, change) for name, change in zip(names, changes, strict=True) if name not in ignored]
    if not kept:
        raise WorkspaceError(f"Session {session} has no changes in effect that git would keep. Nothing was committed.")
    subject = one_line(title.strip().partition("\n")[0].rstrip(), 200) or "Changes by AI-Rails"
    message = f"{subject}\n\nAI-Rails-Session: {session}\n"
    commit = repository.commit(repository.entries(kept), message)
    return Committed(commit, tuple(name for name, _ in kept), tuple(sorted(ignored)))


def backup_branch(project: Path) -> str:
    """Keep the work tree on a new branch ``ai-rails-backup-TIME``, and return its name.

    Branch, index and files stay. Left out: ignored files, untracked ones with secrets or keys. Raises WorkspaceError.
    """
    repository = _Repository.around(project)
    head = listing.commit_of(repository.top, "HEAD")
    tree = repository.tree(head, repository.all_entries())
    commit = head
    if not head or tree != repository.must(["rev-parse", f"{head}^{{tree}}"]).decode().strip():
        commit = repository.commit_tree(tree, head, "Before AI-Rails: the work tree as it was\n")
    stem = f"ai-rails-backup-{time.strftime('%Y%m%d-%H%M%S')}"
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 100))):
        if repository.git(["update-ref", f"refs/heads/{name}", commit, ""])[0] == 0:
            return name
    raise WorkspaceError("The backup branch could not be made in your repository. Nothing was started.")


def net_changes(project: Path, session: str) -> list[FileChange]:
    """Return a session's changes, one a file, from before its first to after its last."""
    history = History(project)
    net: dict[str, FileChange] = {}
    for step in history.steps(session):
        for change in history.restore_point(step).changes:
            first = net.get(str(change.path), change)
            net[str(change.path)] = FileChange(change.path, first.before, change.after, change.mode)
    return [change for change in net.values() if change.before != change.after]


class _Repository(Struct, frozen=True):
    top: Path
    folder: Path
    common: Path
    project: Path
    index: Path

    @classmethod
    def around(cls, project: Path) -> _Repository:
        try:
            top, folder = revisions.repository(project)
        except UsageError as error:
            raise WorkspaceError(f"{project} is not in a git repository. Nothing was committed.") from error
        return cls(top, folder, revisions.shared_folder(folder), project.resolve(), folder / "index")

    def check_idle(self) -> None:
        for name in _BUSY:
            if (self.folder / name).exists():
                raise WorkspaceError(f"The repository is busy ({name} exists). Nothing was committed.")

    def name(self, change: FileChange) -> str:
        return (self.project / str(change.path)).relative_to(self.top).as_posix()

    def _places(self) -> dict[str, str]:
        return {
            **CLEAN,
            "GIT_DIR": str(self.folder),
            "GIT_COMMON_DIR": str(self.common),
            "GIT_OBJECT_DIRECTORY": str(self.common / "objects"),
            "GIT_WORK_TREE": str(self.top),
            "GIT_INDEX_FILE": str(self.index),
        }

    def git(self, arguments: Sequence[str], data: bytes = b"") -> tuple[int, bytes]:
        status, out, _ = run_git(arguments, self.top, self._places(), data)
        return status, out

    def must(self, arguments: Sequence[str], data: bytes = b"") -> bytes:
        status, out = self.git(arguments, data)
        if status:
            raise WorkspaceError(f"git {arguments[0]} failed in your repository. Nothing was committed.")
        return out

    def entries(self, kept: Sequence[tuple[str, FileChange]]) -> bytes:
        """Return index lines. Raises if others' changes would go in."""
        head = listing.commit_of(self.top, "HEAD")
        staged = self.listed()
        committed = self.listed(head) if head else {}
        lines = []
        for name, change in kept:
            if staged.get(name) != committed.get(name):
                raise WorkspaceError(
                    f"{name} is staged differently. Nothing was committed; commit or unstage it first."
                )
            content = self._content(name, change, committed.get(name))
            if content is None:
                lines.append(f"0 {'0' * len(committed[name])}\t{name}\0")
                continue
            blob = self.must(["hash-object", "-w", "--stdin", "--no-filters"], content).decode().strip()
            lines.append(f"{'100755' if change.mode & 0o111 else '100644'} {blob}\t{name}\0")
        return os.fsencode("".join(lines))

    def listed(self, head: str = "") -> dict[str, str]:
        """Return the objects of the index, or of a commit, by name."""
        out = self.must(["ls-tree", "-r", "-z", head] if head else ["ls-files", "-s", "-z"])
        rows = (line.partition("\t") for line in os.fsdecode(out).split("\0") if line)
        return {name: next(word for word in facts.split() if len(word) >= 40) for facts, _, name in rows}

    def _content(self, name: str, change: FileChange, blob: str | None) -> bytes | None:
        kept = None if blob is None else self.must(["cat-file", "blob", blob])
        if kept == change.before:
            if blob is None and self._filtered(name):
                raise WorkspaceError(f"{name} goes through a git filter. Nothing was committed; commit it by hand.")
            return change.after
        if kept is not None and change.before is not None and kept == change.before.replace(b"\r\n", b"\n"):
            return None if change.after is None else change.after.replace(b"\r\n", b"\n")
        raise WorkspaceError(
            f"{name} had changes before the session that are not committed. Nothing was committed; commit by hand."
        )

    def _filtered(self, name: str) -> bool:
        out = self.must(["check-attr", "-z", "--stdin", "filter"], os.fsencode(f"{name}\0"))
        words = os.fsdecode(out).split("\0")
        return len(words) > 2 and words[2] not in ("unspecified", "unset")

    def tree(self, head: str, entries: bytes) -> str:
        """Return the tree of ``head`` with other entries, made in an index of its own."""
        with scratch_folder("index") as folder:
            own = replace(self, index=Path(folder) / "index")
            own.must(["read-tree", head or "--empty"])
            own.must(["update-index", "-z", "--index-info"], entries)
            return own.must(["write-tree"]).decode().strip()

    def commit(self, entries: bytes, message: str) -> str:
        head = listing.commit_of(self.top, "HEAD")
        tree = self.tree(head, entries)
        commit = self.commit_tree(tree, head, message)
        self.must(["update-index", "-z", "--index-info"], entries)
        self.must(["update-ref", "-m", "commit: AI-Rails", "HEAD", commit, head])
        return commit

    def commit_tree(self, tree: str, head: str, message: str) -> str:
        """Return a new commit, by whom git's settings name: all of them, a folder's own included."""
        library = git_library()
        git = library.Git(str(self.top))
        git.update_environment(**{name: value for name, value in self._places().items() if "CONFIG" not in name})
        parents = ["-p", head] if head else []
        try:
            for field, default in (("NAME", "AI-Rails"), ("EMAIL", "ai-rails@localhost")):
                configured = git.config("--default", default, "--get", f"user.{field.lower()}")
                who = os.environ.get(f"GIT_AUTHOR_{field}") or configured or default
                git.update_environment(**{f"GIT_AUTHOR_{field}": who, f"GIT_COMMITTER_{field}": who})
            return str(git(c="i18n.commitEncoding=UTF-8").commit_tree(tree, *parents, "-m", message))
        except library.GitCommandError as error:
            raise WorkspaceError(f"git could not commit: {one_line(str(error), 600)}. Nothing was done.") from error

    def all_entries(self) -> bytes:
        """No filters run."""
        tracked = self.listed()
        others = os.fsdecode(self.must(["ls-files", "-o", "--exclude-standard", "-z"]))
        lines = []
        wanted = []
        for name in (*tracked, *(one for one in others.split("\0") if one and not _holds_secrets(one))):
            place = self.top / name
            if place.is_file() and not place.is_symlink() and "\n" not in name:
                wanted.append(name)
            elif name in tracked and not os.path.lexists(place):
                lines.append(f"0 {'0' * len(tracked[name])}\t{name}\0")
        names = os.fsencode("".join(f"{name}\n" for name in wanted))
        blobs = self.must(["hash-object", "-w", "--no-filters", "--stdin-paths"], names).decode().split()
        for name, blob in zip(wanted, blobs, strict=True):
            mode = "100755" if (self.top / name).stat().st_mode & 0o111 else "100644"
            lines.append(f"{mode} {blob}\t{name}\0")
        return os.fsencode("".join(lines))


def _holds_secrets(name: str) -> bool:
    path = exact_path(name)
    return not isinstance(path, WorkspacePath) or protected(path) in ("secrets", "keys")
