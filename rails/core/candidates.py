"""Where an edit without a certain place could go: a human chooses."""

from __future__ import annotations

from msgspec import Struct

from rails.core.changes import ChangeSet


class CandidatePlace(Struct, frozen=True):
    """One place: its name, its lines (from 1), its likeness (0 to 1), and what the edit would do there."""

    handle: str
    first_line: int
    last_line: int
    likeness: float
    changes: ChangeSet


class PlaceChoice(Struct, frozen=True):
    """A refused edit, why, and at least one nearest place, best first. ``edit`` is its index in the request, from 0."""

    request_id: str
    edit: int
    path: str
    message: str
    places: tuple[CandidatePlace, ...]
