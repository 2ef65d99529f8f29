"""Possible places of an unplaced edit: a human chooses."""

from __future__ import annotations

from msgspec import Struct

from rails.core.changes import ChangeSet


class CandidatePlace(Struct, frozen=True):
    """A place: name, lines (from 1), likeness (0 to 1), and what the edit would do there."""

    handle: str
    first_line: int
    last_line: int
    likeness: float
    changes: ChangeSet


class PlaceChoice(Struct, frozen=True):
    """A refused edit (its 0-based index), why, and at least one nearest place, best first."""

    request_id: str
    edit: int
    path: str
    message: str
    places: tuple[CandidatePlace, ...]
