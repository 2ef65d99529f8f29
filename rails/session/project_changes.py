"""What changed on disk in a project since a moment, with the bytes from before: for agents that write by themselves.

A snapshot keeps the contents of what a commit does not hold: in a git work tree of the files that differ from the
last commit, without git of every file within the bounds. What is compared later is bytes, so a user's own changes
from before the moment are never counted, and a commit that the agent makes hides nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rails.core import atomic_file
from rails.core.changes import FileChange
from rails.core.dataclass import dataclass, field
from rails.core.errors import RailsError, Refusal, WorkspaceError
from rails.core.paths import WorkspacePath, parse_path
from rails.core.text import sha256
from rails.gate.support.read_file import read_from_disk
from rails.git.program import CLEAN, run_git
from rails.git.revisions import EMPTY_TREE, contents

#: Files that are looked at: without git all of them, with git those that differ.
_MOST_FILES: Final = 20_000
#: What a snapshot keeps of one file, and of all.
_FILE_BYTES: Final = 1_000_000
_ALL_BYTES: Final = 100_000_000
_SKIPPED: Final = frozenset({"node_modules", "venv", "__pycache__", "dist", "build", "site-packages"})
_STATUS: Final = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """How a project was. ``head`` is the commit ("" without git); ``files`` the digests of what is kept.

    A digest is ``None`` for a file that was not there, and "" for one that is too large to be kept.
    """

    head: str = ""
    files: Mapping[str, str | None] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the snapshot as a JSON text."""
        return json.dumps({"head": self.head, "files": dict(self.files)})

    @classmethod
    def from_json(cls, text: str) -> ProjectSnapshot:
        """Return the snapshot of a JSON text. Raises ValueError."""
        value = json.loads(text)
        if not isinstance(value, dict) or not isinstance(value.get("files"), dict):
            raise ValueError("this is not a snapshot")
        return cls(str(value.get("head", "")), value["files"])


