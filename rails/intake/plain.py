"""The short way through the most common answer: prose, and JSON fences that each hold one sound call.

What it returns is what :class:`rails.intake.Reader` would have returned, made by the same functions; it only knows
beforehand that nothing in such an answer needs a second thought. For every other answer it returns None.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core import limits
from rails.core.requests import RawRequest
from rails.intake import requests, shape
from rails.intake.detect import NOTABLE
from rails.intake.jsontext import Parsed, strict
from rails.intake.requests import Block
from rails.intake.results import Completed, Intake, Shapes, Signal, Started
from rails.intake.stretches import closing_line
from rails.intake.torn import REST_LINE
from rails.intake.tracker import told

_OPENING: Final = re.compile(r"(`{3,})json[ \t]*\r?\n", re.IGNORECASE)


def plain(text: str, tools: Shapes, prefix: str) -> Intake | None:
    """Read a whole answer that ended normally; None if anything in it is not plain. ``prefix`` begins the ids."""
    found: list[RawRequest] = []
    signals: list[Signal] = []
    prose: list[str] = []
    blocks: dict[str, tuple[int, int]] = {}
    pos = 0
    while True:
        notable = NOTABLE.search(text, pos)
        stop = notable.start() if notable else len(text)
        if found and REST_LINE.search(text, pos, stop):
            return None
        prose.append(text[pos:stop])
        if notable is None:
            return Intake(tuple(found), prose="".join(prose), blocks=blocks, late=tuple(signals)) if found else None
        name = f"{prefix}{len(found) + 1}"
        read = _call(text, stop, tools, name)
        if read is None or len(found) == limits.REQUESTS_PER_ANSWER:
            return None
        started, request, pos = read
        found.append(request)
        signals += (started, Completed(name, request))
        blocks[name] = (stop, pos)


def _call(text: str, start: int, tools: Shapes, name: str) -> tuple[Started, RawRequest, int] | None:
    """Read the block that begins at ``start``: its announcement, its request and where it ends; None if not plain."""
    opening = _OPENING.match(text, start)
    closing = closing_line(text, opening.end(), len(text), opening[1]) if opening else None
    if opening is None or closing is None:
        return None
    body = text[opening.end() : closing.start()]
    parsed = strict(body)
    if not isinstance(parsed, Parsed) or type(parsed.value) is not dict:
        return None
    tracker = told(parsed, body)
    raw = text[start : closing.end()].rstrip("\r\n")
    block = Block(body, raw, start, start + len(raw), opening.end(), closed=True, whole=True, id=name)
    (outcome,) = requests.judge(block, tools, tracker, parsed)
    if not isinstance(outcome, RawRequest) or tracker.tool not in tools:
        return None
    path = tracker.path if shape.takes_path(tools[tracker.tool]) else ""
    return Started(name, tracker.tool, path, start), outcome, closing.end()
