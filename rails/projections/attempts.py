"""Why did it fail N times? Each failed turn compared with the one before it. Pure.

What is compared is the agent's feedback: refusals by code, path and message, findings by rule, path
and message (lines move, so they don't count), denials by their reason. What the agent answered is compared
too: the same answer again, the same bytes for the file that was named, bytes that were refused before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from rails.core.dataclass import dataclass, replace
from rails.core.diff import changed_lines
from rails.core.text import one_line
from rails.projections.common import ApprovalView, Attempt, TurnView

Failures: TypeAlias = frozenset[tuple[str, str, str]]
Files: TypeAlias = frozenset[tuple[str, str | None]]

FIRST_TRY: Final = "first try"
_CUT: Final = ("max_tokens", "cut")


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """Tries of one agent at one thing, all of them failed but ``ended``, which is ``None`` when none was right."""

    agent: str
    tries: tuple[TurnView, ...]
    ended: TurnView | None


@dataclass(frozen=True, slots=True)
class _Try:
    """What a turn said and how it ended, in a form that can be compared."""

    number: int
    outcome: str
    failures: Failures
    said: str
    files: Files


def failures_of(turn: TurnView) -> Failures:
    """Return what went wrong in a turn, in a form that can be compared."""
    found = {(refusal.code, refusal.path, refusal.message) for refusal in turn.refusals}
    found |= {(f.rule, f.path, f.message) for gate in turn.gates[-1:] for f in gate.verdict.findings if f.new}
    found |= {("denied", "", a.reason) for a in turn.approvals if a.answer in ("deny", "abort")}
    found |= {("failed", result.tool, result.text) for result in turn.results if not result.ok}
    if turn.stop_reason in _CUT:
        found.add(("cut", "", turn.stop_reason))
    return frozenset(found)


def causes_of(turn: TurnView) -> tuple[str, ...]:
    """Return why a turn failed, as codes and rules in their order; the outcome where nothing more is known."""
    if not (turn.failed or failures_of(turn)):
        return ()
    return tuple(sorted({code for code, _, _ in failures_of(turn)} or {turn.outcome}))


def with_progress(turns: Sequence[TurnView]) -> tuple[TurnView, ...]:
    """Say of every turn in a row of tries how it compares with the tries before it, per agent."""
    rows: dict[str, list[_Try]] = {}
    result = []
    for turn in turns:
        row = rows.setdefault(turn.agent, [])
        now = _Try(turn.number, turn.outcome, failures_of(turn), what_was_said(turn), _files(turn))
        if turn.failed or now.failures:
            attempt, words = _compared(turn, now, row)
            row.append(now)
        else:
            attempt, words = _ended(now, row)
            row.clear()
        result.append(replace(turn, progress=words, attempt=attempt))
    return tuple(result)


def rows_of(turns: Sequence[TurnView]) -> Iterator[AttemptRow]:
    """Yield every row of failed tries, with the turn that was right."""
    rows: dict[str, list[TurnView]] = {}
    for turn in turns:
        row = rows.setdefault(turn.agent, [])
        if turn.failed or failures_of(turn):
            row.append(turn)
        elif row:
            yield AttemptRow(turn.agent, tuple(row), turn)
            row.clear()
    yield from (AttemptRow(agent, tuple(row), None) for agent, row in rows.items() if row)


def explain_failures(turns: Sequence[TurnView]) -> tuple[str, ...]:
    """Return a sentence for every row of failed turns: how often, why, and how it ended."""
    return tuple(_sentence(row, f": {_told(row)}") for row in rows_of(turns))


def caption(row: AttemptRow) -> str:
    """Say who failed how often, and how it ended."""
    return one_line(_sentence(row), 600)


def _sentence(row: AttemptRow, why: str = "") -> str:
    tries = row.tries
    turns = f"turn{'s' * (len(tries) > 1)} {', '.join(str(turn.number) for turn in tries)}"
    end = f"turn {row.ended.number} was right" if row.ended else "it did not get right"
    return f"{row.agent or 'the answer'} failed {_times(len(tries))} ({turns}){why}; {end}."


def _told(row: AttemptRow) -> str:
    causes = Counter(cause for turn in row.tries for cause in causes_of(turn))
    steps = [turn.progress for turn in row.tries[1:]]
    told = ", ".join(f"{cause} ×{count}" if count > 1 else cause for cause, count in causes.items())
    return f"{told}; then: {' → '.join(steps)}" if steps else told


def _compared(turn: TurnView, now: _Try, row: Sequence[_Try]) -> tuple[Attempt, str]:
    """Say how a failed turn compares with the failed ones before it."""
    if turn.stop_reason in _CUT:
        return "cut", "the answer was cut off" if row else FIRST_TRY
    if culprit := _introduced(turn):
        return "introduced", f"brought in by the model's correction, which changed {culprit}"
    if not row:
        return "first", FIRST_TRY
    previous = row[-1]
    if now.failures == previous.failures:
        return _same_again(now, previous)
    if any(now.failures == earlier.failures for earlier in row[:-1]):
        return "oscillating", "back to an earlier failure: it goes in circles"
    if same := next((earlier for earlier in row[:-1] if now.files and now.files == earlier.files), None):
        return "oscillating", f"back to the content of turn {same.number}: it goes in circles"
    gone, kept = len(previous.failures - now.failures), len(previous.failures & now.failures)
    new = len(now.failures - previous.failures)
    if not kept:
        return "progress", f"all corrected, {new} new" if gone > 1 else f"corrected, {new} new"
    return "progress", f"{gone} corrected, {kept} left" + (f", {new} new" if new else "")


def _same_again(now: _Try, previous: _Try) -> tuple[Attempt, str]:
    if now.said and now.said == previous.said:
        return "repeated", "the same answer again, word for word: the feedback was not followed"
    named = {path for _, path, _ in now.failures if path}
    kept = {path for path, _ in now.files & previous.files}
    if named and named <= kept:
        return "ignored", "the same again: the feedback was ignored, the file that it names did not change"
    return "ignored", "the same again: the feedback was not followed"


def _ended(now: _Try, row: Sequence[_Try]) -> tuple[Attempt, str]:
    """Say how a turn without failures compares with the failed ones before it."""
    if not row:
        return "", ""
    words = f"right after {_times(len(row))}"
    refused = (earlier for earlier in row if earlier.outcome == "findings" and earlier.files == now.files)
    if now.files and (same := next(refused, None)):
        return "flaky", f"{words}; turn {same.number} was refused with the same content: the checks disagree"
    return "right", words


def _introduced(turn: TurnView) -> str:
    """Return the values that a taken correction changed in a request that then failed; "" if there is none."""
    for correction in turn.corrections:
        if not (correction.taken and correction.changes):
            continue
        paths = {path for r in turn.requests if r.id == correction.request_id for path in r.paths}
        refused = any(r.request_id == correction.request_id or r.path in paths for r in turn.refusals)
        found = any(f.new and (f.path in paths or not paths) for gate in turn.gates[-1:] for f in gate.verdict.findings)
        if refused or found:
            return ", ".join(change.place for change in correction.changes[:3])
    return ""


def what_was_said(turn: TurnView) -> str:
    """Return what a turn asked for, apart from ids; its text where nothing could be read as a request."""
    asked = [[request.tool, request.parameters] for request in turn.requests]
    return json.dumps(asked, sort_keys=True) if asked else turn.text.strip()


def _files(turn: TurnView) -> Files:
    return frozenset((change.path, change.after_sha256) for change in turn.planned)


def _times(number: int) -> str:
    return "once" if number == 1 else "twice" if number == 2 else f"{number} times"


#: A diff of so many changed lines that was approved faster than this was hardly read.
REFLEX_LINES: Final = 20
REFLEX_SECONDS: Final = 2.0


def hardly_read(approval: ApprovalView, lines: int) -> bool:
    """Whether a person approved so many changed lines faster than anybody reads them."""
    by_person = approval.answer == "approve" and is_person(approval.by)
    return by_person and lines >= REFLEX_LINES and approval.seconds < REFLEX_SECONDS


def is_person(by: str) -> bool:
    """Whether an answer is a person's: at a terminal or in a browser."""
    return by.startswith("human")


