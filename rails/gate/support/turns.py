"""Work on several files at once on one thread: each goes on until it would wait for a tool, then the next does."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
#: Work that stops now and then and has a result in the end.
Steps = Generator[None, None, T]


def taking_turns(works: Iterable[Steps[T]]) -> list[T]:
    """Do each of ``works`` a step at a time, in turns; return their results in order."""
    results: dict[int, T] = {}
    waiting = deque(enumerate(works))
    while waiting:
        index, steps = waiting.popleft()
        try:
            next(steps)
            waiting.append((index, steps))
        except StopIteration as end:
            results[index] = end.value
    return [results[index] for index in sorted(results)]
