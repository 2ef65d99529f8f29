"""Server-sent events with record numbers as ids. ``Last-Event-ID`` resumes from the log without loss; ``reset``: too
far behind, start from a window.
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from anyio.to_thread import run_sync

from rails.core.errors import LogError
from rails.core.events.record import Record
from rails.core.events.session import WorkflowEnd
from rails.core.events.turn import CorrectionEvent, LlmResponse
from rails.log.live_text import live_text
from rails.log.reader import LogRow
from rails.log.scan import tail_from
from rails.log.session_stats import SessionStats
from rails.log.summaries import Summaries
from rails.projections.live import Live, LiveSignal
from rails.review.reports.usage import SessionUsage
from rails.review.web.pages import turn_at

#: Records that are sent after a reconnection; more are better looked at as a window.
MOST_BEHIND: Final = 5_000
#: Tabs that may listen at a time; each has a connection and looks at its log again and again.
MOST_STREAMS: Final = 20
_POLL_S: Final = 0.03
_BEAT_S: Final = 5.0
#: How often the agent's unfinished answer is looked at, and how much of its end is shown.
_TEXT_S: Final = 0.2
_TEXT: Final = 3_000


@dataclass
class Streams:
    """The open streams of a project; ``closing`` ends them all. ``meter``: a session's use."""

    summaries: Summaries
    closing: threading.Event
    meter: Callable[[SessionStats], SessionUsage]
    count: int = 0

    def full(self) -> bool:
        """Return whether no more can be opened."""
        return self.count >= MOST_STREAMS

    async def follow(self, session_id: str, seen: int) -> AsyncIterator[bytes]:
        """Yield events after record ``seen`` until session or server ends; threads only read."""
        self.count += 1
        try:
            follower = await run_sync(_Follower, self.summaries, self.meter, session_id, seen)
            yield follower.opening
            while not (self.closing.is_set() or follower.ended):
                if text := await run_sync(follower.text):
                    yield text
                if follower.has_grown() and (news := await run_sync(follower.read)):
                    yield news
                elif beat := follower.beat():
                    yield beat
                if not follower.ended:
                    await asyncio.sleep(_POLL_S)
        finally:
            self.count -= 1


class _Follower:
    """One session as one tab sees it."""

    def __init__(
        self, summaries: Summaries, meter: Callable[[SessionStats], SessionUsage], session_id: str, seen: int
    ) -> None:
        self._meter = meter
        self._seen = seen
        self._state = summaries.state
        self._text = ""
        self._told = -math.inf
        self.opening = b"retry: 1000\n\n"
        self.ended = False
        self._card = copy.deepcopy(summaries.get(session_id))
        total = self._card.records
        if total - seen > MOST_BEHIND:
            self.opening = _event(LiveSignal(total, "reset", {})) + self.opening
            self._seen = total
        # From the start of its turn: the requests give later signals their names.
        self._tail = tail_from(self._state, session_id, turn_at(self._state, session_id, self._seen)[1])
        self._live = Live()
        self._beat = time.monotonic()

    def has_grown(self) -> bool:
        try:
            return self._tail.path.stat().st_size > self._tail.position.offset
        except OSError:
            self.ended = True
            return False

    def read(self) -> bytes:
        sent = []
        used = False
        try:
            for item in self._tail.read():
                if isinstance(item, LogRow):
                    self.ended = isinstance(item.record.event, WorkflowEnd)
                    new = (signal for signal in self._live.add(item.record) if signal.number > self._seen)
                    # A session that pauses goes on in the same page.
                    sent += [_event(signal) for signal in new if self.ended or signal.kind != "end"]
                    used = used or (_costs(item.record) and item.record.seq > self._seen)
                    if item.record.seq > self._card.records:
                        self._card.add(item.record)
        except LogError:
            self.ended = True
            return b""
        if self._tail.position.seq <= self._seen:
            return b""
        # Once for all that came: there is something new to look at.
        self._seen = self._tail.position.seq
        self._beat = time.monotonic()
        sent += [self._used()] if used else []
        return b"".join([*sent, _event(LiveSignal(self._seen, "record", {}))])

    def text(self) -> bytes:
        if time.monotonic() - self._told < _TEXT_S:
            return b""
        self._told = time.monotonic()
        before = self._text
        self._text = live_text(self._state, self._card.session_id)
        return b"" if before == self._text else _event(LiveSignal(self._seen, "text", {"words": self._text[-_TEXT:]}))

    def beat(self) -> bytes:
        """Return a heartbeat: time budgets run without events."""
        if time.monotonic() - self._beat <= _BEAT_S:
            return b""
        self._beat = time.monotonic()
        return self._used() if self._card.limits.get("max_seconds") else b": still here\n\n"

    def _used(self) -> bytes:
        return _event(
            LiveSignal(
                self._seen,
                "meter",
                {"words": (used := self._meter(self._card)).line, "bars": [[name, share] for name, share in used.bars]},
            )
        )


def _costs(record: Record) -> bool:
    return isinstance(record.event, LlmResponse | CorrectionEvent)


def _event(signal: LiveSignal) -> bytes:
    return f"id: {signal.number}\nevent: {signal.kind}\ndata: {json.dumps(signal.to_json())}\n\n".encode()
