"""Bisects a log by record number; skipped damage is not reported."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from rails.log import event_codec
from rails.log.reader import LogRow, Position, opened_log, rows

#: Bytes that are read line by line once the rest is ruled out.
_NEAR: Final = 1 << 16
_BACK: Final = 1 << 18


def before_record(path: Path, number: int, low: Position) -> Position:
    """Return a place at or after ``low``, shortly before record ``number``. Raises LogError."""
    with opened_log(path) as file:
        end = file.seek(0, os.SEEK_END)
        while end - low.offset > _NEAR:
            middle = (low.offset + end) // 2
            row = next(_rows(file, middle), None)
            if row is None or row.offset >= end or row.record.seq >= number:
                end = middle
            else:
                low = _behind(row)
    return low


def end_of(path: Path) -> Position:
    """Return the place after the last whole record, or the start. Raises LogError."""
    with opened_log(path) as file:
        last = Position()
        for row in _rows(file, max(0, file.seek(0, os.SEEK_END) - _BACK)):
            last = _behind(row)
    return last


def newest_of(path: Path, event_type: str) -> int | None:
    """Return the number of the newest record of a type. Raises LogError."""
    mark = b'"event_type":"%s"' % event_type.encode()
    with opened_log(path) as file:
        if not file.seek(0, os.SEEK_END):
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            at = text.rfind(mark)
            while at >= 0:
                start = text.rfind(b"\n", 0, at) + 1
                decoded = event_codec.decode_record(text[start : text.find(b"\n", at)])
                if not isinstance(decoded, str) and decoded[0].event_type == event_type:
                    return decoded[0].seq
                at = text.rfind(mark, 0, start)
    return None


def _behind(row: LogRow) -> Position:
    return Position(row.offset + row.length + 1, row.record.seq, row.record.seq, row.record.hash)


def _rows(file: BinaryIO, start: int) -> Iterator[LogRow]:
    at = max(0, start - 1)
    file.seek(at)
    at += len(file.readline()) if start else 0
    return rows(file, at)
