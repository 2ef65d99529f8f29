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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import limits, lock
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import CheckError, Refusal, WorkspaceError
from rails.core.paths import WorkspacePath, exact_path, forbidden
from rails.core.plain_file import real_path
from rails.core.restrictions import RESTRICTIONS_NAME, UNRESTRICTED, Restrictions
from rails.core.scratch import kept_folder
from rails.core.text import one_line, sha256
from rails.processes.programs import run_tool

#: Says which of these paths (folders end in ``/``) git ignores; what does not know git ignores nothing.
IgnoredBy = Callable[[Collection[str]], Collection[str]]
#: What programs need of ``/etc``: where libraries, alternatives, time zones and certificates are.
MINIMAL_ETC: Final = str.split(
    "ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone nsswitch.conf ssl/certs ssl/openssl.cnf"
    " ca-certificates.conf pki mime.types protocols services"
)
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
_PREFIX: Final = "ai-rails-sandbox-"


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
        self._locks: list[int] = []
        #: Also where an interrupt comes before the layer is whole, and has an owner.
        self._end = weakref.finalize(self, _end, self.folder, self._locks)
        _look_around(self.folder, project)
        # Held before it has its name: who finds a lock that nobody holds takes the folder for abandoned.
        unnamed = self.folder / "new"
        self._locks.append(os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        lock.acquire(self._locks[0])
        unnamed.rename(self.folder / "lock")
        self.turn = threading.Lock()
        self.etc, self.output, self.temporary = (self._made(name) for name in ("etc", "output", "tmp"))
        self.root = self.upper = project
        self.empty = self.folder / "empty"
        self.empty.touch()
        _write_etc(self.etc)
        self._bases: dict[str, str | None] = {}
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
                if real_path(self.project.joinpath(*path.parts)) != real_path(self.project).joinpath(*path.parts):
                    fault = fault or "it, or a folder above it, is a link in the project"
                if fault:
                    left_out.append(f"{one_line(one.path)} was left out: {fault}.")
                    continue
                before, mode = self._before(path)
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
            self._bases |= {str(change.path): change.before_sha256 for change in found}
            left_out[20:] = [f"{len(left_out) - 20} more were left out."] * (len(left_out) > 20)
            return ChangeSet(tuple(sorted(found, key=lambda change: change.path))), tuple(left_out)
        except (OSError, RecursionError) as error:
            words = getattr(error, "strerror", None) or "its folders are too deep"
            raise CheckError(f"What the command left cannot be read: {words}. Nothing was taken.") from error

    def hidden(self) -> Sequence[tuple[str, bool]]:
        """Return hidden paths, each with whether it is a folder. Raises CheckError."""
        looked_at, until = 0, time.monotonic() + _LOOK_SECONDS
        found = [(str(one.relative_to(self.project)), True) for one in own_states(self.project)]
        for base, folders, files in os.walk(self.project, onerror=_not_looked_at) if self.restrictions else ():
            looked_at += len(folders) + len(files)
            if too_much := _too_much(looked_at, until):
                words = f"What {RESTRICTIONS_NAME} hides {too_much}"
                raise CheckError(f"{words} Restrict its large folders as a whole. Nothing was run.")
            inside = "" if base == str(self.project) else f"{os.path.relpath(base, self.project)}/"
            folders[:] = [name for name in folders if name != ".rails" and f"{inside}{name}" != ".git"]
            names = [f"{inside}{name}" for name in (*(f"{name}/" for name in folders), *files)]
            closed = [name for name in names if self.restrictions.reason(name)]
            found += [(name.rstrip("/"), name.endswith("/")) for name in closed]
            folders[:] = [name for name in folders if f"{inside}{name}/" not in closed]
            if len(found) > _MOST_HIDDEN:
                words = f"{RESTRICTIONS_NAME} hides more than {_MOST_HIDDEN} files and folders"
                raise CheckError(f"{words}; name a folder around them. Nothing was run.")
        return [one for one in found if not (self.project / one[0]).is_symlink()]

    def _before(self, path: WorkspacePath) -> tuple[bytes | None, int]:
        place = self.project.joinpath(*path.parts)
        mode = mode_of(place)
        if not stat.S_ISREG(mode):
            return None, 0o644
        try:
            data = read_bounded(place, limits.FILE_BYTES + 1)
        except OSError as error:
            raise CheckError(f"{path} cannot be compared: {error.strerror}. Nothing was taken.") from error
        if len(data) > limits.FILE_BYTES:
            raise CheckError(f"{path} is too large to be compared. Nothing was taken.")
        return data, stat.S_IMODE(mode) & 0o777

    def _proposed(self) -> Iterator[LayerChange]:
        entries = sorted(self._walk(), key=lambda one: one.path)
        hidden = set(self._ignored([one.path for one in entries])) if entries else set()
        return (one for one in entries if one.path not in hidden)

    def _walk(self) -> Iterator[LayerChange]:
        return iter(())

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Write contents (None: no file) as a command would."""
        if not self.writable:
            raise NotImplementedError
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

    def drop(self, paths: Collection[str] | None = None) -> None:
        """Restore the project's state at ``paths``; None: at all proposed."""
        raise NotImplementedError

    def clear(self) -> None:
        """Remove all that commands left."""
        for folder in (self.upper, self.temporary) if self.writable else ():
            open_folder(folder)
            for entry in folder.iterdir():
                if not (entry.is_symlink() and entry.name in self._installed):
                    remove_entry(entry)
        self._bases.clear()

    def refresh(self) -> None:
        """Forget proposals on an outdated state; before each command."""
        changed = []
        for name, digest in self._bases.items():
            path = exact_path(name)
            if isinstance(path, WorkspacePath):
                now, _ = self._before(path)
                if (None if now is None else sha256(now)) != digest:
                    changed.append(name)
        if changed:
            self.drop(changed)

    def read(self, name: str, most: int = limits.FILE_BYTES) -> bytes | None:
        """Return a command's bytes at ``name``, or None."""
        place = self.upper / name
        behind_link = real_path(place) != real_path(self.upper) / name
        return None if behind_link or not place.is_file() else read_bounded(place, most)

    def close(self, *_: object) -> None:
        """Remove the layer from the disk."""
        self._end()

    __exit__ = close


def _too_much(looked_at: int, until: float) -> str:
    if looked_at <= _MOST_LOOKED_AT and time.monotonic() <= until:
        return ""
    bound = f"{_MOST_LOOKED_AT:,} files, or {_LOOK_SECONDS:.0f} s"
    return f"was not found within {bound}: the project is too large to be looked through."


def own_states(folder: Path) -> Iterator[Path]:
    """Yield AI-Rails' folders of a project and of those in it, at any depth.

    Raises CheckError if that takes too long, or through too many folders.
    """
    until = time.monotonic() + _LOOK_SECONDS
    waiting = [os.fspath(folder)]
    for looked_at, place in enumerate(waiting):  # the nearest first
        if too_much := _too_much(looked_at, until):
            raise CheckError(f"What AI-Rails keeps in {one_line(str(folder), 200)} {too_much} Nothing was run.")
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            facts = os.lstat(place)
            # Most disks count a folder's folders in its links. Where this one's are counted, one without is not opened.
            counted = facts.st_nlink == len(inner) + 2
            for entry in inner:
                if entry.name == ".rails":
                    yield Path(entry.path)
                elif entry.name not in (".git", *CACHES):
                    found = entry.stat(follow_symlinks=False)
                    if not counted or found.st_nlink != 2 or found.st_dev != facts.st_dev:
                        waiting.append(entry.path)


def _not_looked_at(error: OSError) -> None:
    """Refuse an unreadable folder: a command could open it in its layer."""
    raise CheckError(
        f"{one_line(str(error.filename), 200)} cannot be read ({error.strerror}), so nobody knows what "
        f"{RESTRICTIONS_NAME} hides there. Make it readable, or restrict it as a whole. Nothing was run."
    )


def _look_around(folder: Path, project: Path) -> None:
    """Check that a new layer is outside the project; remove those of killed owners."""
    if folder.resolve().is_relative_to(project):
        folder.rmdir()
        raise WorkspaceError("The folder for temporary files lies in the project. Set TMPDIR to another one.")
    for other in folder.parent.glob(f"{_PREFIX}*"):
        _remove_if_abandoned(other)  # not the new one, which has no lock yet


def _end(folder: Path, locks: list[int]) -> None:
    while locks:
        os.close(locks.pop())
    _remove_all(folder)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if lock.acquire(descriptor):
            _remove_all(folder)
    finally:
        os.close(descriptor)


def _remove_all(folder: Path) -> None:
    """Remove a folder, however deep or unreadable; leave the rest to the system."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        with contextlib.suppress(CheckError):
            run_tool(["/bin/sh", "-c", 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"', str(folder)])


def _write_etc(folder: Path) -> None:
    for name in MINIMAL_ETC:
        source, place = Path("/etc", name), folder / name
        place.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            if source.is_dir():
                place.mkdir()
            elif source.is_file():
                shutil.copyfile(source, place)
    (folder / "passwd").write_text("nobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n")
    (folder / "group").write_text("nogroup:x:65534:\n")
    (folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n")


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


def layer_entry(name: str, place: Path, info: os.stat_result) -> LayerChange:
    """Return a file's bytes, or the fault that no change may hold."""
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
    return LayerChange(name, read_bounded(place), stat.S_IMODE(info.st_mode) & 0o777)


def mode_of(place: Path) -> int:
    """Return a place's kind and mode, 0 if nothing is there."""
    try:
        return place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def read_bounded(place: Path, most: int = limits.FILE_BYTES) -> bytes:
    """Return the start of a file, not a link. Raises OSError."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most)
