"""Changes on disk since a moment, with the earlier bytes: for agents that write by themselves.

A snapshot keeps contents that no commit holds. Bytes are compared, so earlier changes never count and an agent's commit
hides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import atomic_file
from rails.core.changes import FileChange
from rails.core.errors import Refusal, WorkspaceError
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import sha256
from rails.gate.support.read_file import read_from_disk
from rails.git import listing
from rails.git.revisions import EMPTY_TREE, contents, repository

#: Files that are looked at: without git all of them, with git those that differ.
_MOST_FILES: Final = 20_000
#: What a snapshot keeps of one file, and of all.
_FILE_BYTES: Final = 1_000_000
_ALL_BYTES: Final = 100_000_000
_SKIPPED: Final = frozenset({"node_modules", "venv", "__pycache__", "dist", "build", "site-packages"})
_NOT_LOOKED_INTO: Final = _SKIPPED | {".git", ".rails", ".venv"}
#: Entries of folders that are looked at for what git does not list.
_MOST_ENTRIES: Final = 500_000


#: A file's bytes, or why they cannot be compared; ``None``: there is no file.
Content = bytes | str | None


class ProjectSnapshot(Struct, frozen=True):
    """Commit ``head`` ("" without git), digests of ``files`` and of git's ``ignores``.

    A digest is ``None`` for a missing file, "" for one too large.
    """

    head: str = ""
    files: dict[str, str | None] = {}
    ignores: Mapping[str, str] = {}


class Changed(Struct, frozen=True):
    """The files that differ, and reasons for those not comparable."""

    changes: tuple[FileChange, ...] = ()
    unknown: Mapping[str, str] = {}


class ProjectChanges(Struct, frozen=True):
    """Snapshots of one project; ``store`` keeps contents by digest."""

    project: Path
    store: Path

    def take(self) -> ProjectSnapshot:
        """Keep the present state. Raises RailsError."""
        head, dirty = self._differing()
        kept: dict[str, str | None] = {}
        room = _ALL_BYTES
        for name in (*dirty, *self._special()) if head else self._walk():
            if name.startswith(".rails/"):
                continue
            read = self._read(name)
            if read is None:
                kept[name] = None
            elif isinstance(read, str) or len(read[0]) > min(_FILE_BYTES, room):
                kept[name] = ""
            else:
                room -= len(read[0])
                kept[name] = self.keep(read[0])
        own = listing.own_ignore_files(self.project) if head else ()
        return ProjectSnapshot(head, kept, {str(file): self.keep(file.read_bytes()) for file in own if file.is_file()})

    def since(self, snapshot: ProjectSnapshot) -> Changed:
        """Return the differences from ``snapshot``. Raises RailsError."""
        names = list(self._names(snapshot))
        before = self._before(snapshot, names)
        changes: list[FileChange] = []
        unknown: dict[str, str] = {}
        for name in names:
            path = exact_path(name)
            read = self._read(name)
            old = before.get(name)
            now, mode = read if isinstance(read, tuple) else (None, 0o644)
            if isinstance(read, str):
                unknown[name] = read
            elif isinstance(old, str):
                unknown[name] = old
            elif old != now and isinstance(path, WorkspacePath):
                changes.append(FileChange(path, old, now, mode & 0o777))
        return Changed(tuple(changes), unknown)

    def now(self, path: WorkspacePath) -> bytes | None:
        """Return a file's bytes, ``None`` if unreadable."""
        read = self._read(str(path))
        return read[0] if isinstance(read, tuple) else None

    def keep(self, data: bytes) -> str:
        """Keep a content and return its digest."""
        digest = sha256(data)
        file = self.store / digest
        if not file.exists():
            atomic_file.replace_file(file, data, durable=False)
        return digest

    def kept(self, digest: str) -> bytes | None:
        """Return a kept content, ``None`` if gone."""
        try:
            return (self.store / digest).read_bytes()
        except OSError:
            return None

    def _names(self, snapshot: ProjectSnapshot) -> Iterator[str]:
        if not snapshot.head:
            yield from dict.fromkeys((*snapshot.files, *self._walk()))
            return
        moved = listing.knows(self.project, "HEAD") and listing.changed_between(self.project, snapshot.head, "HEAD")
        found = (*snapshot.files, *self._differing()[1], *self._special(), *(moved or ()))
        names = dict.fromkeys((*found, *self._hidden(snapshot, dict.fromkeys(found))))
        yield from (name for name in names if not name.startswith(".rails/"))

    def _differing(self) -> tuple[str, list[str]]:
        """Return the last commit (the empty tree before the first, "" without git) and the differing files.

        The index is not trusted. Raises RailsError.
        """
        if not any((folder / ".git").exists() for folder in (self.project, *self.project.parents)):
            return "", []
        head, found = listing.DiffersNow(self.project, EMPTY_TREE).read()
        if len(found) > _MOST_FILES:
            raise WorkspaceError(f"{len(found)} files differ from the last commit; {_MOST_FILES} can be looked at.")
        return head, found

    def _hidden(self, snapshot: ProjectSnapshot, names: Iterable[str]) -> Iterator[str]:
        from rails.sandbox.layer import CACHES, TOOL_CACHES

        usual = {*CACHES, *TOOL_CACHES, *_SKIPPED, ".rails"}
        paths = [path for path in listing.ignored(self.project) if usual.isdisjoint(path.rstrip("/").split("/"))]
        sources = listing.ignored_by(self.project, paths) if paths else {}
        before = {file: self._ignores_before(snapshot, file) for file in {file for file, _ in sources.values()}}
        inner = (name for name in names if name.endswith("/.gitignore"))
        was = {name: self._ignores_before(snapshot, self.project / name) for name in inner}
        open_now = (*listing.without_exceptions(self.project, was),)
        for path, (file, pattern) in sources.items():
            opened = any(path.startswith(folder) or folder.startswith(path) for folder in open_now)
            if opened or listing.changed_pattern(pattern, before[file], file.read_bytes()):
                yield from self._walk(path)

    def _ignores_before(self, snapshot: ProjectSnapshot, file: Path) -> bytes | None:
        name = os.path.relpath(file, self.project)
        digest = snapshot.ignores.get(str(file)) or snapshot.files.get(name)
        root, _ = repository(self.project)
        if digest or name in snapshot.files or not file.is_relative_to(root) or snapshot.head == EMPTY_TREE:
            return self.kept(digest) if digest else None
        return contents(root, snapshot.head, [within := file.relative_to(root).as_posix()])[within]

    def _before(self, snapshot: ProjectSnapshot, names: Iterable[str]) -> dict[str, Content]:
        found: dict[str, Content] = {}
        for name, digest in snapshot.files.items():
            if digest is None:
                found[name] = None
                continue
            data = self.kept(digest) if digest else "it was too large to be kept"
            found[name] = "what it was is not kept any more" if data is None else data
        committed = [name for name in names if name not in found]
        if snapshot.head not in ("", EMPTY_TREE) and committed:
            found |= contents(self.project, snapshot.head, committed)
        return found

    def _read(self, name: str) -> tuple[bytes, int] | str | None:
        """Return a file's bytes and permissions, why they cannot be read, or ``None`` where there is no file."""
        path = exact_path(name)
        if isinstance(path, Refusal):
            return "its name is none that AI-Rails works with"
        place = self.project.joinpath(*path.parts)
        if not os.path.lexists(place):
            return None
        return read_from_disk(self.project, path)

    def _special(self) -> Iterator[str]:
        folders = [str(self.project)]
        left = _MOST_ENTRIES
        while folders and left > 0:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:  # it is gone, or not ours to read
                continue
            left -= len(entries)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders += [entry.path] if entry.name not in _NOT_LOOKED_INTO else []
                elif not entry.is_symlink() and not entry.is_file(follow_symlinks=False):
                    yield os.path.relpath(entry.path, self.project)

    def _walk(self, start: str = "") -> list[str]:
        found: list[str] = [] if start.endswith("/") or not start else [start]
        for folder, folders, files in os.walk(self.project / start) if not found else ():
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
            inside = Path(folder).relative_to(self.project)
            found += [(inside / name).as_posix() for name in sorted(files)]
            if len(found) > _MOST_FILES:
                raise WorkspaceError(f"There are more than {_MOST_FILES} files, and no git to say which changed.")
        return found
