"""Asks the client's person, the page and the terminal; the first answer counts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final, Protocol

from msgspec import Struct

from rails.approval.decision import ApprovalRequest, Approver, Decision
from rails.approval.terminal.console import Elsewhere
from rails.approval.terminal.screen import Look, draw_request
from rails.core.tool_request import Json

#: A question that is longer is not put through a client: it might show a part of it.
QUESTION_CHARS: Final = 20_000
_WIDTH: Final = 100
POLL_S: Final = 0.03
#: What a person fills in: a choice; the whole word where there are risks.
_CHOSEN: Final = """{"type": "object", "properties": {
    "decision": {"type": "string", "title": "Decision", "enum": ["approve", "deny"]},
    "reason": {"type": "string", "title": "Reason", "description": "The reason of a denial; the agent reads it."}
}, "required": ["decision"]}"""
_TYPED: Final = """{"type": "object", "properties": {
    "decision": {"type": "string", "title": "Decision",
        "description": "There are risks above: type the whole word \\"approve\\" to approve; all else denies it."},
    "reason": {"type": "string", "title": "Reason", "description": "The reason of a denial; the agent reads it."}
}, "required": ["decision"]}"""


class ClientQuestion(Struct, frozen=True):
    """A question: number, text, and a flat form as JSON Schema."""

    number: int
    text: str
    form: Mapping[str, Json]


class Caller(Protocol):
    """The asking call's client."""

    @property
    def gone(self) -> bool:
        """Whether nobody waits."""

    def ask(self, text: str, form: Mapping[str, Json], over: Callable[[], bool]) -> Mapping[str, Json] | None:
        """Return the filled-in form; None if nobody can, or it was ``over``; ``{}`` is a no."""


#: The caller for whom this thread works.
CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


class ClientApprover:
    """The terminal's place in a queue (:mod:`rails.approval.queue`); ``terminal``: a real one.

    ``elsewhere``: answered in the page, or out of time.
    """

    def __init__(self, elsewhere: Callable[[], bool], terminal: Approver | None = None) -> None:
        self._elsewhere = elsewhere
        self._terminal = terminal

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask the client's person; if they cannot see all of it, the terminal or page."""
        caller = CALLER.get()
        text = _whole(request)
        filled = None
        if caller and len(text) <= QUESTION_CHARS:
            filled = caller.ask(text, _form(request), lambda: self._elsewhere() or caller.gone)
        if filled is not None:
            return _decision(request, filled)
        if self._terminal and not self._elsewhere():
            return self._terminal.decide(request)
        while not self._elsewhere():
            if caller and caller.gone:
                return Decision("deny", "The call was taken back before anybody answered.", "client", of=request.digest)
            time.sleep(POLL_S)
        return Decision("deny", "", Elsewhere.by, of=request.digest)


def _whole(request: ApprovalRequest) -> str:
    look = Look(width=_WIDTH, plain=True)
    screen = draw_request(request, look)
    return "\n".join((draw_request(request, look, full=True) if screen.hidden else screen).lines)


def _form(request: ApprovalRequest) -> dict[str, Json]:
    form: dict[str, Json] = json.loads(_TYPED if request.risks else _CHOSEN)
    return form


def _decision(request: ApprovalRequest, filled: Mapping[str, Json]) -> Decision:
    if filled.get("decision") == "approve":
        return Decision("approve", "", "human at the client", of=request.digest)
    return Decision("deny", str(filled.get("reason", "")), "human at the client", of=request.digest)
