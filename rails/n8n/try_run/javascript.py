"""The JavaScript of a dry run, asked of a process that the caller runs (``engine.cjs``, ``names.js``).

What the process knows (workflows, what nodes put out) is told before the first question, and told again to the next
one where code has ended it: out of memory, for instance.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.n8n.try_run.faults import BoundReached, NodeFault, NotModelled, OverBudget
from rails.n8n.values import UNDEFINED, Value

#: The program that the process runs.
PROGRAM: Final = Path(__file__).with_name("engine.cjs")
_NAMES: Final = Path(__file__).with_name("names.js")
#: How long one answer may take on the busiest machine; the process bounds each expression by itself.
_WAIT_SECONDS: Final = 30.0
_MOST_CHARS: Final = 4_000_000


def _nothing_runs(_question: bytes, _seconds: float) -> bytes:
    raise NotModelled("JavaScript, which nothing runs here")


@dataclass(frozen=True)
class Engine:
    """What runs JavaScript: lines in, one line out. ``ask`` raises CheckError when it ended.

    ``end`` ends it; the next question begins anew.

    ``luxon`` is the text of luxon's program, empty where it is not installed: dates are then not modelled.
    """

    ask: Callable[[bytes, float], bytes] = _nothing_runs
    end: Callable[[], None] = lambda: None
    luxon: str = ""


class Questions:
    """The questions of one dry run, each bounded to ``each`` seconds of computing, and the dry run to ``seconds``."""

    def __init__(self, engine: Engine, now: float, *, each: float, seconds: float) -> None:
        self._engine, self._each, self._seconds, self._began = engine, each, seconds, time.process_time()
        self._used, self._told, self._last = 0.0, 0, 0
        self.here, self.worlds = object(), 0
        self._state: list[Callable[[], tuple[str, Value]]] = []
        begin = {"now": int(now), "seconds": each, "chars": _MOST_CHARS, "luxon": engine.luxon}
        self.tell(lambda: ("begin", {**begin, "names": _NAMES.read_text("utf-8")}))

    def check_time(self) -> None:
        """Raise OverBudget when the dry run has had its time."""
        if time.process_time() - self._began + self._used >= self._seconds:
            raise OverBudget(f"{self._seconds:g} seconds of computing")

    def tell(self, what: Callable[[], tuple[str, Value]]) -> None:
        """Let the process know something before the next question; made only where there is one."""
        self._state.append(what)

    def value(self, **question: Value) -> Value:
        """Return what code comes to. Raises NodeFault, NotModelled, BoundReached or OverBudget."""
        self.check_time()
        self._last += 1
        lines = [*(dict([one()]) for one in self._state[self._told :]), {"value": {"id": self._last, **question}}]
        told = len(self._state)
        try:
            sent = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            answer = json.loads(self._engine.ask(sent, _WAIT_SECONDS))
            said, used = answer["said"], float(answer["cpu"])
            if answer["id"] != self._last:
                raise ValueError(answer["id"])
        except (CheckError, ValueError, LookupError, TypeError, RecursionError) as error:
            self._engine.end()
            self._told, self._used = 0, self._used + self._each
            why = (
                one_line(str(error), 80) if isinstance(error, CheckError) else "its answer is not one that can be read"
            )
            raise BoundReached(f"its process ended, most often for want of memory or time ({why})") from None
        self._told, self._used = told, self._used + min(used, self._each)
        return _value(said)


def _value(said: Mapping[str, Any]) -> Value:
    if "bound" in said:
        raise BoundReached(str(said["bound"]))
    if "missing" in said:
        raise NotModelled(str(said["missing"]))
    if "fault" in said:
        raise NodeFault(str(said["fault"]))
    if "number" in said:
        return float(said["number"].replace("Infinity", "inf"))
    return UNDEFINED if "undefined" in said else said["value"]
