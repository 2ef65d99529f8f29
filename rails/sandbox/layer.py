"""Where a contained command writes: a layer over the project, and what of it becomes a change set.

A layer lasts as long as its owner wants: a second command sees what the first left. :class:`OverlayLayer` is the
upper side of an overlay, and costs nothing to make; :class:`CopyLayer` is a copy of the project, for machines without
one. What tools make again and what git ignores stays in the layer; all else is proposed. A link, a device, a pipe, a
set-user-id bit, a name that no path may have: left out, and said.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from rails.core import limits, lock
from rails.core.changes import ChangeSet, FileChange
from rails.core.dataclass import dataclass
from rails.core.errors import CheckError, Refusal, WorkspaceError
from rails.core.paths import WorkspacePath, forbidden, parse_path
from rails.core.scratch import kept_folder
from rails.core.text import one_line, sha256
from rails.sandbox.places import CACHES, TOOL_CACHES

#: Says which of these paths (folders end in ``/``) git ignores; what does not know git ignores nothing.
IgnoredBy = Callable[[Collection[str]], Collection[str]]
#: What a walk looks at before it gives up.
_ENTRIES: Final = 50_000
#: A project larger than this is not copied.
_COPY_BYTES: Final = 400_000_000
_PREFIX: Final = "ai-rails-sandbox-"


@dataclass(frozen=True, slots=True)
class LayerChange:
    """One file that the layer holds otherwise than the project: its bytes (``None``: gone) and mode, or a fault."""

    path: str
    after: bytes | None = None
    mode: int = 0o644
    fault: str = ""


class Layer:
    """What both kinds share. ``root`` is what a command sees as the project."""

    def __init__(self, project: Path, ignored: IgnoredBy = lambda _: ()) -> None:
        self.project, self._ignored = project, ignored
        self.folder = _own_folder(project)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        lock.acquire(self._lock)
        self.turn = threading.Lock()
        self.etc, self.output, self.temporary = (self._made(name) for name in ("etc", "output", "tmp"))
        _write_etc(self.etc)
        self._bases: dict[str, str | None] = {}
        # Read-only where the project has them; a new one of git or of ours is a change like any other, and refused.
        self._installed = {*CACHES, *(name for name in (".git", ".rails") if (project / name).exists())}

    root: Path

    def _made(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    def changes(self) -> tuple[ChangeSet, tuple[str, ...]]:
        """Return what is to be proposed, and in words what is left out. Raises CheckError where it is too much."""
        found: list[FileChange] = []
        left_out: list[str] = []
        size = 0
        for one in self._proposed():
            path = parse_path(one.path)
            if isinstance(path, Refusal):
                left_out.append(str(path))
                continue
            fault = one.fault or forbidden(path) or self._behind_link(path)
            before, mode = (None, one.mode) if fault else self._before(path)
            if not fault and one.after == before:
                continue
            if fault:
                left_out.append(f"{one_line(one.path)} was left out: {fault}.")
                continue
            found.append(FileChange(path, before, one.after, one.mode if before is None else mode))
            size += len(one.after or b"")
            if len(found) > limits.FILES_PER_CHANGE or size > limits.CHANGE_BYTES:
                bound = f"{limits.FILES_PER_CHANGE} files and {limits.CHANGE_BYTES // 1_000_000} MB"
                raise CheckError(f"The command changed more than {bound}, which nobody can approve. Nothing was taken.")
        self._bases |= {str(change.path): change.before_sha256 for change in found}
        return ChangeSet(tuple(sorted(found, key=lambda change: change.path))), tuple(left_out[:20])

    def _behind_link(self, path: WorkspacePath) -> str:
        """Say so when the project has a link where the layer has a folder: what is there is another place's."""
        folders = list(Path(*path.parts).parents)[:-1]
        return (
            "one of its folders is a link in the project"
            if any((self.project / one).is_symlink() for one in folders)
            else ""
        )

    def _before(self, path: WorkspacePath) -> tuple[bytes | None, int]:
        """Return what the project has there. Raises CheckError where it cannot be read."""
        place = self.project.joinpath(*path.parts)
        try:
            info = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None, 0o644
        if not stat.S_ISREG(info.st_mode):
            return None, 0o644
        if info.st_size > limits.FILE_BYTES:
            raise CheckError(f"{path} is too large to be compared. Nothing was taken.")
        return _read(place), stat.S_IMODE(info.st_mode) & 0o777

    def _proposed(self) -> Iterator[LayerChange]:
        """Yield what differs, in path order, without what git ignores."""
        entries = sorted(self._walk(), key=lambda one: one.path)
        hidden = set(self._ignored([one.path for one in entries])) if entries else set()
        return (one for one in entries if one.path not in hidden)

    def _walk(self) -> Iterator[LayerChange]:
        raise NotImplementedError

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Write proposed contents into the layer (``None``: no such file), as if a command had."""
        raise NotImplementedError

    def drop(self, paths: Collection[str] | None = None) -> None:
        """Let the project show through again at ``paths``; ``None``: wherever something would be proposed."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Forget what was proposed on top of a state that the project no longer has; before each command."""
        changed = []
        for name, digest in self._bases.items():
            path = parse_path(name)
            if isinstance(path, WorkspacePath):
                now, _ = self._before(path)
                if (None if now is None else sha256(now)) != digest:
                    changed.append(name)
        if changed:
            self.drop(changed)

    def read(self, name: str, most: int = limits.FILE_BYTES) -> bytes | None:
        """Return the bytes that a command left at ``name``, ``None`` where there is no such file."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove the layer from the disk."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        shutil.rmtree(self.folder, onerror=_force)

    def __enter__(self) -> Layer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OverlayLayer(Layer):
    """The upper side of an overlay, which is the change: a file that is there differs, a device 0:0 is a deletion."""

    #: Relative to the layer's folder, so that no path has a character that the option's grammar means otherwise.
    OPTIONS: Final = b"lowerdir=lower,upperdir=upper,workdir=work,userxattr"

    def __init__(self, project: Path, ignored: IgnoredBy = lambda _: ()) -> None:
        super().__init__(project, ignored)
        self.upper, self.root, _ = (self._made(name) for name in ("upper", "merged", "work"))
        (self.folder / "lower").symlink_to(project, target_is_directory=True)

    def _walk(self) -> Iterator[LayerChange]:
        waiting, seen = [""], 0
        while waiting:
            folders: list[str] = []
            for base in waiting:
                if _is_opaque(self.upper / base):
                    there = {entry.name for entry in (self.upper / base).iterdir()}
                    yield from self._gone(base, without=there)
                for entry in os.scandir(self.upper / base):
                    seen += 1
                    if seen > _ENTRIES:
                        raise CheckError(f"The command left more than {_ENTRIES} files. Nothing was taken.")
                    name = f"{base}{entry.name}"
                    if entry.name in TOOL_CACHES or (not base and entry.name in self._installed):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{name}/")
                    else:
                        yield from self._changed(name, entry)
            hidden = set(self._ignored(folders)) if folders else set()
            waiting = [name for name in folders if name not in hidden]

    def _changed(self, name: str, entry: os.DirEntry[str]) -> Iterator[LayerChange]:
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
            lower = self.project / name
            if lower.is_dir() and not lower.is_symlink():
                yield from self._gone(f"{name}/")
            elif lower.is_symlink() or not lower.is_file():
                yield (
                    LayerChange(name, fault="it was a link or no file, and is gone")
                    if os.path.lexists(lower)
                    else (LayerChange(name))
                )
            else:
                yield LayerChange(name)
            return
        if (self.project / name).is_dir():
            yield from self._gone(f"{name}/")
        yield _entry(name, self.upper / name, info)

    def _gone(self, base: str, without: Collection[str] = ()) -> Iterator[LayerChange]:
        """Yield each file of the project below a folder that is gone, or was made anew."""
        count, start = 0, self.project / base
        if start.resolve() != start:
            return
        for folder, folders, files in os.walk(start):
            inside = os.path.relpath(folder, self.project)
            top = Path(folder) == start
            folders[:] = [one for one in folders if one not in TOOL_CACHES and not (top and one in without)]
            for name in files:
                if not (top and name in without):
                    count += 1
                    if count > limits.FILES_PER_CHANGE:
                        raise CheckError(
                            f"The command removed {one_line(base)} with more files than one change may have."
                        )
                    yield LayerChange(str(Path(inside, name)))

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Write them where the project does not show through."""
        for name, data in contents.items():
            place = self.upper / name
            _make_folders(self.upper, self.project, name)
            with contextlib.suppress(FileNotFoundError):
                place.unlink()
            if data is not None:
                place.write_bytes(data)
                with contextlib.suppress(OSError):
                    place.chmod(stat.S_IMODE((self.project / name).stat().st_mode) & 0o777)
            elif os.path.lexists(self.project / name):
                os.mknod(place, stat.S_IFCHR | 0o000, 0)

    def drop(self, paths: Collection[str] | None = None) -> None:
        """Let the project show through again."""
        for name in {one.path for one in self._proposed()} if paths is None else paths:
            place = self.upper / name
            self._uncover(Path(name).parent)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                place.unlink()
            self._bases.pop(name, None)

    def _uncover(self, folder: Path) -> None:
        """Let a folder that was removed or made anew show the project's files again, and all above it."""
        for inside in (folder, *folder.parents):
            place = self.upper / inside
            if _is_opaque(place):
                os.removexattr(place, "user.overlay.opaque", follow_symlinks=False)
            elif place.exists() and not place.is_dir():
                place.unlink()

    def read(self, name: str, most: int = limits.FILE_BYTES) -> bytes | None:
        """Return what a command left there."""
        place = self.upper / name
        return _read(place, most) if place.is_file() and not place.is_symlink() else None


