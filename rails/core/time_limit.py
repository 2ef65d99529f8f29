"""Work that is waited for only so long; what is left behind goes on by itself and is forgotten."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def run_within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return what ``work`` returns. Raises what it raises, and TimeoutError after ``seconds``."""
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # raised again below, in the caller's thread
            done.put((None, error))

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name=name).start()
    try:
        value, error = done.get(timeout=min(max(0.0, seconds), threading.TIMEOUT_MAX))
    except queue.Empty:
        raise TimeoutError(f"{name} took longer than {seconds:g} s") from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
