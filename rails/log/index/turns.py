"""The turns of a session as the index keeps them: where each begins, and what happened in it, a letter for each.

A turn begins where a model is asked. One that is asked again without having answered is in the same turn, as in
``rails.projections.session``; what happens before any model is asked is turn 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Self

from rails.core.dataclass import dataclass
from rails.core.events.approval import HumanDecision
from rails.core.events.base import Event, UnknownEvent
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    LogRecovered,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import LlmCall, LlmResponse, OutputRefused, ToolRequestValidationFailed

_LETTERS: Final[Mapping[type[Event], str]] = {
    **dict.fromkeys((ToolRequestValidationFailed, ChangeRefused, OutputRefused), "r"),
    LlmResponse: "s",
}
_FRAME: Final = {WorkflowStart, WorkflowEnd, AgentEngage, AgentFinished, SessionResumed, LogRecovered, Undo}
_ANSWERS: Final = {"approve": "a", "deny": "d", "abort": "d"}


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """One turn or several: their numbers, the record they begin with, and how many went well, badly, or nowhere."""

    first: int
    last: int
    record: int
    good: int
    bad: int
    open: int

    @property
    def count(self) -> int:
        """How many turns these are."""
        return self.good + self.bad + self.open

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Any, ...]], base: int) -> tuple[Self, ...]:
        """Return the groups of rows (group, letters, count, first and last turn, first row), in order."""
        groups: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            groups.setdefault(row[0], []).append(row)
        return tuple(cls._of_group(group, base) for group in groups.values())

    @classmethod
    def _of_group(cls, group: list[tuple[Any, ...]], base: int) -> Self:
        tones: Counter[str] = Counter()
        for _, flags, count, *_ in group:
            tones[tone_of(flags)] += count
        first, last, row = min(g[3] for g in group), max(g[4] for g in group), min(g[5] for g in group)
        return cls(first, last, row - base, tones["good"], tones["bad"], tones["open"])


def tone_of(flags: str) -> str:
    """Return how a turn with these letters went: "good", "bad" or "open"."""
    if set("drb") & set(flags) or ("f" in flags and "a" not in flags):
        return "bad"
    return "good" if set("ws") & set(flags) else "open"


class TurnMarks:
    """Takes the records of a session in order; ``last`` is the row of its last turn so far."""

    def __init__(self, last: tuple[int, int, str] | None, base: int) -> None:
        self._base = base
        self._turns = {last[0]: (last[1], last[2])} if last else {}
        self._at = last[0] if last else 0

    def add(self, record: Record) -> None:
        """Take in one record."""
        kind = record.kind
        if kind in _FRAME or kind is UnknownEvent:
            return
        number, flags = self._turns.get(self._at, (0, ""))
        event = record.event if kind is LlmCall else None
        if isinstance(event, LlmCall) and (not self._at or not number or "s" in flags):
            number, flags = event.turn or number + 1, ""
            self._at = self._base + record.seq
        self._at = self._at or self._base + record.seq
        letter = _letter(record)
        self._turns[self._at] = number, flags if letter in flags else flags + letter

    def rows(self) -> Iterator[tuple[int, int, str]]:
        """Yield the turns that these records belong to: row, number, letters."""
        return ((at, number, flags) for at, (number, flags) in self._turns.items())


def _letter(record: Record) -> str:
    """Return what a record says of its turn, "" for nothing."""
    if letter := _LETTERS.get(record.kind):
        return letter
    match record.event if record.kind in (GateVerdict, HumanDecision, ToolExecutionResult) else None:
        case GateVerdict(verdict=verdict):
            return "" if verdict.status == "pass" else "f"
        case HumanDecision(answer=answer):
            return _ANSWERS.get(answer, "")
        case ToolExecutionResult(ok=ok):
            return "w" if ok else "b"
    return ""