class CopyLayer(Layer):
    """A copy of the project; what differs from how it was copied is the change."""

    def __init__(self, project: Path, ignored: IgnoredBy = lambda _: (), *, links: bool = False) -> None:
        super().__init__(project, ignored)
        self.root = self._made("copy")
        self._copied: dict[str, tuple[int, ...]] = {}
        self._sources: dict[str, tuple[int, ...]] = {}
        try:
            self._copy()
            for name in self._installed if links else ():
                if (project / name).exists():
                    (self.root / name).symlink_to(project / name)
        except OSError as error:
            self.close()
            raise CheckError(f"The project could not be copied: {error.strerror}. Nothing was run.") from error
        except CheckError:
            self.close()
            raise

    def _copy(self) -> None:
        """Copy what is new or has changed since it was copied; what a command wrote there meanwhile is replaced."""
        size, there = 0, set()
        for name, source in _files_below(self.project, self._installed):
            info = source.lstat()
            size += info.st_size
            if size > _COPY_BYTES:
                bound = _COPY_BYTES // 1_000_000
                raise CheckError(
                    f"The project has more than {bound} MB; it is not copied for a command. Nothing was run."
                )
            there.add(name)
            if self._sources.get(name) != _facts(info):
                self._take(name, source, info)
        for name in set(self._sources) - there:
            self._remove(name)

    def _take(self, name: str, source: Path, info: os.stat_result) -> None:
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            place.unlink()
        if stat.S_ISLNK(info.st_mode):
            place.symlink_to(source.readlink())
        else:
            _clone(source, place)
        self._sources[name], self._copied[name] = _facts(info), _facts(place.lstat())

    def _remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            (self.root / name).unlink()
        self._sources.pop(name, None)
        self._copied.pop(name, None)

    def refresh(self) -> None:
        """Take over what changed in the project since."""
        super().refresh()
        self._copy()

    def _walk(self) -> Iterator[LayerChange]:
        seen = set()
        for count, (name, place) in enumerate(_files_below(self.root, self._installed, all_kinds=True)):
            if count > _ENTRIES + len(self._copied):
                raise CheckError(f"The command left more than {_ENTRIES} files. Nothing was taken.")
            seen.add(name)
            info = place.lstat()
            if self._copied.get(name) != _facts(info):
                yield _entry(name, place, info)
        for name in set(self._copied) - seen:
            linked = (self.project / name).is_symlink()
            yield LayerChange(name, fault="it was a link, and is gone" if linked else "")

    def put(self, contents: Mapping[str, bytes | None]) -> None:
        """Write them where the project does not show through."""
        for name, data in contents.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                place.unlink()
            if data is not None:
                place.write_bytes(data)

    def drop(self, paths: Collection[str] | None = None) -> None:
        """Let the project show through again."""
        for name in [one.path for one in self._proposed()] if paths is None else list(paths):
            place = self.root / name
            self._remove(name)
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, onerror=_force)
            self._bases.pop(name, None)
        self._copy()

    def read(self, name: str, most: int = limits.FILE_BYTES) -> bytes | None:
        """Return what a command left there."""
        place = self.root / name
        return _read(place, most) if place.is_file() and not place.is_symlink() else None


