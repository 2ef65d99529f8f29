"""A terminal: lines out, keys in; early keys don't count."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Final, TextIO, TypedDict

from rails.approval.decision import ApprovalRequest
from rails.approval.terminal.screen import Look, draw_request
from rails.core.errors import RailsError
from rails.render.lines import styled
from rails.render.terminal import columns, fitted, unbroken, wants_colour

#: Longer lines are no answer.
MAX_LINE: int = 4_096
_POLL_S: Final = 0.05
#: A card needs that many columns.
_NARROWEST: Final = 40
#: After Enter, nobody types the next line within this time.
_TYPING_S: Final = 0.05
#: What a terminal puts around a paste when it is told to (mode 2004, "bracketed paste").
_PASTE_MARKS: Final = ("\x1b[200~", "\x1b[201~")


class NoAnswer(RailsError):
    """Nobody answered. ``by`` names the cause in the log."""

    by = "end of input"


class TimeUp(NoAnswer):
    """Nobody answered in time."""

    by = "timeout"


class Elsewhere(NoAnswer):
    """Answered elsewhere, or the question is over."""

    by = "elsewhere"


class Pasted(NoAnswer):
    """More than one line came: a paste never decides; ask again."""

    by = "paste"

    def __init__(self) -> None:
        super().__init__("More than one line came, so it was ignored. The question is asked again.")


class Keys:
    """Reads lines from ``stream``. ``quiet_s``: without keys before a question.

    ``elsewhere`` ends a wait once true. ``out``: the terminal that marks pastes.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        quiet_s: float = 0.35,
        clock: Callable[[], float] = time.monotonic,
        elsewhere: Callable[[], bool] | None = None,
        out: TextIO | None = None,
    ) -> None:
        self._stream = stream
        self._marks_pastes = out if out is not None and _is_terminal(out) and os.environ.get("TERM") != "dumb" else None
        self._elsewhere = elsewhere
        self._quiet_s = quiet_s
        self._clock = clock
        self.is_terminal = _is_terminal(stream)

    def arm(self) -> None:
        """Discard what was typed and wait for quiet."""
        if self.is_terminal:
            _drain(self._stream.fileno(), self._quiet_s)

    def line(self, timeout_s: float | None = None) -> str:
        """Return the next line without its end.

        Raises Pasted for a paste or several lines, NoAnswer at the end of input (an unfinished line does not count),
        timeout (of a terminal only), or an answer elsewhere.
        """
        if not self.is_terminal:
            line = self._stream.readline(MAX_LINE)
            if not line.endswith("\n"):
                raise NoAnswer("the input ended")
            return line[:-1]
        self._mark_pastes("h")
        try:
            line = self._terminal_line(timeout_s)
        finally:
            self._mark_pastes("l")
        with each_key(self._stream.fileno()):  # else the beginning of a further line would not be seen
            more = bool(select.select([self._stream.fileno()], [], [], _TYPING_S)[0])
        if more or any(mark in line for mark in _PASTE_MARKS):
            self.arm()
            raise Pasted
        return line

    def _mark_pastes(self, on: str) -> None:
        if self._marks_pastes is not None:
            self._marks_pastes.write(f"\x1b[?2004{on}")
            self._marks_pastes.flush()

    def _terminal_line(self, timeout_s: float | None) -> str:
        fd = self._stream.fileno()
        until = None if timeout_s is None else self._clock() + timeout_s
        data = b""
        while not data.endswith(b"\n"):
            left = None if until is None else max(0.0, until - self._clock())
            pause = left if self._elsewhere is None else min(_POLL_S, _POLL_S if left is None else left)
            if not select.select([fd], [], [], pause)[0]:
                if self._elsewhere is not None and self._elsewhere():
                    raise Elsewhere("answered elsewhere")
                if until is not None and self._clock() >= until:
                    raise TimeUp(f"no answer within {timeout_s:g} s")
                continue
            chunk = os.read(fd, 1024)
            if not chunk or len(data) > MAX_LINE:
                raise NoAnswer("the input ended")
            data += chunk
        return data[:-1].decode("utf-8", "replace")


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


@contextlib.contextmanager
def each_key(fd: int, *, flush: bool = False) -> Iterator[None]:
    """Read keys as typed, without echo; ``flush`` discards those before and after."""
    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    when = termios.TCSAFLUSH if flush else termios.TCSANOW
    try:
        termios.tcsetattr(fd, when, changed)
        yield
    finally:
        termios.tcsetattr(fd, when, before)


def _drain(fd: int, quiet_s: float) -> None:
    with each_key(fd, flush=True):
        while select.select([fd], [], [], quiet_s)[0]:
            if not os.read(fd, 1024):
                raise NoAnswer("the input ended")


class ConsoleOptions(TypedDict, total=False):
    """The options of a :class:`Console`."""

    plain: bool
    colour: bool | None
    width: int | None
    quiet_s: float
    timeout_s: float | None
    accept_pipe: bool
    elsewhere: Callable[[], bool] | None


class Console:
    """Draws questions, reads answers.

    ``plain``: no colour or decoration, for screen readers. ``colour``: by default if ``stream_out`` is a terminal
    without ``NO_COLOR``. ``accept_pipe`` (tests) takes other input than a terminal. ``timeout_s``: of a line;
    ``quiet_s``: without keys before a question; ``elsewhere``: was it answered there?
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
        self._keys = Keys(stream_in or sys.stdin, quiet_s=quiet_s, clock=clock, elsewhere=elsewhere, out=self._out)
        self._colour = (wants_colour(self._out) if colour is None else colour) and not plain
        self._plain = plain
        self._width = width
        self._timeout_s = timeout_s
        self.attended = self._keys.is_terminal or accept_pipe

    def look(self) -> Look:
        """Return how to draw on this terminal now."""
        return Look(self._colour, max(_NARROWEST, self._width or columns(100)), self._plain)

    def show(self, request: ApprovalRequest, *, full: bool) -> int:
        """Draw ``request``, discard early keys, return the number of omitted lines."""
        screen = draw_request(request, self.look(), full=full)
        self.put("\n".join(screen.lines) + "\n")
        self._keys.arm()
        return screen.hidden

    def line(self, timeout_s: float | None = None) -> str:
        """Return the next line, stripped; ``timeout_s`` overrides the limit. Raises NoAnswer."""
        return self._keys.line(timeout_s or self._timeout_s).strip()

    def arm(self) -> None:
        """Discard what was typed and wait for quiet."""
        self._keys.arm()

    def put(self, text: str, style: str = "") -> None:
        """Write ``text``; escape what the encoding lacks."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        shown = styled(fitted(text, self._out), style, self._colour)
        self._out.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()


def key_line(*labels: str) -> str:
    """Return what each key does, in lines broken between keys only."""
    return "  ".join(map(unbroken, (*labels[:-1], f"{labels[-1]}, then Enter: ")))
