"""Search without an index: newest first, straight through the logs.

Slower than the index and equal to it; used where SQLite has no full-text search, while an index is being
built or is broken, and always for a piece of text (``text:``).
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol

from rails.core import limits
from rails.core.dataclass import dataclass, field
from rails.core.errors import LogError
from rails.core.events.record import Record
from rails.log import blobs, event_codec, files
from rails.log.index.query import Query
from rails.log.index.terms import folded_text, searchable_words
from rails.log.reader import LOG_NAME

#: How much of a log is looked at at once.
_BLOCK: Final = 1 << 20
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")


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
        """``session:number``, which :func:`scan` and the index take as ``before`` to go on from here."""
        return f"{self.session_id}:{self.record.seq}"


def scan(state: Path, query: Query, *, limit: int = 50, before: str = "") -> Iterator[SearchHit]:
    """Yield the records that match, the newest first, at most ``limit``; ``before`` is the place of a hit.

    Pieces of text (``text:``) are looked for in the log's lines only, not in values that blobs hold.
    """
    needles = _needles(query)
    texts = [event_codec.dumps(piece)[1:-1] for piece in query.pieces]
    pieces = [piece.encode() for piece in texts]
    load = blob_text(state)

    def lacks(data: bytes, *, one_line: bool) -> bool:
        if any(piece not in data for piece in pieces):
            return True
        if b'"blob":' in data or not needles:
            return False
        if data.isascii():
            folded = data.lower()
        elif one_line:
            folded = folded_text(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        else:
            return False
        return not all(needle in folded for needle in needles)

    def matches(record: Record) -> bool:
        if texts:  # a line also holds its time and its hashes, where any number may stand
            said = event_codec.dumps([record.agent_role, record.llm_model_used, record.message, record.details])
            if any(piece not in said for piece in texts):
                return False
        return query.takes_time(record.timestamp) and query.matches(searchable_words(record, load))

    yield from _search(_newest_first(state, query.takes_session, lacks, before), matches, limit)


def blob_text(state: Path) -> Callable[[str], str]:
    """Return a function that reads as much of a blob's text as search takes in; "" for one that is gone."""

    def load(name: str) -> str:
        try:
            return blobs.load_blob(state, name)[: limits.INDEX_CHARS].decode("utf-8", "replace")
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


class _Lacks(Protocol):
    """Whether some lines, or one, surely hold nothing of interest."""

    def __call__(self, data: bytes, *, one_line: bool) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Line:
    session_id: str
    offset: int
    data: bytes
    below: float  # only records with a smaller number count


def _newest_first(state: Path, takes: Callable[[str], bool], lacks: _Lacks, before: str) -> Iterator[_Line]:
    session, _, number = before.rpartition(":")
    for session_id in reversed(session_ids(state)):
        if not takes(session_id) or (session and session_id > session):
            continue
        below = int(number) if session == session_id and number.isdecimal() else math.inf
        for offset, data in _backwards(state / "sessions" / session_id / LOG_NAME, lacks):
            yield _Line(session_id, offset, data, below)


def _search(found: Iterator[_Line], matches: Callable[[Record], bool], limit: int) -> Iterator[SearchHit]:
    left = min(limit, limits.PAGE_ROWS)
    for line in found:
        if left <= 0:
            return
        decoded = event_codec.decode_record(line.data)
        if not isinstance(decoded, str) and decoded[0].seq < line.below and matches(decoded[0]):
            left -= 1
            yield SearchHit(line.session_id, line.offset, len(line.data), decoded[0])


def _backwards(path: Path, lacks: _Lacks) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines, from the last to the first, without those that ``lacks`` says to leave out."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(os.fdopen(files.open_regular(str(path), os.O_RDONLY), "rb"))
            view = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # gone, or empty
            return
        end = view.rfind(b"\n") + 1
        while end > 0:
            start = view.rfind(b"\n", 0, max(0, end - _BLOCK)) + 1
            first = start
            if end - start > _BLOCK + limits.LOG_LINE_BYTES:  # the first line of this block is no record
                first = view.find(b"\n", end - _BLOCK, end) + 1
            block = view[first:end]
            offset = end
            for line in () if lacks(block, one_line=False) else reversed(block[:-1].split(b"\n")):
                offset -= len(line) + 1
                if len(line) <= limits.LOG_LINE_BYTES and not lacks(line, one_line=True):
                    yield offset, line
            end = start


def _needles(query: Query) -> list[bytes]:
    """Return what the folded text of a line must hold to be worth parsing."""
    words = [word for phrase in query.phrases if not phrase.negative for word in phrase.words]
    words += [facet.value for facet in query.facets if not facet.negative and facet.name in ("tool", "rule", "type")]
    return [word.encode() for word in words if _ASCII_WORD.fullmatch(word)]
