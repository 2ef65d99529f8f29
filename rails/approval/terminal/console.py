"""A person at a terminal: lines out, keys in, and nothing that was typed too early counts."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO, TypedDict

from rails.approval.decision import ApprovalRequest
from rails.approval.terminal.keys import Keys
from rails.approval.terminal.paint import styled
from rails.approval.terminal.screen import Look, draw_request


class ConsoleOptions(TypedDict, total=False):
    """The options of a :class:`Console`, for those that make one."""

    plain: bool
    colour: bool | None
    width: int | None
    quiet_s: float
    timeout_s: float | None
    accept_pipe: bool
    elsewhere: Callable[[], bool] | None


class Console:
    """Where questions are drawn and answers typed.

    ``plain`` means no colour and no decoration that a screen reader stumbles over; ``colour`` defaults
    to whether ``stream_out`` is a terminal and ``NO_COLOR`` is not set. Input that is not a terminal is
    not a human, unless ``accept_pipe`` (for tests) says otherwise. ``timeout_s`` limits the wait for a
    line; ``quiet_s`` is how long no key may be pressed before a question. ``elsewhere`` says whether the
    question was answered somewhere else meanwhile.
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
        elsewhere: Callable[[], bool] | None = None,
    ) -> None:
        self._out = stream_out or sys.stdout
        self._keys = Keys(stream_in or sys.stdin, quiet_s=quiet_s, clock=clock, elsewhere=elsewhere)
        self._colour = (_wants_colour(self._out) if colour is None else colour) and not plain
        self._plain = plain
        self._width = width
        self._timeout_s = timeout_s
        self.attended = self._keys.is_terminal or accept_pipe

    def look(self) -> Look:
        """Return how to draw on this terminal as it is now."""
        width = self._width or shutil.get_terminal_size((100, 24)).columns
        return Look(self._colour, max(40, width), self._plain)

    def show(self, request: ApprovalRequest, *, full: bool) -> int:
        """Draw ``request``, throw away what was typed meanwhile, and return how many lines were left out."""
        screen = draw_request(request, self.look(), full=full)
        self.put("\n".join(screen.lines) + "\n")
        self._keys.arm()
        return screen.hidden

    def line(self, timeout_s: float | None = None) -> str:
        """Return the next typed line, stripped; wait ``timeout_s`` or the approver's own limit. Raises NoAnswer."""
        return self._keys.line(timeout_s or self._timeout_s).strip()

    def arm(self) -> None:
        """Throw away what was typed, and wait for quiet."""
        self._keys.arm()

    def put(self, text: str, style: str = "") -> None:
        """Write printable ``text``; what the terminal's encoding lacks is shown as an escape."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        shown = styled(text, style, self._colour)
        self._out.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
