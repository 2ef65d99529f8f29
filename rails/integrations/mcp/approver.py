"""Asking the person at the client of a call: their answer, the page's or the terminal's, whichever comes first."""

from __future__ import annotations

import contextlib
import queue
import threading
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
_POLL_S: Final = 0.03


class ClientQuestion(Struct, frozen=True):
    """A question for the person at a client: its number, a text, and a form of one level as a JSON Schema."""

    number: int
    text: str
    form: Mapping[str, Json]


class Caller(Protocol):
    """Whoever made the call that asks."""

    @property
    def gone(self) -> bool:
        """Whether nobody waits for the call any more."""
        ...

    def ask(self, text: str, form: Mapping[str, Json], over: Callable[[], bool]) -> Mapping[str, Json] | None:
        """Return what was filled in, ``None`` where nobody did until it was ``over`` or can; ``{}`` is a no."""
        ...


#: The caller for whom this thread works.
CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


class ClientApprover:
    """Stands where a terminal would in a queue (:mod:`rails.approval.queue`); ``terminal`` is one that is there.

    ``elsewhere`` says whether the question is over: answered in the page, or out of time.
    """

    def __init__(self, elsewhere: Callable[[], bool], terminal: Approver | None = None) -> None:
        self._elsewhere, self._terminal = elsewhere, terminal

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask the client's person; without one, or where they cannot be shown all of it, the terminal or the page."""
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
            time.sleep(_POLL_S)
        return Decision("deny", "", Elsewhere.by, of=request.digest)


def _whole(request: ApprovalRequest) -> str:
    """Return all of a question as text."""
    look = Look(width=_WIDTH, plain=True)
    screen = draw_request(request, look)
    return "\n".join((draw_request(request, look, full=True) if screen.hidden else screen).lines)


def _form(request: ApprovalRequest) -> dict[str, Json]:
    """Return the form of a question; where there are risks, a yes is typed in full."""
    typed: dict[str, Json] = {"type": "string", "title": "Decision"}
    if request.risks:
        typed["description"] = 'There are risks above: type the whole word "approve" to approve; all else denies it.'
    else:
        typed["enum"] = ["approve", "deny"]
    reason: Json = {"type": "string", "title": "Reason", "description": "The reason of a denial; the agent reads it."}
    return {"type": "object", "properties": {"decision": typed, "reason": reason}, "required": ["decision"]}


def _decision(request: ApprovalRequest, filled: Mapping[str, Json]) -> Decision:
    if filled.get("decision") == "approve":
        return Decision("approve", "", "human at the client", of=request.digest)
    return Decision("deny", str(filled.get("reason", "")), "human at the client", of=request.digest)


class Answers:
    """The answers to the questions of one call, from the protocol's thread to the call's own."""

    def __init__(self) -> None:
        self._left: queue.SimpleQueue[tuple[int, Mapping[str, Json] | None]] = queue.SimpleQueue()
        self._gone = threading.Event()

    @property
    def gone(self) -> bool:
        """Whether nobody waits any more."""
        return self._gone.is_set()

    def leave(self, number: int, filled: Mapping[str, Json] | None) -> None:
        """Leave the answer to a question."""
        self._left.put((number, filled))

    def abandon(self) -> None:
        """Say that nobody waits any more."""
        self._gone.set()

    def take(self, number: int, over: Callable[[], bool]) -> Mapping[str, Json] | None:
        """Return the answer to a question, ``None`` where it was over before one came."""
        while not over():
            with contextlib.suppress(queue.Empty):
                answered, filled = self._left.get(timeout=_POLL_S)
                if answered == number:
                    return filled
        return None
