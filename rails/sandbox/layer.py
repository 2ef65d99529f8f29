"""The layer that a contained command writes to: a layer over the project, proposed as a change set.

A second command sees what the first left. What tools regenerate and git ignores stays in the layer. Links, devices,
pipes, set-user-id bits and invalid names are left out and reported. Layer content is hostile: access goes through
:func:`real_place`, so that no link leads out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import CheckError, Refusal, WorkspaceError
from rails.core.paths import exact_path, forbidden
from rails.core.plain_file import read_ordinary, real_path
from rails.core.restrictions import RESTRICTIONS_NAME, UNRESTRICTED, Restrictions
from rails.core.scratch import kept_folder
from rails.core.text import one_line
from rails.processes.programs import run_tool

#: Says which of these paths (folders end in ``/``) git ignores; what does not know git ignores nothing.
IgnoredBy = Callable[[Collection[str]], Collection[str]]
#: Folders of a project that hold installed packages: read-only, and never part of a change.
CACHES: Final = (".venv", "venv", "node_modules")
#: What tools make again whenever they like: it stays in the session and is proposed to nobody.
TOOL_CACHES: Final = frozenset(
    str.split("__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .nyc_output .cache")
)
#: What a walk looks at before it gives up.
MOST_ENTRIES: Final = 50_000
#: What a project may hide from commands, each by a mount of its own.
_MOST_HIDDEN: Final = 500
#: What is looked through for it before each command, and how long.
_MOST_LOOKED_AT: Final = 500_000
_LOOK_SECONDS: Final = 20.0
#: What a command finds in ``/etc`` that is ours.
_ETC: Final = {
    "passwd": "nobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n",
    "group": "nogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n",
}


class LayerChange(Struct, frozen=True):
    """A file that differs: bytes (None: gone) and mode, or a fault."""

    path: str
    after: bytes | None = None
    mode: int = 0o644
    fault: str = ""


class Layer(contextlib.AbstractContextManager["Layer", None]):
    """The shared part, and the read-only layer.

    ``root``: seen as the project; ``upper``: what a command wrote.
    """

    writable = False
    #: What of the layer on the disk no command wrote.
    own_bytes = 0

    def __init__(
        self, project: Path, ignored: IgnoredBy = lambda _: (), restrictions: Restrictions = UNRESTRICTED
    ) -> None:
        self.project = project
        self._ignored = ignored
        self.restrictions = restrictions
        self.folder = kept_folder("sandbox")
        #: Also where an interrupt comes before the layer is whole, and has an owner.
        self._end = weakref.finalize(self, _remove_all, self.folder)
        if self.folder.resolve().is_relative_to(project):
            self.close()
            raise WorkspaceError("The folder for temporary files lies in the project. Set TMPDIR to another one.")
        self.turn = threading.Lock()
        self.etc, self.output, self.temporary, self.upper = map(self._made, ("etc", "output", "tmp", "upper"))
        self.root = project
        self.empty = self.folder / "empty"
        self.empty.touch()
        for name, text in _ETC.items():
            (self.etc / name).write_text(text)
        self._bases: dict[str, bytes | None] = {}
        # Read-only where the project has them; a new one of git or of ours is a change like any other, and refused.
        self._installed = {*CACHES, *(name for name in (".git", ".rails") if (project / name).exists())}

    def _made(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    def changes(self) -> tuple[ChangeSet, tuple[str, ...]]:
        """Return the change set, and in words what is left out. Raises CheckError if too much."""
        try:
            found: list[FileChange] = []
            left_out: list[str] = []
            size = 0
            for one in self._proposed():
                path = exact_path(one.path)
                if isinstance(path, Refusal):
                    left_out.append(str(path))
                    continue
                fault = one.fault or forbidden(path, self.project) or self.restrictions.reason(one.path)
                if real_path(self.project / one.path) != real_path(self.project) / one.path:
                    fault = fault or "it, or a folder above it, is a link in the project"
                if fault:
                    left_out.append(f"{one_line(one.path)} was left out: {fault}.")
                    continue
                before, mode = self._before(one.path)
                if None not in (before, one.after) and (one.mode ^ mode) & 0o111:
                    left_out.append(f"{one_line(one.path)}: that its mode is {one.mode:o} now was left out.")
                if one.after == before:
                    continue
                found.append(FileChange(path, before, one.after, one.mode if before is None else mode))
                size += len(one.after or b"")
                if len(found) > limits.FILES_PER_CHANGE or size > limits.CHANGE_BYTES:
                    bound = f"{limits.FILES_PER_CHANGE} files or {limits.CHANGE_BYTES // 1_000_000} MB"
                    raise CheckError(
                        f"The command changed more than {bound}, which nobody can approve. Nothing was taken."
                    )
        except (OSError, RecursionError) as error:
            words = getattr(error, "strerror", None) or "its folders are too deep"
            raise CheckError(f"What the command left cannot be read: {words}. Nothing was taken.") from error
        self._bases |= {str(change.path): change.before for change in found}
        left_out[20:] = [f"{len(left_out) - 20} more were left out."] * (len(left_out) > 20)
        return ChangeSet(tuple(sorted(found, key=lambda change: change.path))), tuple(left_out)

    def hidden(self) -> Iterable[tuple[Path, bool]]:
        """Return what a command may not see, each with whether it is a folder. Raises CheckError."""
        return hidden_in(self.project, self.restrictions)

    def _before(self, name: str) -> tuple[bytes | None, int]:
        place = self.project / name
        mode = mode_of(place)
        if not stat.S_ISREG(mode):
            return None, 0o644
        try:
            data = read_ordinary(place, limits.FILE_BYTES, links=False)
        except OSError as error:
            raise CheckError(f"{name} cannot be compared: {error.strerror}. Nothing was taken.") from error
        if len(data) > limits.FILE_BYTES:
            raise CheckError(f"{name} is too large to be compared. Nothing was taken.")
        return data, stat.S_IMODE(mode) & 0o777

    def _proposed(self) -> Iterator[LayerChange]:
        entries = sorted(self._walk(), key=lambda one: one.path)
        ignored = set(self._ignored([one.path for one in entries])) if entries else set()
        return (one for one in entries if one.path not in ignored)

    def _walk(self) -> Iterator[LayerChange]:
        return iter(())

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Write contents (None: no file) as a command would."""
        for name, data in contents.items():
            place = real_place(self.upper, name)
            place.unlink(missing_ok=True)
            if data is None:
                self._hide(name, place)
                continue
            place.write_bytes(data)
            with contextlib.suppress(OSError):
                place.chmod(stat.S_IMODE((self.project / name).stat().st_mode) & 0o777)

    def _hide(self, name: str, place: Path) -> None:
        """Hide the project's file at an empty place of the layer."""

    def drop(self, paths: Iterable[str] | None = None) -> None:
        """Restore the project's state at ``paths``; None: at all proposed."""
        names = {one.path for one in self._proposed()} if paths is None else paths
        for name in sorted(names, reverse=True):  # what is in a folder before what the folder stands for
            self._restore(name)
            self._bases.pop(name, None)

    def _restore(self, name: str) -> None:
        """Restore the project's state at one path."""

    def clear(self) -> None:
        """Remove all that commands left."""
        for folder in (self.upper, self.temporary):
            open_folder(folder)
            for entry in folder.iterdir():
                if not (entry.is_symlink() and entry.name in self._installed):
                    remove_entry(entry)
        self._bases.clear()

    def refresh(self) -> None:
        """Forget proposals on an outdated state; before each command."""
        changed = [name for name, data in self._bases.items() if self._before(name)[0] != data]
        if changed:
            self.drop(changed)

    def read(self, name: str) -> bytes | None:
        """Return a command's bytes at ``name``, or None."""
        place = self.upper / name
        behind_link = real_path(place) != real_path(self.upper) / name
        return None if behind_link or not place.is_file() else read_ordinary(place, limits.FILE_BYTES, links=False)

    def close(self, *_: object) -> None:
        """Remove the layer from the disk."""
        self._end()

    __exit__ = close


