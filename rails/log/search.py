"""Search without an index: newest first, straight through the logs.

Slower than the index and equal to it; used where SQLite has no full-text search, while an index is being
built or is broken, and always for a piece of text that is not made of whole words.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.errors import LogError
from rails.core.events import Record
from rails.log import blobs, files, lines
from rails.log.query import Query
from rails.log.reader import LOG_NAME
from rails.log.words import words_of

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that was found, and where its line is, in bytes."""

    session_id: str
    offset: int
    length: int
    record: Record

    @property
    def place(self) -> str:
        """``session:number``, which :func:`scan` and the index take as ``before`` to go on from here."""
        return f"{self.session_id}:{self.record.seq}"


def scan(state: Path, query: Query, *, limit: int = 50, before: str = "") -> Iterator[Hit]:
    """Yield the records that match, the newest first, at most ``limit``; ``before`` is the place of a hit."""
    needles = _needles(query)
    load = blob_text(state)

    def wanted(line: bytes) -> Record | None:
        if needles and line.isascii() and b'"blob":' not in line:
            lowered = line.lower()
            if not all(needle in lowered for needle in needles):
                return None
        decoded = lines.decode(line)
        if isinstance(decoded, str):
            return None
        record = decoded[0]
        fits = query.takes_time(record.timestamp) and query.matches(words_of(record, load))
        return record if fits else None

    yield from _search(_newest_first(state, query.takes_session, b"", before), wanted, limit)


def substring(state: Path, text: str, *, limit: int = 50, before: str = "") -> Iterator[Hit]:
    """Yield the records whose line holds exactly ``text``, the newest first. Values kept in blobs are not read."""
    needle = lines.dumps(text)[1:-1].encode()

    def wanted(line: bytes) -> Record | None:
        decoded = lines.decode(line)
        return None if isinstance(decoded, str) else decoded[0]

    yield from _search(_newest_first(state, lambda _: True, needle, before), wanted, limit)


def blob_text(state: Path) -> Callable[[str], str]:
    """Return a function that reads as much of a blob's text as search takes in; "" for one that is gone."""

    def load(name: str) -> str:
        try:
            return blobs.load(state, name)[: limits.INDEX_CHARS].decode("utf-8", "replace")
        except LogError:
            return ""

    return load


def session_ids(state: Path) -> list[str]:
    """Return the ids of all sessions with a log, in order."""
    try:
        with os.scandir(state / "sessions") as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if (state / "sessions" / name / LOG_NAME).is_file())


@dataclass(frozen=True, slots=True)
class _Line:
    session_id: str
    offset: int
    data: bytes
    below: float  # only records with a smaller number count


def _newest_first(state: Path, takes: Callable[[str], bool], needle: bytes, before: str) -> Iterator[_Line]:
    session, _, number = before.rpartition(":")
    for session_id in reversed(session_ids(state)):
        if not takes(session_id) or (session and session_id > session):
            continue
        below = int(number) if session == session_id and number.isdecimal() else math.inf
        for offset, data in _backwards(state / "sessions" / session_id / LOG_NAME, needle):
            yield _Line(session_id, offset, data, below)


def _search(found: Iterator[_Line], wanted: Callable[[bytes], Record | None], limit: int) -> Iterator[Hit]:
    left = min(limit, limits.PAGE_ROWS)
    for line in found:
        if left <= 0:
            return
        record = wanted(line.data)
        if record and record.seq < line.below:
            left -= 1
            yield Hit(line.session_id, line.offset, len(line.data), record)


def _backwards(path: Path, needle: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines that hold ``needle`` (all, for an empty one) from the last to the first."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(os.fdopen(files.open_regular(str(path), os.O_RDONLY), "rb"))
            view = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # gone, or empty
            return
        end = view.rfind(b"\n")
        while end >= 0:
            if needle:
                at = view.rfind(needle, 0, end)
                if at < 0:
                    return
                end = view.find(b"\n", at, end + 1)
            start = view.rfind(b"\n", 0, end) + 1
            if end - start <= limits.LOG_LINE_BYTES:
                yield start, view[start:end]
            end = start - 1


def _needles(query: Query) -> list[bytes]:
    """Return what a line of plain ASCII must hold, in lower case, to be worth parsing."""
    words = [word for phrase in query.phrases if not phrase.negative for word in phrase.words]
    words += [facet.value for facet in query.facets if not facet.negative and facet.name in ("tool", "rule", "type")]
    return [word.encode() for word in words if _ASCII_WORD.fullmatch(word)]
