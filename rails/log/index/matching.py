"""Whether a record, read from its log, matches a search: for what the index cannot say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from rails.core import limits
from rails.core.errors import LogError
from rails.core.events.record import Record
from rails.log import blobs, event_codec
from rails.log.index.query import Query
from rails.log.index.terms import searchable_words


class RecordMatcher:
    """One search. Pieces of text (``text:``) are looked for in the log's lines only, not in values that blobs hold."""

    def __init__(self, query: Query, state: Path) -> None:
        self._query, self._state = query, state
        self._pieces = [event_codec.dumps(piece)[1:-1] for piece in query.pieces]
        self._bytes = [piece.encode() for piece in self._pieces]
        self._load = blob_text(state)

    def may_take(self, line: bytes) -> bool:
        """Whether the line of a record is worth being decoded."""
        return all(piece in line for piece in self._bytes)

    def takes(self, record: Record) -> bool:
        """Whether a record matches, apart from its session."""
        return (
            self._query.takes_time(record.timestamp)
            and self._has_pieces(record)
            and (
                not (self._query.phrases or self._query.facets)
                or self._query.matches(searchable_words(with_large_values(record, self._state), self._load))
            )
        )

    def _has_pieces(self, record: Record) -> bool:
        if not self._pieces:
            return True
        # A line also holds its time and its hashes, where any number may stand.
        said = event_codec.dumps([record.agent_role, record.llm_model_used, record.message, record.details])
        return all(piece in said for piece in self._pieces)


def with_large_values(record: Record, state: Path) -> Record:
    """Return a record whose arrays and objects are whole, as counting needs them; large texts stay where they are."""
    try:
        details = blobs.expand(record.details, state, texts=False)
    except LogError:
        return record
    return record if details is record.details else msgspec.structs.replace(record, details=details)


def blob_text(state: Path) -> Callable[[str], str]:
    """Return a function that reads as much of a blob's text as search takes in; "" for one that is gone."""

    def load(name: str) -> str:
        try:
            return blobs.load_blob(state, name)[: limits.INDEX_CHARS].decode("utf-8", "replace")
        except LogError:
            return ""

    return load
