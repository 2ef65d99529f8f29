"""Compares each failed turn with the one before. Pure. Compared: refusals (code, path, message), findings (rule, path,
message, not line), denials' reasons, equal answers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rails.core.diff import changed_lines
from rails.projections.common import ApprovalView, Attempt, TurnView

Failures: TypeAlias = frozenset[tuple[str, str, str]]

FIRST_TRY: Final = "first try"
_CUT: Final = ("max_tokens", "cut")
#: A run of tests: its first line says what failed; how long it took, and the lines of tracebacks, differ every time.
_TESTS: Final = re.compile(r"\Atests: ([^\n]*?)(?: in [\d.]+ ?s)?(?:\n.*)?\Z", re.DOTALL)


class AttemptRow(Struct, frozen=True):
    """An agent's failed tries; ``ended``: the turn that mended them, or ``None``."""

    agent: str
    tries: tuple[TurnView, ...]
    ended: TurnView | None


class _Try(Struct, frozen=True):
    failures: Failures
    said: int
    tools: frozenset[str]


def failures_of(turn: TurnView) -> Failures:
    """Return a turn's failures in comparable form."""
    found = {(refusal.code, refusal.path, refusal.message) for refusal in turn.refusals}
    failed = [gate.verdict for gate in turn.gates[-1:] if gate.verdict.status != "pass"]
    found |= {(f.rule, f.path, f.message) for verdict in failed for f in verdict.findings if f.new}
    asked = what_was_said(turn)
    found |= {("denied", asked, a.reason) for a in turn.approvals if a.answer in ("deny", "abort")}
    found |= {("failed", result.tool, _TESTS.sub(r"\1", result.text)) for result in turn.results if not result.ok}
    if turn.stop_reason in _CUT:
        found.add(("cut", "", turn.stop_reason))
    return frozenset(found)


class Progress:
    """Compares the turns of a session, in order, with each agent's earlier tries."""

    def __init__(self) -> None:
        self._rows: dict[str, list[_Try]] = {}

    def compared(self, turn: TurnView) -> TurnView:
        """Return a turn with its causes and progress."""
        row = self._rows.setdefault(turn.agent, [])
        now = _Try(failures_of(turn), hash(what_was_said(turn)), frozenset(request.tool for request in turn.requests))
        causes: tuple[str, ...] = ()
        if turn.failed or now.failures:
            causes = tuple(sorted({code for code, _, _ in now.failures} or {turn.outcome}))
            attempt, words = _compared(turn, now, row)
            row.append(now)
        else:
            attempt, words = _ended(turn, now, row)
            if attempt:
                row.clear()
        return replace(turn, progress=words, attempt=attempt, causes=causes)


def rows_of(turns: Sequence[TurnView]) -> Iterator[AttemptRow]:
    """Yield every row of failed tries."""
    rows: dict[str, list[TurnView]] = {}
    for turn in turns:
        row = rows.setdefault(turn.agent, [])
        if turn.causes:
            row.append(turn)
        elif row and turn.attempt:
            yield AttemptRow(turn.agent, tuple(row), turn)
            row.clear()
    yield from (AttemptRow(agent, tuple(row), None) for agent, row in rows.items() if row)


def explain_failures(turns: Sequence[TurnView]) -> tuple[str, ...]:
    """Return a sentence per row of failed turns: how often, why, how it ended."""
    return tuple(caption(row, f": {_told(row)}") for row in rows_of(turns))


def caption(row: AttemptRow, why: str = "") -> str:
    """Return who failed how often, why if it is given, and how it ended."""
    tries = row.tries
    turns = f"turn{'s' * (len(tries) > 1)} {', '.join(str(turn.number) for turn in tries)}"
    end = f"turn {row.ended.number} passed" if row.ended else "never passed"
    return f"{row.agent or 'the answer'} failed {_times(len(tries))} ({turns}){why}; {end}."


def _told(row: AttemptRow) -> str:
    causes = tally(cause for turn in row.tries for cause in turn.causes)
    steps = tally(turn.progress for turn in row.tries[1:])
    return f"{causes}; then: {steps}" if steps else causes


def tally(words: Iterable[str]) -> str:
    """Return words in the order in which they first came, with how often."""
    return ", ".join(f"{one} ×{count}" if count > 1 else one for one, count in Counter(words).items())


