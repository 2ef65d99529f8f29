"""Asking a human at a terminal. A typed letter and Enter decide; nothing else does."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from rails.approval.decision import NO_HUMAN, Answer, ApprovalRequest, Decision
from rails.approval.keys import Keys, NoAnswer
from rails.approval.paint import styled
from rails.approval.screen import Look, draw_request

#: Questions for one answer; then it counts as a denial.
_TRIES: Final = 20


class TerminalApprover:
    """Draws the request, waits for quiet, asks.

    ``plain`` means no colour and no decoration that a screen reader stumbles over; ``colour`` defaults
    to whether ``stream_out`` is a terminal and ``NO_COLOR`` is not set. Input that is not a terminal is
    not a human: it is denied with "no human", unless ``accept_pipe`` (for tests) says otherwise.
    ``timeout_s`` limits the wait for an answer; running out is a denial by "timeout".
    """

    def __init__(
        self,
        stream_in: TextIO | None = None,
        stream_out: TextIO | None = None,
        *,
        plain: bool = False,
        colour: bool | None = None,
        width: int | None = None,
        quiet_s: float = 0.35,
        timeout_s: float | None = None,
        accept_pipe: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = stream_out or sys.stdout
        self._keys = Keys(stream_in or sys.stdin, quiet_s=quiet_s, clock=clock)
        self._colour = (_wants_colour(self._out) if colour is None else colour) and not plain
        self._plain = plain
        self._width = width
        self._timeout_s = timeout_s
        self._accept_pipe = accept_pipe
        self._clock = clock

    def decide(self, request: ApprovalRequest) -> Decision:
        """Show ``request`` and return the answer. Whatever goes wrong here is a denial or an abort."""
        if not self._keys.is_terminal and not self._accept_pipe:
            return Decision("deny", NO_HUMAN, "headless")
        started = self._clock()
        try:
            hidden = self._show(request, full=False)
            self._keys.arm()
            started = self._clock()
            answer, reason = self._ask(request, hidden)
            return self._decision(answer, reason, "human", started)
        except KeyboardInterrupt:
            return self._decision("abort", "interrupted", "human", started)
        except NoAnswer as error:
            return self._decision("deny", str(error), error.by, started)
        except (OSError, ValueError) as error:
            return self._decision("deny", f"the terminal failed: {error}", "error", started)

    def _decision(self, answer: Answer, reason: str, by: str, started: float) -> Decision:
        return Decision(answer, reason, by, seconds=round(self._clock() - started, 3))

    def _show(self, request: ApprovalRequest, *, full: bool) -> int:
        width = self._width or shutil.get_terminal_size((100, 24)).columns
        screen = draw_request(request, Look(self._colour, max(40, width), self._plain), full=full)
        self._put("\n".join(screen.lines) + "\n")
        return screen.hidden

    def _ask(self, request: ApprovalRequest, hidden: int) -> tuple[Answer, str]:
        careful = bool(request.risks)
        for _ in range(_TRIES):
            self._put(self._question(hidden, careful))
            word, _, rest = self._keys.line(self._timeout_s).strip().partition(" ")
            word = word.casefold()
            if word == "approve" or (word == "a" and not careful):
                if not rest:
                    return "approve", ""
            elif word in ("d", "deny"):
                return "deny", rest.strip() or self._reason()
            elif word in ("s", "stop"):
                return "abort", rest.strip()
            elif word in ("v", "view"):
                hidden = self._show(request, full=True)
                self._keys.arm()
                continue
            elif word == "a":
                self._put('There are risks above: type the whole word "approve".\n')
                continue
            self._put("That decides nothing.\n")
        return "deny", f"no clear answer in {_TRIES} tries"

    def _question(self, hidden: int, careful: bool) -> str:
        if hidden:
            self._put(styled(f"{hidden} lines are not shown: v shows them.", "risk", self._colour) + "\n")
        first = 'type "approve"' if careful else "[a]pprove"
        return f"{first}  [d]eny with a reason  [s]top the session  [v]iew everything, then Enter: "

    def _reason(self) -> str:
        self._put("Why not? The agent reads this (Enter: no reason): ")
        try:
            return self._keys.line(self._timeout_s).strip()
        except NoAnswer:
            return ""

    def _put(self, text: str) -> None:
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
