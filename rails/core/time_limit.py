"""Runs a function within a time limit; afterwards it goes on unobserved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def run_within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return what ``work`` returns. Raises its errors; TimeoutError after ``seconds``."""
    from concurrent.futures import Future, wait

    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again below, in the caller's thread
            future.set_exception(error)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name=name).start()
    if not wait([future], min(max(0.0, seconds), threading.TIMEOUT_MAX)).done:
        raise TimeoutError(f"{name} took longer than {seconds:g} s")
    return future.result()
