"""A session as it happens: server-sent events whose ids are the numbers of the log's records.

Whoever reconnects says with ``Last-Event-ID`` what it has seen and gets everything after it, from the log, so
nothing is missed: not while a tab was hidden, not while the server was down. Whoever is too far behind
receives ``reset`` and starts from a window of the session again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from rails.core.errors import LogError
from rails.log.index.index import Index
from rails.log.reader import LogRow
from rails.log.session_stats import SessionStats
from rails.projections.live import Live, LiveSignal
from rails.projections.progress import SessionUsage

#: Records that are sent after a reconnection; more are better looked at as a window.
MOST_BEHIND: Final = 5_000
#: Tabs that may listen at a time; each has a connection and a thread.
MOST_STREAMS: Final = 20
_POLL_S: Final = 0.03
_BEAT_S: Final = 5.0
#: How far back the turn of a record may begin.
_LOOK_BACK: Final = 200


#: What makes a session dearer.
_USED: Final = ("LLM_RESPONSE", "CORRECTION")


class Streams:
    """The open streams over one index; ``closing`` ends them all. ``meter`` says what a session has used."""

    def __init__(self, index: Index, closing: threading.Event, meter: Callable[[SessionStats], SessionUsage]) -> None:
        self._index, self._closing, self._meter = index, closing, meter
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """How many are open."""
        return self._count

    def full(self) -> bool:
        """Whether no more can be opened."""
        return self._count >= MOST_STREAMS

    def follow(self, session_id: str, seen: int) -> Iterator[bytes]:
        """Yield what came after record ``seen`` and what comes, until the session ends or the server closes."""
        with self._lock:
            self._count += 1
        try:
            yield from self._follow(session_id, seen)
        finally:
            with self._lock:
                self._count -= 1

    def _follow(self, session_id: str, seen: int) -> Iterator[bytes]:
        self._index.refresh(1.0)
        card = self._index.card(session_id)
        if card is not None and card.records - seen > MOST_BEHIND:
            yield _event(LiveSignal(card.records, "reset", {}))
            seen = card.records
        card = card or SessionStats(session_id)
        # From where the card ends, if that is before the turn: what it has not counted is counted here.
        tail = self._index.tail(session_id, min(self._turn_start(session_id, seen), card.records + 1))
        live, beat = Live(), time.monotonic()
        yield b"retry: 1000\n\n"
        while not self._closing.is_set():
            sent, ended, used = [], False, False
            try:
                for item in tail.read():
                    if isinstance(item, LogRow):
                        sent += [_event(signal) for signal in live.add(item.record) if signal.number > seen]
                        used = used or (item.record.event_type in _USED and item.record.seq > seen)
                        if item.record.seq > card.records:
                            card.add(item.record)
                        ended = item.record.event_type == "WORKFLOW_END"
            except LogError:
                return
            if tail.position.seq > seen:
                # Once for all that came: there is something new to look at.
                seen = tail.position.seq
                sent += [self._used(card, seen)] if used else []
                yield b"".join([*sent, _event(LiveSignal(seen, "record", {}))])
                beat = time.monotonic()
            if ended:
                return
            if time.monotonic() - beat > _BEAT_S:
                # A budget of time is used up while nothing happens.
                yield self._used(card, seen) if card.limits.get("max_seconds") else b": still here\n\n"
                beat = time.monotonic()
            self._closing.wait(_POLL_S)

    def _used(self, card: SessionStats, seen: int) -> bytes:
        return _event(LiveSignal(seen, "meter", {"words": self._meter(card).line}))

    def _turn_start(self, session_id: str, seen: int) -> int:
        """Return the record that the turn of ``seen`` begins with: its requests give later signals their names."""
        if seen < 1:
            return 1
        first = max(1, seen - _LOOK_BACK)
        before = self._index.window(session_id, first, seen - first + 1)
        asked = [hit.record.seq for hit in before if hit.record.event_type == "LLM_CALL"]
        return max(asked, default=seen + 1)


def _event(signal: LiveSignal) -> bytes:
    return f"id: {signal.number}\nevent: {signal.kind}\ndata: {json.dumps(signal.data)}\n\n".encode()
