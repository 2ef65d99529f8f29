"""Where an edit could go that has no certain place: what a human is offered to choose from."""

from __future__ import annotations

from msgspec import Struct

from rails.core.changes import ChangeSet


class CandidatePlace(Struct, frozen=True):
    """One place: its name, its lines (from 1), how alike it is (0 to 1), and what the edit would do there."""

    handle: str
    first_line: int
    last_line: int
    likeness: float
    changes: ChangeSet


class PlaceChoice(Struct, frozen=True):
    """An edit that was refused, why, and the places that come nearest, best first; at least one.

    ``edit`` is which one of a request with several edits, from 0.
    """

    request_id: str
    edit: int
    path: str
    message: str
    places: tuple[CandidatePlace, ...]