@dataclass(frozen=True, slots=True)
class Changed:
    """The files that differ now, and those that cannot be compared, each with the reason."""

    changes: tuple[FileChange, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


class ProjectChanges:
    """Takes snapshots of one project and compares with them; contents are kept in ``store``, named by their digest."""

    def __init__(self, project: Path, store: Path) -> None:
        self.project, self.store = project, store

    def take(self) -> ProjectSnapshot:
        """Keep how the project is now. Raises RailsError where it cannot be looked at."""
        head = self._head()
        kept: dict[str, str | None] = {}
        room = _ALL_BYTES
        for name in self._dirty() if head else self._walk():
            if name.startswith(".rails/"):
                continue
            data = self._read(name)
            small = isinstance(data, bytes) and len(data) <= min(_FILE_BYTES, room)
            if isinstance(data, bytes) and small:
                room -= len(data)
                kept[name] = self.keep(data)
            else:
                kept[name] = None if data is None else ""
        return ProjectSnapshot(head, kept)

    def since(self, snapshot: ProjectSnapshot) -> Changed:
        """Return what is different from ``snapshot`` now. Raises RailsError where it cannot be compared."""
        names = list(self._names(snapshot))
        before = self._before(snapshot, names)
        changes: list[FileChange] = []
        unknown: dict[str, str] = {}
        for name in names:
            path, now, old = parse_path(name), self._read(name), before.get(name)
            if isinstance(path, Refusal):
                unknown[name] = "its name is none that AI-Rails works with"
            elif isinstance(now, str):
                unknown[name] = now
            elif isinstance(old, str):
                unknown[name] = old
            elif old != now:
                changes.append(FileChange(path, old, now, self._mode(path)))
        return Changed(tuple(changes), unknown)

    def now(self, path: WorkspacePath) -> bytes | None:
        """Return what a file holds now, ``None`` where it cannot be read."""
        data = self._read(str(path))
        return data if isinstance(data, bytes) else None

    def keep(self, data: bytes) -> str:
        """Keep a content and return its digest."""
        digest = sha256(data)
        file = self.store / digest
        if not file.exists():
            atomic_file.replace_file(file, data, durable=False)
        return digest

    def kept(self, digest: str) -> bytes | None:
        """Return a content that was kept, ``None`` where it is gone."""
        try:
            return (self.store / digest).read_bytes()
        except OSError:
            return None

    def _names(self, snapshot: ProjectSnapshot) -> Iterator[str]:
        if not snapshot.head:
            yield from dict.fromkeys((*snapshot.files, *self._walk()))
            return
        names = dict.fromkeys((*snapshot.files, *self._dirty(), *self._moved(snapshot.head)))
        yield from (name for name in names if not name.startswith(".rails/"))

    def _moved(self, head: str) -> list[str]:
        """Return the files that commits have changed since ``head``."""
        if head == EMPTY_TREE:
            return self._git("ls-files", "-z")
        return self._git("diff", "--name-only", "-z", "--no-renames", "--relative", head, "HEAD", "--")

    def _before(self, snapshot: ProjectSnapshot, names: Iterable[str]) -> dict[str, bytes | str | None]:
        """Return each file as it was: its bytes, ``None``, or why they are not known."""
        found: dict[str, bytes | str | None] = {}
        committed = []
        for name in names:
            if name not in snapshot.files:
                committed.append(name)
                continue
            digest = snapshot.files[name]
            data = self.kept(digest) if digest else None
            lost = "it was too large to be kept" if digest == "" else "what it was is not kept any more"
            found[name] = None if digest is None else data if data is not None else lost
        if snapshot.head not in ("", EMPTY_TREE) and committed:
            found |= contents(self.project, snapshot.head, committed)
        return found

    def _read(self, name: str) -> bytes | str | None:
        """Return a file's bytes, ``None`` where there is none, or why it cannot be read."""
        path = parse_path(name)
        if isinstance(path, Refusal):
            return "its name is none that AI-Rails works with"
        place = self.project.joinpath(*path.parts)
        if not os.path.lexists(place):
            return None
        read = read_from_disk(self.project, path)
        return read if isinstance(read, str) else read[0]

    def _mode(self, path: WorkspacePath) -> int:
        try:
            return os.lstat(self.project.joinpath(*path.parts)).st_mode & 0o777
        except OSError:
            return 0o644

    def _head(self) -> str:
        """Return the last commit, the empty tree before the first one, "" without git."""
        if not any((folder / ".git").exists() for folder in (self.project, *self.project.parents)):
            return ""
        try:
            return next(iter(self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")), "").strip() or EMPTY_TREE
        except RailsError:
            return EMPTY_TREE

    def _dirty(self) -> list[str]:
        """Return the files that differ from the last commit, as git names them from the project."""
        prefix = next(iter(self._git("rev-parse", "--show-prefix")), "").rstrip("\n")
        entries = self._git(*_STATUS, "--", ".")
        if len(entries) > _MOST_FILES:
            raise WorkspaceError(f"{len(entries)} files differ from the last commit; {_MOST_FILES} can be looked at.")
        return [entry[3:].removeprefix(prefix) for entry in entries if len(entry) > 3]

    def _walk(self) -> list[str]:
        """Return every file that is neither hidden nor installed. Raises WorkspaceError where there are too many."""
        found: list[str] = []
        for folder, folders, files in os.walk(self.project):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
            inside = Path(folder).relative_to(self.project)
            found += [(inside / name).as_posix() for name in sorted(files)]
            if len(found) > _MOST_FILES:
                raise WorkspaceError(f"There are more than {_MOST_FILES} files, and no git to say which changed.")
        return found

    def _git(self, *words: str) -> list[str]:
        status, out, err = run_git(("-C", str(self.project), *words), self.project, CLEAN)
        if status != 0:
            raise WorkspaceError(f"git {words[0]} failed: {err.strip()[:300]}")
        return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]
