"""Level 3: an overlay over the project; free to make."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.core.restrictions import UNRESTRICTED, Restrictions
from rails.core.text import one_line
from rails.sandbox.layer import (
    MOST_ENTRIES,
    TOOL_CACHES,
    IgnoredBy,
    Layer,
    LayerChange,
    files_below,
    layer_entry,
    mode_of,
    open_folder,
    real_place,
    remove_entry,
)


class OverlayLayer(Layer):
    """The upper side of an overlay: a present file differs, device 0:0 is a deletion."""

    #: Relative to the layer's folder, so that no path has a character that the option's grammar means otherwise.
    OPTIONS: Final = b"lowerdir=lower,upperdir=upper,workdir=work,userxattr"
    writable = True

    def __init__(
        self, project: Path, ignored: IgnoredBy = lambda _: (), restrictions: Restrictions = UNRESTRICTED
    ) -> None:
        super().__init__(project, ignored, restrictions)
        self.root, _ = map(self._made, ("merged", "work"))
        (self.folder / "lower").symlink_to(project)

    def _walk(self) -> Iterator[LayerChange]:
        waiting, seen = [""], 0
        anew: set[str] = set()
        while waiting:
            folders: list[str] = []
            for base in waiting:
                open_folder(self.upper / base)
                # What is made in a folder that was made anew is new, too, and says nothing of it.
                if _is_opaque(self.upper / base) or f"{base[:-1].rpartition('/')[0]}/" in anew:
                    anew.add(base)
                    yield from self._gone(base, without={entry.name for entry in (self.upper / base).iterdir()})
                for entry in os.scandir(self.upper / base):
                    seen += 1
                    if seen > MOST_ENTRIES:
                        raise CheckError(f"The command left more than {MOST_ENTRIES} files. Nothing was taken.")
                    name = f"{base}{entry.name}"
                    if entry.name in TOOL_CACHES or (not base and entry.name in self._installed):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{name}/")
                        if not stat.S_ISDIR(mode_of(self.project / name)):
                            yield from self._missing(name)
                    else:
                        yield from self._changed(name)
            hidden = set(self._ignored(folders)) if folders else set()
            waiting = [name for name in folders if name not in hidden]

    def _changed(self, name: str) -> Iterator[LayerChange]:
        info = (self.upper / name).lstat()
        if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
            yield from self._missing(name)
            return
        if (self.project / name).is_dir():
            yield from self._gone(f"{name}/")
        yield layer_entry(name, self.upper / name)

    def _missing(self, name: str) -> Iterator[LayerChange]:
        mode = mode_of(self.project / name)
        if stat.S_ISDIR(mode):
            yield from self._gone(f"{name}/")
        elif mode:
            yield LayerChange(name, fault="" if stat.S_ISREG(mode) else "it was a link or no file, and is gone")

    def _gone(self, base: str, without: Collection[str] = ()) -> Iterator[LayerChange]:
        start = self.project / base
        if real_path(start) != start:
            return
        for count, (name, _) in enumerate(files_below(start, without), start=1):
            if count > limits.FILES_PER_CHANGE:
                raise CheckError(
                    f"The command removed {one_line(base)} with more files than one change may have. Nothing was taken."
                )
            yield LayerChange(f"{base}{name}")

    def _hide(self, name: str, place: Path) -> None:
        if os.path.lexists(self.project / name):
            os.mknod(place, stat.S_IFCHR | 0o000, 0)

    def _restore(self, name: str) -> None:
        remove_entry(real_place(self.upper, name))
        for inside in Path(name).parents:
            if _is_opaque(self.upper / inside):
                os.removexattr(self.upper / inside, "user.overlay.opaque", follow_symlinks=False)


def _is_opaque(place: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(place, "user.overlay.opaque", follow_symlinks=False) == b"y"
    return False