def hidden_in(folder: Path, restrictions: Restrictions = UNRESTRICTED) -> Iterator[tuple[Path, bool]]:
    """Yield what commands may not see in a folder, each with whether it is a folder.

    That is what is restricted, and AI-Rails' folders at any depth. Raises CheckError if there is too much, or a folder
    that cannot be listed: a command could open it in its layer.
    """
    looked_at = found = 0
    until = time.monotonic() + _LOOK_SECONDS
    for base, folders, files in os.walk(folder, onerror=_not_looked_at if restrictions else None):
        inside = f"{base.removeprefix(str(folder)).strip('/')}/".lstrip("/")
        passed = {*(() if inside else (".git",)), *(() if restrictions else CACHES)}
        names = [*(f"{name}/" for name in folders if name not in passed), *(files if restrictions else ())]
        looked_at += len(names)
        if looked_at > _MOST_LOOKED_AT or time.monotonic() > until:
            raise CheckError(
                f"What commands may not see in {one_line(str(folder), 200)} was not found within {_MOST_LOOKED_AT:,} "
                f"files, or {_LOOK_SECONDS:.0f} s: it is too large to be looked through. Nothing was run."
            )
        closed = {name for name in names if name == ".rails/" or restrictions.reason(f"{inside}{name}")}
        folders[:] = [name for name in folders if name not in passed and f"{name}/" not in closed]
        for name in closed:
            place = Path(base, name)
            if not place.is_symlink():
                found += 1
                yield place, name.endswith("/")
        if found > _MOST_HIDDEN:
            raise CheckError(
                f"More than {_MOST_HIDDEN} files and folders are hidden; name a folder around them in "
                f"{RESTRICTIONS_NAME}. Nothing was run."
            )


def _not_looked_at(error: OSError) -> None:
    raise CheckError(
        f"{one_line(str(error.filename), 200)} cannot be read ({error.strerror}), so nobody knows what "
        f"{RESTRICTIONS_NAME} hides there. Make it readable, or restrict it as a whole. Nothing was run."
    )


def files_below(root: Path, without: Collection[str] = (), *, all_kinds: bool = False) -> Iterator[tuple[str, Path]]:
    """Yield files and links below ``root``, but what tools make again, and ``without`` at the top.

    ``all_kinds``: in a layer, with all that a command made there.
    """
    for base, folders, files in os.walk(root):
        inside = os.path.relpath(base, root)
        passed = TOOL_CACHES.union(without if inside == "." else (), () if all_kinds else (".rails",))
        links = [name for name in folders if Path(base, name).is_symlink()]
        folders[:] = [name for name in folders if name not in passed and name not in links]
        for name in folders if all_kinds else ():
            open_folder(Path(base, name))
        for name in (*files, *links):
            place = Path(base, name)
            if name not in passed and (all_kinds or stat.S_IFMT(mode_of(place)) in (stat.S_IFREG, stat.S_IFLNK)):
                yield os.path.normpath(f"{inside}/{name}"), place


def _remove_all(folder: Path) -> None:
    """Remove a folder, however deep or unreadable; leave the rest to the system."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        with contextlib.suppress(CheckError):
            run_tool(["/bin/sh", "-c", 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"', str(folder)])


def real_place(root: Path, name: str) -> Path:
    """Return ``name`` below ``root``, with all folders made real, ours and no links."""
    place = root
    for part in Path(name).parts[:-1]:
        place /= part
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
            place.mkdir()
        open_folder(place)
    return root / name


def open_folder(place: Path) -> None:
    """Make a folder (no link) accessible that a command closed."""
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        place.chmod(0o700)


def remove_entry(place: Path) -> None:
    """Remove a file, link or folder of a layer, if any."""
    if place.is_dir() and not place.is_symlink():
        _remove_all(place)
    else:
        place.unlink(missing_ok=True)


def layer_entry(name: str, place: Path) -> LayerChange:
    """Return a file's bytes, or the fault that no change may hold."""
    info = place.lstat()
    kinds = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = stat.S_IFMT(info.st_mode)
    if kind != stat.S_IFREG:
        return LayerChange(name, fault=f"it is {kinds.get(kind, 'a device')}")
    if info.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return LayerChange(name, fault="it is to run as another user (set-user-id)")
    if info.st_size > limits.FILE_BYTES:
        return LayerChange(name, fault=f"it has more than {limits.FILE_BYTES // 1_000_000} MB")
    if not info.st_mode & stat.S_IRUSR:  # its owner, who we are, shut it
        place.chmod(stat.S_IMODE(info.st_mode) | stat.S_IRUSR)
    data = read_ordinary(place, limits.FILE_BYTES, links=False)
    return LayerChange(name, data, stat.S_IMODE(info.st_mode) & 0o777)


def mode_of(place: Path) -> int:
    """Return a place's kind and mode, 0 if nothing is there."""
    try:
        return place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
