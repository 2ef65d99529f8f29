"""How long the slow checks of a proposal are waited for.

Fast checks are always awaited, and so is everything before a human is asked or a command ends. But once it is
known that a proposal goes back to the agent, the slow ones (black, flake8, commands) have a budget: what has no
answer by then goes on in the background, is "pending" in the verdict, and is known at the next attempt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rails.core import limits
from rails.core.time_limit import run_within
from rails.gate.support.language import PendingError

T = TypeVar("T")


class Deadline:
    """Unlimited until :meth:`start` is called, if it is ``limited`` at all. May be shared between threads."""

    def __init__(self, *, limited: bool = False) -> None:
        self._limited = limited
        self._deadline = 0.0

    @property
    def started(self) -> bool:
        """Whether it is known that the proposal goes back."""
        return self._deadline > 0

    def start(self) -> None:
        """Start the budget: something was found that the agent must correct."""
        if self._limited and not self._deadline:
            self._deadline = time.monotonic() + limits.PENDING_SECONDS

    def wait_for(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, or raise PendingError when the budget is used up; it goes on then."""
        if not self.started:
            return work()
        try:
            return run_within(self._deadline - time.monotonic(), work, "a pending check")
        except TimeoutError:
            raise PendingError from None
