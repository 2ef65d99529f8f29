"""From a refused edit to places that a human may accept, each with its diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core.builtin_tools import EDIT_FILE
from rails.core.candidates import CandidatePlace, PlaceChoice
from rails.core.tool_request import Json, ToolRequest
from rails.edits.match import Miss
from rails.edits.plan import plan
from rails.edits.plan_result import Plan

#: Refusals for which a place can be the answer.
_CODES: Final = ("not_found", "ambiguous")
_MOST: Final = 10


def place_choices(requests: Sequence[ToolRequest], planned: Plan, project: Path) -> tuple[PlaceChoice, ...]:
    """Return an offer for each refusal; none if one has no place: an answer is written entirely or not at all."""
    missed = planned.misses[:_MOST]
    if len(missed) != len(planned.refusals):
        return ()
    found = tuple(offer for miss in missed if (offer := _offer(requests, miss, project)) is not None)
    return found if len(found) == len(missed) else ()


def with_choice(requests: Sequence[ToolRequest], offer: PlaceChoice, handle: str) -> list[ToolRequest]:
    """Return ``requests`` with the edit of ``offer`` sent to the place of ``handle``."""
    return [request if request.id != offer.request_id else _placed(request, offer.edit, handle) for request in requests]


def _offer(requests: Sequence[ToolRequest], miss: Miss, project: Path) -> PlaceChoice | None:
    request = next((one for one in requests if one.id == miss.request_id), None)
    if request is None or miss.code not in _CODES:
        return None
    for number, edit in _edits(request):
        alone = replace(request, tool_name=EDIT_FILE.name, parameters=edit)
        places = tuple(_places(alone, miss, project))
        if places:
            return PlaceChoice(request.id, number, miss.path, miss.message, places)
    return None


def _edits(request: ToolRequest) -> Iterator[tuple[int, Mapping[str, Json]]]:
    edits = request.parameters.get("edits")
    if request.tool_name == EDIT_FILE.name:
        yield 0, request.parameters
    elif isinstance(edits, list):
        yield from ((number, edit) for number, edit in enumerate(edits) if isinstance(edit, dict))


def _places(edit: ToolRequest, miss: Miss, project: Path) -> Iterator[CandidatePlace]:
    for one in miss.candidates:
        tried = plan([replace(edit, parameters={**edit.parameters, "handle": one.handle})], project)
        if not tried.refusals:
            yield CandidatePlace(one.handle, one.first_line, one.last_line, one.likeness, tried.changes)


def _placed(request: ToolRequest, number: int, handle: str) -> ToolRequest:
    if request.tool_name == EDIT_FILE.name:
        return replace(request, parameters={**request.parameters, "handle": handle})
    edits: list[Json] = [{**edit, "handle": handle} if n == number else {**edit} for n, edit in _edits(request)]
    return replace(request, parameters={**request.parameters, "edits": edits})
