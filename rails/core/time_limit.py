"""Work that is waited for only so long; what is left behind goes on by itself and is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def run_within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return what ``work`` returns. Raises what it raises, and TimeoutError after ``seconds``."""
    found: list[tuple[T | None, BaseException | None]] = []
    ended = threading.Event()

    def run() -> None:
        try:
            found.append((work(), None))
        except BaseException as error:  # raised again below, in the caller's thread
            found.append((None, error))
        ended.set()

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name=name).start()
    if not ended.wait(min(max(0.0, seconds), threading.TIMEOUT_MAX)):
        raise TimeoutError(f"{name} took longer than {seconds:g} s")
    value, error = found[0]
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
