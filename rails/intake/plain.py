"""The short way through the most common answer: prose, and closed JSON fences with one call in each.

What it returns is what :class:`rails.intake.Reader` would have returned, made by the same functions; it only knows
beforehand that nothing in such an answer needs a second thought. For every other answer it returns None.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.requests import RawRequest
from rails.intake import requests, shape
from rails.intake.detect import NOTABLE
from rails.intake.doubt import REMNANT
from rails.intake.jsontext import Fault, Parsed, strict
from rails.intake.requests import Block
from rails.intake.results import Completed, Intake, Shapes, Signal, Started
from rails.intake.stretches import closing_line
from rails.intake.torn import REST_LINE
from rails.intake.tracker import Tracker, told

_OPENING: Final = re.compile(r"(`{3,})json[ \t]*\r?\n", re.IGNORECASE)


def plain(text: str, tools: Shapes, prefix: str) -> Intake | None:
    """Read a whole answer that ended normally; None if anything in it is not plain. ``prefix`` begins the ids."""
    signals: list[Signal] = []
    prose: list[str] = []
    blocks: dict[str, tuple[int, int]] = {}
    pos = 0
    while True:
        notable = NOTABLE.search(text, pos)
        stop = notable.start() if notable else len(text)
        if blocks and (REST_LINE.search(text, pos, stop) or REMNANT.search(text, pos, stop)):
            return None  # a block before may have been torn
        prose.append(text[pos:stop])
        if notable is None:
            return _intake(signals, "".join(prose), blocks) if blocks else None
        name = f"{prefix}{len(blocks) + 1}"
        found = _block(text, stop, tools, name)
        if found is None or len(blocks) == limits.REQUESTS_PER_ANSWER:
            return None
        started, completed, pos = found
        signals += (started, completed)
        blocks[name] = (stop, pos)


def _intake(signals: list[Signal], prose: str, blocks: dict[str, tuple[int, int]]) -> Intake:
    outcomes = [one.outcome for one in signals if type(one) is Completed]
    requested = tuple([one for one in outcomes if isinstance(one, RawRequest)])
    refused = tuple([one for one in outcomes if isinstance(one, Refusal)])
    return Intake(requested, refused, prose=prose, blocks=blocks, late=tuple(signals))


def _block(text: str, start: int, tools: Shapes, name: str) -> tuple[Started, Completed, int] | None:
    """Read the block that begins at ``start``: its announcement, its outcome and where it ends; None if not plain."""
    opening = _OPENING.match(text, start)
    closing = closing_line(text, opening.end(), len(text), opening[1]) if opening else None
    if opening is None or closing is None:
        return None
    body = text[opening.end() : closing.start()]
    parsed = strict(body)
    tracker = _followed(body, parsed)
    if tracker is None or tracker.tool not in tools:
        return None
    raw = text[start : closing.end()].rstrip("\r\n")
    block = Block(body, raw, start, start + len(raw), opening.end(), closed=True, whole=True, id=name)
    outcome, *others = requests.judge(block, tools, tracker, parsed)
    if isinstance(outcome, Refusal):
        outcome = replace(outcome, request_id=name)
    elif others or not isinstance(outcome, RawRequest):
        return None
    path = tracker.path if shape.takes_path(tools[tracker.tool]) else ""
    return Started(name, tracker.tool, path, start), Completed(name, outcome), closing.end()


def _followed(body: str, parsed: Parsed | Fault) -> Tracker | None:
    """Return what following ``body`` teaches; None where it does not surely end at its closing fence."""
    if isinstance(parsed, Parsed):
        return told(parsed, body) if type(parsed.value) is dict else None
    if "```" in body:
        return None
    tracker = Tracker()
    tracker.feed(body)
    return None if tracker.quote else tracker
