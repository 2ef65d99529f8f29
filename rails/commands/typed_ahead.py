"""Keys while nothing is asked: words for the next turn, and Alt-R, which revokes wider approvals."""

from __future__ import annotations

import os
import re
import select
import sys
from codecs import getincrementaldecoder
from contextlib import ExitStack, suppress
from typing import Final

from rails.approval.policy.grants import Grants
from rails.core.text import one_line

REVOKE: Final = "\x1br"
#: An escape sequence, which types nothing, or one character.
_KEY: Final = re.compile(r"\x1b\[[0-9;?]*[@-~]|\x1bO?.|.", re.DOTALL)
#: Bounds of what is kept, in characters and lines, and of what is shown.
_LONGEST: Final = 4_096
_MOST: Final = 20
_SHOWN: Final = 40


class TypedAhead:
    """What is typed while an answer is made, without echo.

    ``grants``: what Alt-R revokes; ``talks``: whether there is a next turn that words can be for.
    """

    def __init__(self, grants: Grants | None, *, talks: bool) -> None:
        self.queued: list[str] = []
        self.text = ""
        self._grants = grants
        self._talks = talks
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._reading: ExitStack | None = None
        self._revoking = False

    def begin(self) -> None:
        """Read keys from now on, unless none could mean anything or the terminal is another program's."""
        if sys.platform == "win32" or not (self._talks or self.badge()) or not sys.stdin.isatty():
            return
        from rails.approval.terminal.console import each_key

        here = sys.stdin.fileno()
        with suppress(OSError):  # not the terminal of this session
            if os.tcgetpgrp(here) == os.getpgrp():
                self._reading = ExitStack()
                self._reading.enter_context(each_key(here))

    def end(self) -> None:
        """Leave further keys to who asks next."""
        if self._reading:
            self._reading.close()
            self._reading = None
        if self._revoking and self._grants:  # here, because keys are read in a thread of their own
            self._grants.revoke_all()
            self._revoking = False

    def shown(self) -> str:
        """Take the keys that came; return what to show of them and of the approvals in force."""
        if self._reading:
            self._read(sys.stdin.fileno())
        queued = f"queued: {one_line(self.queued[-1], _SHOWN)}" if self.queued else ""
        typed = f"› {one_line(self.text[-_SHOWN:])}" if self.text else ""
        return " · ".join(filter(None, (queued, typed, self.badge())))

    def badge(self) -> str:
        """Return the key that revokes the approvals in force, and these, or ""."""
        held = self._grants.active() if self._grants and not self._revoking else ()
        return f"Alt-R revokes {one_line('; '.join(map(str, held)), 200)}" if held else ""

    def revoke(self) -> None:
        """Revoke every approval that is wider than one request, before the next one is looked at."""
        self._revoking = True

    def unsent(self) -> str:
        """Return all that was typed and not sent, and forget it."""
        words = "\n".join(filter(None, (*self.queued, self.text)))
        self.queued.clear()
        self.text = ""
        return words

    def _read(self, here: int) -> None:
        came = b""
        while len(came) < _LONGEST and select.select([here], [], [], 0)[0] and (piece := os.read(here, 1024)):
            came += piece
        keys = _KEY.findall(self._decoder.decode(came))
        for at, key in enumerate(keys, 1):
            self._press(key, last=at == len(keys))

    def _press(self, key: str, *, last: bool) -> None:
        """A line end that more comes with is one of a paste, and sends nothing."""
        if key == REVOKE:
            self.revoke()
        elif not self._talks:
            return
        elif key == "\n" and last and len(self.queued) < _MOST:
            self.queued += filter(None, [self.text.strip()])
            self.text = ""
        elif key in "\x7f\b":
            self.text = self.text[:-1]
        elif key == "\x15":
            self.text = ""
        elif key == "\n" or key.isprintable():
            self.text = (self.text + key)[:_LONGEST]