def _own_folder(project: Path) -> Path:
    """Make a private folder outside the project, and remove what killed owners left behind."""
    folder = kept_folder("sandbox")
    if folder.resolve().is_relative_to(project):
        folder.rmdir()
        raise WorkspaceError("The folder for temporary files lies in the project. Set TMPDIR to another one.")
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder:
            _remove_if_abandoned(other)
    return folder


def _remove_if_abandoned(folder: Path) -> None:
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if lock.acquire(descriptor):
            shutil.rmtree(folder, onerror=_force)
    finally:
        os.close(descriptor)


def _force(function: Callable[..., object], path: str, _: object) -> None:
    """Make a folder that its owner shut writable and remove it; what cannot be removed is left to the system."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120
        os.chmod(path, 0o700)  # noqa: PTH101
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            shutil.rmtree(path, ignore_errors=True)
        else:
            function(path)


def _write_etc(folder: Path) -> None:
    (folder / "passwd").write_text("nobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n")
    (folder / "group").write_text("nogroup:x:65534:\n")
    (folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n")


def _entry(name: str, place: Path, info: os.stat_result) -> LayerChange:
    """Return a file's bytes, or what kind of thing it is that no change may hold."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = stat.S_IFMT(info.st_mode)
    if kind != stat.S_IFREG:
        return LayerChange(name, fault=f"it is {kinds.get(kind, 'a device')}")
    if info.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return LayerChange(name, fault="it is to run as another user (set-user-id)")
    if info.st_size > limits.FILE_BYTES:
        return LayerChange(name, fault=f"it has more than {limits.FILE_BYTES // 1_000_000} MB")
    return LayerChange(name, _read(place), stat.S_IMODE(info.st_mode) & 0o777)