def _compared(turn: TurnView, now: _Try, row: Sequence[_Try]) -> tuple[Attempt, str]:
    if turn.stop_reason in _CUT:
        return "cut", "the answer was cut off" if row else FIRST_TRY
    if not row:
        return "first", FIRST_TRY
    previous = row[-1]
    if now.failures == previous.failures:
        if now.said and now.said == previous.said:
            return "repeated", "the same answer again"
        return "ignored", "the same failure again"
    if any(now.failures == earlier.failures for earlier in row[:-1]):
        return "oscillating", "back to an earlier failure: it goes in circles"
    gone, kept = len(previous.failures - now.failures), len(previous.failures & now.failures)
    new = len(now.failures - previous.failures)
    return "progress", f"{gone} gone, {kept} left, {new} new"


def _ended(turn: TurnView, now: _Try, row: Sequence[_Try]) -> tuple[Attempt, str]:
    """Return whether a turn without failures fixes the last one's: by a change, the same tool, or a valid answer.

    Prose fixes no request, and no claim.
    """
    if not row:
        return "", ""
    before = row[-1]
    form = turn.outcome == "answered" and not before.tools and "claim" not in {code for code, _, _ in before.failures}
    if turn.outcome == "applied" or form or before.tools & now.tools:
        return "right", f"fixed on retry {len(row)}"
    return "", ""


def what_was_said(turn: TurnView) -> str:
    """Return a turn's requests without ids; its text if there are none."""
    asked = [[request.tool, request.parameters] for request in turn.requests]
    return json.dumps(asked, sort_keys=True) if asked else turn.text.strip()


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


#: A diff of so many changed lines that was approved faster than this was hardly read.
REFLEX_LINES: Final = 20
REFLEX_SECONDS: Final = 2.0


def hardly_read(approval: ApprovalView, lines: int) -> bool:
    """Return whether a person approved faster than anybody reads."""
    by_person = approval.answer == "approve" and approval.by.startswith("human")
    return by_person and lines >= REFLEX_LINES and approval.seconds < REFLEX_SECONDS


class TurnDoubt(Struct, frozen=True):
    """A doubt about a turn; ``at_end``: only in ended sessions.

    Without ``words``: ``steps`` were written, odd if later undone.
    """

    turn: int
    words: str = ""
    at_end: bool = False
    steps: tuple[int, ...] = ()


def doubts_of(turn: TurnView) -> Iterator[TurnDoubt]:
    """Yield the doubts of a turn."""
    if turn.in_doubt:
        words = "something was begun and has no result; compare the files with what was approved."
        yield TurnDoubt(turn.number, words, at_end=True)
    for approval in turn.approvals:
        yield from _of_approval(approval, turn)
    if turn.checkpoints:
        yield TurnDoubt(turn.number, steps=turn.checkpoints)


def warnings_of(doubts: Iterable[TurnDoubt], undone: Sequence[int], *, ended: bool) -> tuple[str, ...]:
    """Return warnings in sentences. ``ended``: the session has an end."""
    found = []
    for doubt in doubts:
        steps = sorted(set(undone) & set(doubt.steps))
        if steps:
            found.append(
                f"Turn {doubt.turn}: was approved and written, and undone later (step {', '.join(map(str, steps))})."
            )
        elif doubt.words and (ended or not doubt.at_end):
            found.append(f"Turn {doubt.turn}: {doubt.words}")
    return tuple(found)


def _of_approval(approval: ApprovalView, turn: TurnView) -> Iterator[TurnDoubt]:
    if not approval.answer:
        yield TurnDoubt(turn.number, "a question was never answered.", at_end=True)
    if approval.answer != "approve":
        return
    if not turn.results and not turn.in_doubt:
        yield TurnDoubt(turn.number, "was approved, but nothing was executed.", at_end=True)
    if turn.gates and turn.gates[-1].verdict.status != "pass":
        yield TurnDoubt(turn.number, f"was approved although the checks said {turn.gates[-1].verdict.status!r}.")
    lines = changed_lines(approval.diff)
    if hardly_read(approval, lines):
        yield TurnDoubt(turn.number, f"{lines} changed lines were approved after {approval.seconds:.1f} s.")
