"""A run as server-sent events or JSON lines (``rails.projections.live``), plus ``text-partial`` of an answer (masked;
at most every 50 characters and 150 ms) and at the end ``[DONE]`` or ``{"type": "done"}``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Literal, TextIO

from rails.core.conversation import Usage
from rails.core.events.record import Record
from rails.projections.live import Live, LiveSignal

Form = Literal["sse", "jsonl"]


class EventStream:
    """Writes records as events to ``out``; ``close`` it."""

    def __init__(
        self, out: TextIO, form: Form, cost: Callable[[str, Usage], float | None] = lambda _model, _usage: None
    ) -> None:
        self._out = out
        self._form = form
        self._live = Live(cost)
        self._seq = 0
        self._partial = ""
        self._pause = "stopped"

    def __call__(self, record: Record) -> None:
        """Write a record."""
        self._seq = record.seq
        for signal in self._live.add(record):
            self._pause = {"end": "", "error": "error"}.get(signal.kind, "stopped")
            self._write(signal)

    def partly(self, text: str) -> None:
        """Write what the answer gained; an empty text begins the next."""
        if text and text.startswith(self._partial) and text != self._partial:
            self._own("text-partial", delta=text[len(self._partial) :])
        self._partial = text

    def close(self) -> None:
        """End the stream; a run that a person or a signal stopped has an ``end``, too."""
        if self._pause:
            self._own("end", outcome=self._pause, message="The session pauses; ai-rails run --resume continues it.")
        if self._form == "jsonl":
            self._own("done")
            return
        self._out.write("data: [DONE]\n\n")
        self._out.flush()

    def _own(self, kind: str, **data: str) -> None:
        self._write(LiveSignal(self._seq, kind, {**data, "timestamp": time.time_ns() // 1_000_000}))

    def _write(self, signal: LiveSignal) -> None:
        text = json.dumps(signal.to_json(), ensure_ascii=True)
        self._out.write(f"data: {text}\n\n" if self._form == "sse" else f"{text}\n")
        self._out.flush()