def _read(place: Path, most: int = limits.FILE_BYTES) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:  # its owner, who we are, shut it
        place.chmod(0o600)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most)


def _is_opaque(place: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(place, "user.overlay.opaque", follow_symlinks=False) == b"y"
    return False


def _make_folders(upper: Path, project: Path, name: str) -> None:
    inside = Path()
    for part in Path(name).parts[:-1]:
        inside /= part
        if not (upper / inside).is_dir():
            (upper / inside).mkdir()
            with contextlib.suppress(OSError):
                (upper / inside).chmod(stat.S_IMODE((project / inside).stat().st_mode) | 0o700)


def _files_below(root: Path, without: Collection[str], *, all_kinds: bool = False) -> Iterator[tuple[str, Path]]:
    """Yield each file of a project with its name; ``without`` are names at its top; ``all_kinds``: pipes, too."""
    for base, folders, files in os.walk(root):
        inside = os.path.relpath(base, root)
        top = inside == "."
        links = [name for name in folders if Path(base, name).is_symlink()]
        kept = [one for one in folders if one not in TOOL_CACHES and one not in links]
        folders[:] = [one for one in kept if not (top and one in without)]
        for name in (*files, *links):
            if top and name in without:
                continue
            place = Path(base, name)
            if all_kinds or stat.S_IFMT(place.lstat().st_mode) in (stat.S_IFREG, stat.S_IFLNK):
                yield str(Path(inside, name)), place


def _facts(info: os.stat_result) -> tuple[int, ...]:
    """Return what tells one state of a file from another; nobody can set back the last of them."""
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns


def _clone(source: Path, place: Path) -> None:
    """Copy a file; the kernel shares its blocks where the file system can (not tested on one that can)."""
    with source.open("rb") as before, place.open("wb") as after:
        try:
            while os.copy_file_range(before.fileno(), after.fileno(), 1 << 30):
                pass
        except OSError:
            shutil.copyfileobj(before, after)
    shutil.copystat(source, place)