def warnings_of(turns: Sequence[TurnView], undone: Sequence[int], *, ended: bool) -> tuple[str, ...]:
    """Return what is in doubt or was decided oddly. ``ended`` is whether the session has an end."""
    return tuple(f"Turn {turn.number}: {what}" for turn in turns for what in _of_turn(turn, set(undone), ended))


def _of_turn(turn: TurnView, undone: set[int], ended: bool) -> Iterator[str]:
    if turn.in_doubt and ended:
        yield "something was begun and has no result; compare the files with what was approved."
    for approval in turn.approvals:
        yield from _of_approval(approval, turn, ended)
    if steps := sorted(undone & set(turn.checkpoints)):
        yield f"was approved and written, and undone later (step {', '.join(map(str, steps))})."


def _of_approval(approval: ApprovalView, turn: TurnView, ended: bool) -> Iterator[str]:
    if not approval.answer and ended:
        yield "a question was never answered."
    if approval.answer != "approve":
        return
    if ended and not turn.results and not turn.in_doubt:
        yield "was approved, but nothing was carried out."
    if turn.gates and turn.gates[-1].verdict.status != "pass":
        yield f"was approved although the checks said {turn.gates[-1].verdict.status!r}."
    lines = changed_lines(approval.diff)
    if hardly_read(approval, lines):
        yield f"{lines} changed lines were approved after {approval.seconds:.1f} s."
