"""Reading an answer from a terminal so that no key pressed earlier can be the answer.

On a terminal, what was typed before the question is thrown away, and the question is only put after a
while without a key. A pipe has no such moment, so it is read only when the caller insists.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from rails.core.errors import RailsError

#: Longer lines are no answer.
MAX_LINE: int = 4_096
_POLL_S: Final = 0.05


class NoAnswer(RailsError):
    """Nobody answered. ``by`` is what takes the human's place in the record of the decision."""

    by = "end of input"


class TimeUp(NoAnswer):
    """Nobody answered in time."""

    by = "timeout"


class Elsewhere(NoAnswer):
    """Somebody answered somewhere else, or the question is over."""

    by = "elsewhere"


class Keys:
    """Lines from ``stream``. ``quiet_s`` is how long no key may be pressed before a question.

    ``elsewhere`` is asked while waiting on a terminal; once it says yes, the wait is over.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        quiet_s: float = 0.35,
        clock: Callable[[], float] = time.monotonic,
        elsewhere: Callable[[], bool] | None = None,
    ) -> None:
        self._stream = stream
        self._elsewhere = elsewhere
        self._quiet_s = quiet_s
        self._clock = clock
        self.is_terminal = _is_terminal(stream)

    def arm(self) -> None:
        """Throw away what was typed and wait for quiet; each key starts the wait again."""
        if not self.is_terminal:
            return
        if sys.platform == "win32":
            _drain_console(self._quiet_s)
        else:
            _drain_terminal(self._stream.fileno(), self._quiet_s)

    def line(self, timeout_s: float | None = None) -> str:
        """Return the next line without its end.

        Raises NoAnswer at the end of input, when time is up, or when there is an answer elsewhere.

        What stands before the end of input without a newline is not a line. The time limit holds on
        POSIX terminals.
        """
        if self.is_terminal and sys.platform != "win32":
            return self._terminal_line(timeout_s)
        line = self._stream.readline(MAX_LINE)
        if not line.endswith("\n"):
            raise NoAnswer("the input ended")
        return line[:-1]

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


if sys.platform == "win32":

    def _drain_console(quiet_s: float) -> None:
        import msvcrt

        quiet_until = time.monotonic() + quiet_s
        while time.monotonic() < quiet_until:
            if msvcrt.kbhit():
                msvcrt.getwch()
                quiet_until = time.monotonic() + quiet_s
            time.sleep(0.01)

else:

    def _drain_terminal(fd: int, quiet_s: float) -> None:
        import termios

        before = termios.tcgetattr(fd)
        without_lines = termios.tcgetattr(fd)
        without_lines[3] &= ~(termios.ICANON | termios.ECHO)
        try:
            termios.tcsetattr(fd, termios.TCSAFLUSH, without_lines)
            while select.select([fd], [], [], quiet_s)[0]:
                if not os.read(fd, 1024):
                    raise NoAnswer("the input ended")
        finally:
            termios.tcsetattr(fd, termios.TCSAFLUSH, before)
