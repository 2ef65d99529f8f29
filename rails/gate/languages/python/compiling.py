"""The Python workers say which of many files compile, while ruff is asked about the first of them."""

from __future__ import annotations

import codecs
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Final

from rails.core.errors import CheckError
from rails.gate.support.check import Desk, Job
from rails.gate.support.diagnostics import plain
from rails.gate.support.warm_processes import side_by_side

#: Files that are compiled at one request.
_BATCH: Final = 16

Known = Callable[[Job], tuple[object, ...]]


class CompileAhead:
    """Compiles ``jobs`` in the background. Files that do not compile, and all if a worker fails, are left to others.

    ``known`` is the key under which others find in ``desk`` that a file compiles.
    """

    def __init__(self, jobs: Sequence[Job], desk: Desk, known: Known) -> None:
        self._desk, self._known = desk, known
        # A byte-order mark is a claim about the encoding, which only the bytes themselves can break.
        some = (job for job in jobs if known(job) not in desk.known and not job.after.startswith(codecs.BOM_UTF8))
        self._texts = {job.path: text for job in some if (text := plain(job.after)) is not None}
        unknown = [job for job in jobs if job.path in self._texts]
        self._batches = [unknown[at : at + _BATCH] for at in range(0, len(unknown), _BATCH)]
        self._done = {job.path: event for batch in self._batches for event in [threading.Event()] for job in batch}
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="compile ahead")
        self._thread.start()

    def wait_for(self, jobs: Sequence[Job]) -> None:
        """Wait until it is known of ``jobs``, or will not be."""
        for job in jobs:
            if (event := self._done.get(job.path)) is not None:
                event.wait()

    def stop(self) -> None:
        """Ask the workers nothing more, and wait for what they were asked."""
        self._stopped = True
        self._thread.join()

    def _run(self) -> None:
        try:
            with contextlib.suppress(CheckError, ValueError):
                side_by_side(self._ask, self._batches)
        finally:
            for event in self._done.values():
                event.set()

    def _ask(self, batch: Sequence[Job]) -> None:
        try:
            if self._stopped:
                return
            answer = self._desk.pool.ask(
                {"op": "compile", "texts": [[job.path, self._texts[job.path]] for job in batch]}
            )
            fine = answer.get("fine")
            for job, ok in zip(batch, fine if isinstance(fine, list) else (), strict=True):
                if ok is True:
                    self._desk.known[self._known(job)] = None
        finally:
            self._done[batch[0].path].set()
