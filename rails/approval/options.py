"""Questions with options: the place of an edit, between turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from rails.core.candidates import CandidatePlace, PlaceChoice
from rails.core.events.approval import ApprovalOpened, AskedOption
from rails.core.text import sha256

_LINE: Final = 400


def place_question(offer: PlaceChoice) -> ApprovalOpened:
    """Ask which place an edit is for."""
    options = [_place(place, number) for number, place in enumerate(offer.places, start=1)]
    none = AskedOption("", "None of them: the agent corrects it itself")
    why = "You see the change again before it is written."
    return _question("place", offer.request_id, why, (f"{offer.path}: {offer.message}",), (*options, none))


def _place(place: CandidatePlace, number: int) -> AskedOption:
    alike = "the text is there, but not only there" if place.likeness >= 1 else f"FUZZY, {place.likeness:.0%} alike"
    meaning = f"Take place {number}: lines {place.first_line} to {place.last_line}; {alike}"
    return AskedOption(place.handle, meaning, place.changes.diff())


def user_question(
    about: str, lines: Sequence[str], options: tuple[AskedOption, ...], request_id: str = "", agent: str = ""
) -> ApprovalOpened:
    """Return a question between turns, or an ``agent``'s with the request of that id."""
    why = "Your answer writes nothing."
    return _question("user", request_id or f"user-{about}", why, lines, options, agent=agent)


def _question(
    kind: str, name: str, why: str, lines: Sequence[str], options: tuple[AskedOption, ...], *, agent: str = ""
) -> ApprovalOpened:
    said = json.dumps([kind, name, *lines, *((one.word, one.meaning, one.diff) for one in options)])
    return ApprovalOpened(
        id=name,
        digest=sha256(said.encode("utf-8", "surrogatepass")),
        kind=kind,
        agent=agent,
        tools=(),
        explanation=why,
        risks=(),
        notes=(),
        requests=(),
        files=(),
        verdict=None,
        grant=None,
        can_edit=False,
        replaces=0,
        note="",
        expires="",
        lines=tuple(lines),
        options=options,
    )
