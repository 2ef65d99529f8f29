"""A time limit for a stream, also if only keep-alives come.

A thread reads, as keep-alives never let the reader check the clock. An abandoned one ends at the next piece, or with
the process.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from rails.core.conversation import Delta
from rails.core.errors import ModelRetryable, TimeUpError

#: How long nobody looks at the clock.
_LOOK_S: Final = 0.2


def in_time(stream: Iterator[Delta], silence_s: float, time_left: Callable[[], float]) -> Iterator[Delta]:
    """Yield what ``stream`` yields.

    Raises ModelRetryable after ``silence_s`` seconds without content, TimeUpError when no ``time_left``.
    """
    pieces: queue.SimpleQueue[Delta | BaseException | None] = queue.SimpleQueue()
    left_behind = threading.Event()
    threading.Thread(target=_read, args=(stream, pieces, left_behind), daemon=True, name="a model's answer").start()
    until = time.monotonic() + silence_s
    try:
        while True:
            left = min(time_left(), until - time.monotonic(), _LOOK_S)  # time_left may raise what stops the session
            try:
                piece = pieces.get(timeout=max(left, 0.0))
            except queue.Empty:
                if time_left() <= 0:
                    raise TimeUpError("The time of the session was used up while the model was answering.") from None
                if time.monotonic() >= until:
                    raise ModelRetryable(f"The model sent nothing of its answer for {silence_s:g} s.") from None
                continue
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece
            until = time.monotonic() + silence_s
    finally:
        left_behind.set()


def _read(
    stream: Iterator[Delta],
    pieces: queue.SimpleQueue[Delta | BaseException | None],
    left_behind: threading.Event,
) -> None:
    try:
        for delta in stream:
            pieces.put(delta)
            if left_behind.is_set():
                return
        pieces.put(None)
    except BaseException as error:  # raised again where the answer is awaited
        pieces.put(error)
