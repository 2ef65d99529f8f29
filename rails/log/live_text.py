"""The answer that an agent is writing: a private, masked file until the answer is whole, only for the page."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from rails.core import atomic_file
from rails.core.events.record import Record
from rails.core.events.turn import LlmCall, LlmError, LlmResponse
from rails.log.writer import SessionLog

#: A partial text is told after so many more characters, and no sooner than so many seconds after the last one.
PARTIAL_CHARS: Final = 50
PARTIAL_S: Final = 0.15
_NAME: Final = "live.txt"
_MOST: Final = 20_000
_WHOLE_WORDS: Final = re.compile(r".*\s", re.DOTALL)
#: What may be the beginning of a secret of several lines is held back until it is whole and masked.
_BEGIN: Final = "-----BEGIN"


class LiveText:
    """The live file of a running session; use it in ``with``."""

    def __init__(
        self,
        log: SessionLog,
        also: Callable[[str], object] = lambda _: None,
        partly: Callable[[str], object] | None = None,
    ) -> None:
        """``also`` gets every piece; ``partly`` the whole masked text so far, less often."""
        self._log = log
        self._also = also
        self._text = ""
        self._at = -math.inf
        self._partly = partly
        self._told = 0
        self._told_at = -math.inf

    def hear(self, text: str) -> None:
        """Take a piece of the answer; ``also`` gets it first."""
        self._also(text)
        self._text = (self._text + text)[-_MOST:]
        now = time.monotonic()
        if now - self._at >= PARTIAL_S:
            self._write()
        if self._partly and len(self._text) - self._told >= PARTIAL_CHARS and now - self._told_at >= PARTIAL_S:
            self._told = len(self._text)
            self._told_at = now
            self._partly(self._shown())

    def note(self, record: Record) -> None:
        """Start over if an answer is complete, failed, or requested."""
        if record.kind in (LlmCall, LlmResponse, LlmError) and self._text:
            self._text = ""
            self._told = 0
            self._write()
            if self._partly:
                self._partly("")

    def _write(self) -> None:
        self._at = time.monotonic()
        with contextlib.suppress(OSError):
            atomic_file.replace_file(
                _file(self._log.state, self._log.session_id), self._shown().encode(), durable=False
            )

    def _shown(self) -> str:
        whole = _WHOLE_WORDS.match(self._text)  # a word that is not whole could be half a secret
        return self._log.as_kept(whole[0]).partition(_BEGIN)[0] if whole else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            _file(self._log.state, self._log.session_id).unlink()


def _file(state: Path, session_id: str) -> Path:
    return state / "sessions" / session_id / _NAME


def live_text(state: Path, session_id: str) -> str:
    """Return what a session's agent has written so far of its answer."""
    try:
        return _file(state, session_id).read_text("utf-8", errors="replace")
    except OSError:
        return ""
