"""Levels 2 to 0: a copy of the project, for machines without an overlay."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.restrictions import UNRESTRICTED, Restrictions
from rails.sandbox.layer import (
    MOST_ENTRIES,
    IgnoredBy,
    Layer,
    LayerChange,
    files_below,
    layer_entry,
    real_place,
    remove_entry,
)

#: A project larger than this is not copied.
_COPY_BYTES: Final = 400_000_000
_Facts = tuple[int, ...]


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
        self.root = self.upper
        #: Of each file: the project's facts when it was copied, and the copy's.
        self._copied: dict[str, tuple[_Facts, _Facts]] = {}
        try:
            self._copy()
            for name in self._installed - {".rails"} if links else ():
                if (project / name).exists():
                    (self.root / name).symlink_to(project / name)
        except (OSError, CheckError) as error:
            self.close()
            if isinstance(error, CheckError):
                raise
            raise CheckError(f"The project could not be copied: {error.strerror}. Nothing was run.") from error

    def _copy(self) -> None:
        """Copy what is new or changed since; replaces what a command wrote there."""
        size, gone = 0, {*self._copied}
        for name, source in files_below(self.project, self._installed):
            if self.restrictions.reason(name):
                continue
            facts = _facts(source)
            size += facts[1]
            if size > _COPY_BYTES:
                bound = _COPY_BYTES // 1_000_000
                raise CheckError(
                    f"The project has more than {bound} MB; it is not copied for a command. Nothing was run."
                )
            gone.discard(name)
            if name not in self._copied or self._copied[name][0] != facts:
                place = real_place(self.root, name)
                remove_entry(place)
                shutil.copy2(source, place, follow_symlinks=False)
                self._copied[name] = facts, _facts(place)
        for name in gone:
            self._restore(name)

    def _restore(self, name: str) -> None:
        remove_entry(real_place(self.root, name))
        self._copied.pop(name, None)

    def hidden(self) -> Iterable[tuple[Path, bool]]:
        """Return nothing: hidden files are not copied."""
        return ()

    def refresh(self) -> None:
        """Copy the project's changes since."""
        super().refresh()
        self._copy()

    def _walk(self) -> Iterator[LayerChange]:
        deleted = {*self._copied}
        for count, (name, place) in enumerate(files_below(self.root, self._installed, all_kinds=True)):
            if count > MOST_ENTRIES + len(self._copied):
                raise CheckError(f"The command left more than {MOST_ENTRIES} files. Nothing was taken.")
            deleted.discard(name)
            if name not in self._copied or self._copied[name][1] != _facts(place):
                yield layer_entry(name, place)
        for name in deleted:
            yield LayerChange(name, fault="it was a link and was deleted" if (self.project / name).is_symlink() else "")

    @property
    def own_bytes(self) -> int:  # type: ignore[override]
        """Return the size of the copy."""
        return sum(copy[1] + 4096 for _, copy in self._copied.values())

    def clear(self) -> None:
        """Remove what commands left; copy again."""
        super().clear()
        self._copied.clear()
        self._copy()

    def drop(self, paths: Iterable[str] | None = None) -> None:
        """Restore the project's state."""
        super().drop(paths)
        self._copy()


def _facts(place: Path) -> _Facts:
    """Return what identifies a file's state; the last (ctime) cannot be set back."""
    info = place.lstat()
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns
