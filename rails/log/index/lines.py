"""The lines of logs that a search found, read by their offset."""

from __future__ import annotations

import os

from rails.core.dataclass import dataclass, field
from rails.core.events.record import Record


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A record that was found, and where its line is, in bytes. ``whole``: no value of it lives in a blob."""

    session_id: str
    offset: int
    length: int
    record: Record
    whole: bool = field(default=False, compare=False)

    @property
    def place(self) -> str:
        """``session:number``, which a search takes as ``before`` to go on from here."""
        return f"{self.session_id}:{self.record.seq}"


class LogLines:
    """The lines of one open log by their offset; without a descriptor, none."""

    def __init__(self, session_id: str, descriptor: int) -> None:
        self.session_id, self._descriptor = session_id, descriptor
        self._start, self._block = 0, b""

    def line(self, offset: int, length: int, ahead: int) -> bytes:
        """Return a line; so many bytes before it are read with it, for those who ask for them next."""
        if self._descriptor < 0:
            return b""
        if not self._start <= offset <= offset + length <= self._start + len(self._block):
            self._start = max(0, min(offset, offset + length - ahead))
            self._block = os.pread(self._descriptor, offset + length - self._start, self._start)
        return self._block[offset - self._start : offset - self._start + length]
