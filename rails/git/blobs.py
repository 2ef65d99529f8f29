"""Whether files have the content of git's objects, without git: no filter, flag or time stamp decides."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core.plain_file import real_path

if TYPE_CHECKING:
    import hashlib

_CHUNK: Final = 1 << 20


def has_content(project: Path, place: Path, name: str) -> bool:
    """Return whether a file (no link) has the bytes of an object, up to line endings. Raises OSError."""
    folder = real_path(place.parent)
    if not folder.is_relative_to(project):
        return False
    handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return False
        if facts.st_size > 64 * _CHUNK:
            return _large(file, facts.st_size, name)
        data = file.read()
    if name_of(data, name) == name:
        return True
    return b"\r\n" in data and name_of(data.replace(b"\r\n", b"\n"), name) == name


def _large(file: Iterable[bytes], size: int, name: str) -> bool:
    digest = _hash(name)
    digest.update(b"blob %d\0" % size)
    for chunk in file:
        digest.update(chunk)
    return digest.hexdigest() == name


def name_of(data: bytes, like: str) -> str:
    """Return git's name for a content, in the hash algorithm of ``like``."""
    digest = _hash(like)
    digest.update(b"blob %d\0" % len(data) + data)
    return digest.hexdigest()


def _hash(like: str) -> hashlib._Hash:
    import hashlib  # which loads OpenSSL

    return hashlib.sha1(usedforsecurity=False) if len(like) == 40 else hashlib.sha256()
