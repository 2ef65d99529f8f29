"""Files of the user outside the project: another program's settings, a page.

A link is followed, never replaced. The file is looked at again just before: what somebody saved meanwhile is not lost.
What cannot be written whole stays. Not covered: the limits of :mod:`rails.edits.swap`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from rails.core.atomic_file import RENAME_EXCHANGE, rename_by, rename_free
from rails.core.plain_file import read_ordinary, real_path


class UserFile:
    """A file as it is; ``place``: where its links lead. Raises OSError for no ordinary file."""

    def __init__(self, file: Path) -> None:
        self.name = file
        self.place = real_path(file)
        self._seen = _facts(self.place)

    def __str__(self) -> str:
        return f"{self.name} (a link to {self.place})" if self.name.is_symlink() else str(self.name)

    def read(self, most: int = 1 << 30) -> bytes:
        """Return content, about ``most`` bytes; nothing where none is. Raises OSError."""
        return read_ordinary(self.place, most) if self._seen else b""

    def write(self, parts: Iterable[bytes], most: int = 0o7777) -> None:
        """Replace its content by ``parts``, with permission bits of ``most`` alone.

        Raises OSError, also if written meanwhile.
        """
        self.place.parent.mkdir(parents=True, exist_ok=True)
        slot = self._slot()
        try:
            self._fill(slot, parts, most)
            if self._seen is None:
                rename_free(slot, self.place)
            elif not rename_by(slot, self.place, RENAME_EXCHANGE):
                if _facts(self.place) != self._seen:
                    raise _changed()
                slot.replace(self.place)
            elif _facts(slot) != self._seen:
                self._give_back(slot)
        finally:
            slot.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove it. Raises OSError, also if written meanwhile."""
        slot = self._slot()
        self.place.rename(slot)
        if _facts(slot) != self._seen:
            rename_free(slot, self.place)
            raise _changed()
        slot.unlink()

    def _slot(self) -> Path:
        return self.place.with_name(f".{self.place.name[:100]}.{os.urandom(6).hex()}")

    def _fill(self, slot: Path, parts: Iterable[bytes], most: int) -> None:
        with open(slot, "xb", opener=partial(os.open, mode=0o666 & most)) as file:
            if self._seen:
                os.fchmod(file.fileno(), self._seen[-1] & most)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        self._ours = _facts(slot)

    def _give_back(self, slot: Path) -> None:
        rename_by(slot, self.place, RENAME_EXCHANGE)
        if _facts(slot) == self._ours:
            raise _changed()
        kept = slot.with_name(slot.name.removeprefix("."))
        slot.rename(kept)
        raise OSError(errno.EBUSY, f"it was saved several times meanwhile; one version is in {kept}")


def _facts(place: Path) -> tuple[int, ...] | None:
    try:
        facts = place.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is not an ordinary file")
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, stat.S_IMODE(facts.st_mode)


def _changed() -> OSError:
    return OSError(errno.EBUSY, "somebody else changed it meanwhile")
