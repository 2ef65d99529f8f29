"""Keys typed during a turn: the next message, and Alt-R, which revokes grants."""

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
    """Reads keys during a turn, without echo. ``grants``: revoked by Alt-R; ``talks``: a message can follow."""

    def __init__(self, grants: Grants | None, *, talks: bool) -> None:
        self.queued: list[str] = []
        self.text = ""
        self._grants = grants
        self._talks = talks
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._reading: ExitStack | None = None
        self._revoking = False

    def begin(self) -> None:
        """Start reading keys, unless none has a meaning or another program has the terminal."""
        if sys.platform == "win32" or not (self._talks or self.badge()) or not sys.stdin.isatty():
            return
        from rails.approval.terminal.console import each_key

        here = sys.stdin.fileno()
        with suppress(OSError):  # not the terminal of this session
            if os.tcgetpgrp(here) == os.getpgrp():
                self._reading = ExitStack()
                self._reading.enter_context(each_key(here))

    def end(self) -> None:
        """Stop reading; the next question gets further keys."""
        if self._reading:
            self._reading.close()
            self._reading = None
        if self._revoking and self._grants:  # here, because keys are read in a thread of their own
            self._grants.revoke_all()
            self._revoking = False

    def shown(self) -> str:
        """Process the keys that came; return what was typed and the active grants, to show."""
        if self._reading:
            self._read(sys.stdin.fileno())
        queued = f"queued: {one_line(self.queued[-1], _SHOWN)}" if self.queued else ""
        typed = f"› {one_line(self.text[-_SHOWN:])}" if self.text else ""
        return " · ".join(filter(None, (queued, typed, self.badge())))

    def badge(self) -> str:
        """Return the active grants and the key that revokes them, or ""."""
        held = self._grants.active() if self._grants and not self._revoking else ()
        return f"Alt-R revokes {one_line('; '.join(map(str, held)), 200)}" if held else ""

    def revoke(self) -> None:
        """Revoke every grant, before the next request."""
        self._revoking = True

    def unsent(self) -> str:
        """Return and forget the unsent text."""
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
        """Handle a key. A line end with more behind it is pasted, and sends nothing."""
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
