"""Levels 2 to 0: a copy of the project, for machines without an overlay."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.restrictions import UNRESTRICTED, Restrictions
from rails.sandbox.layer import (
    MOST_ENTRIES,
    TOOL_CACHES,
    IgnoredBy,
    Layer,
    LayerChange,
    layer_entry,
    open_folder,
    real_place,
    remove_entry,
)

#: A project larger than this is not copied.
_COPY_BYTES: Final = 400_000_000


class CopyLayer(Layer):
    """A copy of the project; what differs from it as copied is the change."""

    writable = True

    def __init__(
        self,
        project: Path,
        ignored: IgnoredBy = lambda _: (),
        restrictions: Restrictions = UNRESTRICTED,
        *,
        links: bool = False,
    ) -> None:
        super().__init__(project, ignored, restrictions)
        self.root = self.upper = self._made("copy")
        self._copied: dict[str, tuple[int, ...]] = {}
        self._sources: dict[str, tuple[int, ...]] = {}
        try:
            self._copy()
            for name in self._installed if links else ():
                if name != ".rails" and (project / name).exists():
                    (self.root / name).symlink_to(project / name)
        except OSError as error:
            self.close()
            raise CheckError(f"The project could not be copied: {error.strerror}. Nothing was run.") from error
        except CheckError:
            self.close()
            raise

    def _copy(self) -> None:
        """Copy what is new or changed since; replaces what a command wrote there."""
        size, there = 0, set()
        for name, source in _files_below(self.project, self._installed):
            if self.restrictions.reason(name):
                continue
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

    def hidden(self) -> Sequence[tuple[str, bool]]:
        """Return nothing: hidden files are not copied."""
        return ()

    def _take(self, name: str, source: Path, info: os.stat_result) -> None:
        place = real_place(self.root, name)
        remove_entry(place)
        if stat.S_ISLNK(info.st_mode):
            place.symlink_to(source.readlink())
        else:
            shutil.copy2(source, place)
        self._sources[name], self._copied[name] = _facts(info), _facts(place.lstat())

    def _remove(self, name: str) -> None:
        remove_entry(real_place(self.root, name))
        self._sources.pop(name, None)
        self._copied.pop(name, None)

    def refresh(self) -> None:
        """Copy the project's changes since."""
        super().refresh()
        self._copy()

    def _walk(self) -> Iterator[LayerChange]:
        seen = set()
        for count, (name, place) in enumerate(_files_below(self.root, self._installed, all_kinds=True)):
            if count > MOST_ENTRIES + len(self._copied):
                raise CheckError(f"The command left more than {MOST_ENTRIES} files. Nothing was taken.")
            seen.add(name)
            info = place.lstat()
            if self._copied.get(name) != _facts(info):
                yield layer_entry(name, place, info)
        for name in set(self._copied) - seen:
            yield LayerChange(name, fault="it was a link and was deleted" if (self.project / name).is_symlink() else "")

    @property
    def own_bytes(self) -> int:  # type: ignore[override]
        """Return the size of the copy."""
        return sum(size + 4096 for _, size, *_ in self._copied.values())

    def clear(self) -> None:
        """Remove what commands left; copy again."""
        super().clear()
        self._sources.clear()
        self._copied.clear()
        self._copy()

    def drop(self, paths: Collection[str] | None = None) -> None:
        """Restore the project's state."""
        for name in [one.path for one in self._proposed()] if paths is None else list(paths):
            self._remove(name)
            self._bases.pop(name, None)
        self._copy()


def _files_below(root: Path, without: Collection[str], *, all_kinds: bool = False) -> Iterator[tuple[str, Path]]:
    for base, folders, files in os.walk(root):
        inside = os.path.relpath(base, root)
        top = inside == "."
        links = [name for name in folders if Path(base, name).is_symlink()]
        kept = [one for one in folders if one not in TOOL_CACHES and one not in links]
        kept = [one for one in kept if all_kinds or one != ".rails"]
        folders[:] = [one for one in kept if not (top and one in without)]
        for name in folders if all_kinds else ():
            open_folder(Path(base, name))
        for name in (*files, *links):
            if top and name in without:
                continue
            place = Path(base, name)
            if all_kinds or stat.S_IFMT(place.lstat().st_mode) in (stat.S_IFREG, stat.S_IFLNK):
                yield str(Path(inside, name)), place


def _facts(info: os.stat_result) -> tuple[int, ...]:
    """Return what identifies a file's state; the last (ctime) cannot be set back."""
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns
