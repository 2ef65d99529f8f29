"""Why did it fail N times? Each failed turn compared with the one before it. Pure.

What is compared is what the agent was told: refusals by code, path and message, findings by rule, path
and message (lines move, so they don't count), denials by their reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from rails.review.views import TurnView

Failures: TypeAlias = frozenset[tuple[str, str, str]]

FIRST_TRY: Final = "first try"


def failures_of(turn: TurnView) -> Failures:
    """Return what went wrong in a turn, in a form that can be compared."""
    found = {(refusal.code, refusal.path, refusal.message) for refusal in turn.refusals}
    found |= {(f.rule, f.path, f.message) for gate in turn.gates[-1:] for f in gate.findings if f.new}
    found |= {("denied", "", a.reason) for a in turn.approvals if a.answer in ("deny", "abort")}
    found |= {("failed", result.tool, result.text) for result in turn.results if not result.ok}
    if turn.stop_reason in ("max_tokens", "cut"):
        found.add(("cut", "", turn.stop_reason))
    return frozenset(found)


def with_progress(turns: Sequence[TurnView]) -> tuple[TurnView, ...]:
    """Say of every turn in a row of tries how it compares with the tries before it, per agent."""
    rows: dict[str, list[Failures]] = {}
    result = []
    for turn in turns:
        row = rows.setdefault(turn.agent, [])
        failures = failures_of(turn)
        if turn.failed or failures:
            result.append(replace(turn, progress=_compared(failures, row)))
            row.append(failures)
        else:
            result.append(replace(turn, progress=f"right after {_times(len(row))}" if row else ""))
            row.clear()
    return tuple(result)


def explain_failures(turns: Sequence[TurnView]) -> tuple[str, ...]:
    """Return a sentence for every row of failed turns: how often, why, and how it ended."""
    return tuple(_sentence(row, ended) for row, ended in _rows(turns))


def _rows(turns: Sequence[TurnView]) -> Iterator[tuple[list[TurnView], TurnView | None]]:
    rows: dict[str, list[TurnView]] = {}
    for turn in turns:
        row = rows.setdefault(turn.agent, [])
        if turn.failed or failures_of(turn):
            row.append(turn)
        elif row:
            yield list(row), turn
            row.clear()
    yield from ((row, None) for row in rows.values() if row)


def _sentence(row: Sequence[TurnView], ended: TurnView | None) -> str:
    numbers = ", ".join(str(turn.number) for turn in row)
    causes: dict[str, int] = {}
    for turn in row:
        for cause in sorted({code for code, _, _ in failures_of(turn)} or {turn.outcome}):
            causes[cause] = causes.get(cause, 0) + 1
    told = ", ".join(f"{cause} ×{count}" if count > 1 else cause for cause, count in causes.items())
    steps = [turn.progress for turn in row[1:]]
    path = f"; then: {' → '.join(steps)}" if steps else ""
    who = row[0].agent or "the answer"
    end = f"turn {ended.number} was right" if ended else "it did not get right"
    return f"{who} failed {_times(len(row))} (turn {numbers}): {told}{path}; {end}."


def _compared(failures: Failures, row: Sequence[Failures]) -> str:
    if not row:
        return FIRST_TRY
    previous = row[-1]
    if ("cut", "", "max_tokens") in failures or ("cut", "", "cut") in failures:
        return "the answer was cut off"
    if failures == previous:
        return "the same again: the feedback was not followed"
    if failures in row[:-1]:
        return "back to an earlier failure: it goes in circles"
    gone, kept, new = len(previous - failures), len(previous & failures), len(failures - previous)
    if not kept:
        return f"all {gone} corrected, {new} new" if gone > 1 else f"corrected, {new} new"
    return f"{gone} corrected, {kept} left" + (f", {new} new" if new else "")


def _times(number: int) -> str:
    return "once" if number == 1 else "twice" if number == 2 else f"{number} times"
