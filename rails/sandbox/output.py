"""Program output in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Final

from rails.core import limits

#: What a file takes of it, for who wants to read more than what is kept in memory.
_FILE_BYTES: Final = 64_000_000


class Kept:
    """Keeps the first two thirds and last third of ``limit`` bytes; all of it in ``file``."""

    def __init__(self, limit: int = limits.OUTPUT_BYTES, file: Path | None = None) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_limit = limit * 2 // 3
        self._tail_limit = limit - self._head_limit
        self._file: IO[bytes] | None = file.open("wb") if file else None
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next chunk."""
        if self._file and self.total < _FILE_BYTES:
            self._file.write(chunk)
        self.total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """Return the text, with the number of omitted bytes."""
        tail = self._tail[-self._tail_limit :]
        left_out = self.total - len(self._head) - len(tail)
        head = self._head.decode("utf-8", "replace")
        end = tail.decode("utf-8", "replace")
        return f"{head}\n[… {left_out} bytes left out …]\n{end}" if left_out else head + end

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
