"""A client's call, and who is asked in it: its person, the page and the terminal; the first answer counts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, Final

from msgspec import Struct, field

from rails.approval.decision import ApprovalRequest, Approver, Choice, Decision
from rails.approval.terminal.console import Elsewhere
from rails.approval.terminal.screen import Look, draw_request
from rails.core.errors import FAULT, CheckError
from rails.integrations.mcp.project_tools import McpResult
from rails.tools.runners.command import watch_commands

#: A question that is longer is not put through a client: it might show a part of it.
QUESTION_CHARS: Final = 20_000
_WIDTH: Final = 100
_POLL_S: Final = 0.03
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


#: What a form is filled in with; None where nobody can.
Filled = Mapping[str, str] | None


class ClientQuestion(Struct, frozen=True):
    """A question: text, a flat form as JSON Schema, and what is filled in (None: nobody can)."""

    text: str
    form: dict[str, Any]
    answer: Future[Filled] = field(default_factory=Future)


class ClientCall:
    """A call in its own thread: yields its questions, then the result."""

    def __init__(self, work: Callable[[], McpResult], working: set[ClientCall], *, can_ask: bool) -> None:
        self.said: asyncio.Queue[ClientQuestion | McpResult] = asyncio.Queue()
        #: Whether the client cancelled.
        self.gone = False
        self._can_ask = can_ask
        self._loop = asyncio.get_running_loop()
        self._working = working
        working.add(self)
        threading.Thread(target=self._run, args=(work,), daemon=True, name="a call").start()

    def ask(self, text: str, form: dict[str, Any]) -> Future[Filled] | None:
        """Put a question to the client's person; return what will hold the answer, None if nobody can be asked."""
        if not self._can_ask:
            return None
        question = ClientQuestion(text, form)
        self._say(question)
        return question.answer

    def _run(self, work: Callable[[], McpResult]) -> None:
        CALLER.set(self)
        watch_commands(self._watched)
        try:
            result = work()
        except FAULT as error:  # a fault of ours is an answer, too
            result = McpResult(f"AI-Rails itself failed: {type(error).__name__}. See ai-rails review.", ok=False)
        self._working.discard(self)
        self._say(result)

    def _watched(self, *_: object) -> None:
        if self.gone:
            raise CheckError("The client took the call back while it ran. What it had changed by then was dropped.")

    def _say(self, what: ClientQuestion | McpResult) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self.said.put_nowait, what)


#: The caller for whom this thread works.
CALLER: ContextVar[ClientCall | None] = ContextVar("caller", default=None)


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
        text = "\n".join(_shown(request))
        asked = None
        if caller and len(text) <= QUESTION_CHARS:
            asked = caller.ask(text, json.loads(_TYPED if request.risks else _CHOSEN))
        while not self._elsewhere():
            if caller and caller.gone:
                return Decision("deny", "The call was taken back before anybody answered.", "client", of=request.digest)
            filled = asked.result() if asked and asked.done() else None
            if filled is not None:
                answer: Choice = "approve" if filled.get("decision") == "approve" else "deny"
                return Decision(answer, filled.get("reason", ""), "human at the client", of=request.digest)
            if self._terminal and (asked is None or asked.done()):
                return self._terminal.decide(request)
            time.sleep(_POLL_S)
        return Decision("deny", "", Elsewhere.by, of=request.digest)


def _shown(request: ApprovalRequest) -> Sequence[str]:
    look = Look(width=_WIDTH, plain=True)
    screen = draw_request(request, look)
    return draw_request(request, look, full=True).lines if screen.hidden else screen.lines
