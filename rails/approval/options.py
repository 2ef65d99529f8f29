"""Questions that are answered with one of several words: the place of an edit, several runs at once, between turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import msgspec

from rails.approval.answer import PageAnswer
from rails.approval.decision import ApprovalRequest, Decision
from rails.core.candidates import CandidatePlace, PlaceChoice
from rails.core.dataclass import replace
from rails.core.events.approval import ApprovalOpened, AskedOption
from rails.core.text import one_line, sha256

_LINE: Final = 400


def place_question(offer: PlaceChoice) -> ApprovalOpened:
    """Return the question which place an edit was meant for."""
    options = [_place(place, number) for number, place in enumerate(offer.places, start=1)]
    none = AskedOption("", "None of them: the agent corrects it itself")
    return _question("place", offer.request_id, offer.message, (f"{offer.path}: {offer.message}",), (*options, none))


def _place(place: CandidatePlace, number: int) -> AskedOption:
    alike = "the text is there, but not only there" if place.likeness >= 1 else f"FUZZY, {place.likeness:.0%} alike"
    meaning = f"Take place {number}: lines {place.first_line} to {place.last_line}; {alike}"
    return AskedOption(place.handle, meaning, place.changes.diff())


def batch_question(requests: Sequence[ApprovalRequest]) -> ApprovalOpened:
    """Return the question about several runs of one tool."""
    first, count = requests[0], len(requests)
    runs = [json.dumps(dict(one.tool_request.parameters), ensure_ascii=False) for one in requests if one.tool_request]
    options = (
        AskedOption("approve", f"Approve all {count}", typed=bool(first.risks)),
        AskedOption("one", "Ask about them one by one"),
        AskedOption("deny", "Deny all", words="may"),
        AskedOption("abort", "Stop the session", words="may"),
    )
    lines = tuple(f"{number}: {one_line(run, _LINE)}" for number, run in enumerate(runs, start=1))
    said = "; ".join(dict.fromkeys(one_line(one.explanation, _LINE) for one in requests))
    asked = _question("batch", f"batch-{first.id}", said, lines, options, agent=first.agent)
    digest = sha256("\n".join(one.digest for one in requests).encode())
    return msgspec.structs.replace(asked, tools=first.tools, risks=first.risks, notes=first.notes, digest=digest)


def batch_decisions(requests: Sequence[ApprovalRequest], given: PageAnswer, by: str) -> list[Decision | None]:
    """Return the decision of each run, ``None`` for one that is asked about by itself."""
    if given.choice == "one":
        return [None] * len(requests)
    said = Decision("deny", given.reason, by, batch=given.digest[:16])
    if given.choice != "deny":
        said = replace(said, answer="approve" if given.choice == "approve" else "abort")
    return [replace(said, of=one.digest) for one in requests]


def user_question(about: str, lines: Sequence[str], options: tuple[AskedOption, ...]) -> ApprovalOpened:
    """Return a question between turns."""
    return _question(
        "user", f"user-{about}", "This is asked between turns: your answer writes nothing.", lines, options
    )


def _question(
    kind: str, name: str, why: str, lines: Sequence[str], options: tuple[AskedOption, ...], *, agent: str = ""
) -> ApprovalOpened:
    """Return a question; its digest stands for everything that it says."""
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
