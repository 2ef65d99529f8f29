"""The index in the background: what takes longer than a request may is taken in by a thread with its own connection."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Final

from rails.core.errors import LogError
from rails.log.index.index import Index

_SLICE_S: Final = 0.5
_JOIN_S: Final = 10.0


class Builder:
    """Builds the index of the project whose ``.rails`` folder is ``state``, when it is told to."""

    def __init__(self, state: Path) -> None:
        self._state, self._lock, self._closing = state, threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def at_work(self) -> bool:
        """Whether something is being taken in; whoever asks meanwhile reads what is in."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Take in everything there is, unless that is being done."""
        with self._lock:
            if not self.at_work and not self._closing.is_set():
                self._thread = threading.Thread(target=self._build, daemon=True)
                self._thread.start()

    def _build(self) -> None:
        # A log that cannot be read is told to whoever asks for it.
        with contextlib.suppress(LogError), Index(self._state) as index:
            while not self._closing.is_set() and not index.refresh(_SLICE_S):
                if not index.behind:
                    self._closing.wait(_SLICE_S)  # another process is at it

    def close(self) -> None:
        """Stop, soon."""
        self._closing.set()
        if self._thread:
            self._thread.join(_JOIN_S)
