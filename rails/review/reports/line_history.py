"""Blame: from a line to its edit and decision. Pure. Applied changes are walked from the newest; hashes show whether
others wrote between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from rails.core.changes import ChangedFile
from rails.core.events.approval import why_words
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.projections.common import ApprovalView, RequestView, SessionView, TurnView
from rails.render.blocks import Diff
from rails.render.diffs import read_diff
from rails.render.units import time_text
from rails.review.reports.turn import turn_name

_ALL_LINES: Final = 10_000_000


class LineOrigin(Struct, frozen=True):
    """The turn that wrote a line, its number then; ``decision`` may be ``None``."""

    session_id: str
    turn: TurnView
    line: int
    decision: ApprovalView | None
    requests: tuple[RequestView, ...]


class LineHistory(Struct, frozen=True):
    """``origin``: ``None`` if no session wrote the line; ``certain``: hashes join up to the current file."""

    path: str
    line: int
    origin: LineOrigin | None
    certain: bool


class _Step(Struct, frozen=True):
    view: SessionView
    turn: TurnView
    change: ChangedFile
    diff: Diff | None
    decision: ApprovalView | None


def line_history(
    sessions: Sequence[SessionView], path: str, line: int, current_sha256: str | None = None
) -> LineHistory:
    """Return the origin of ``line`` (from 1). ``sessions``: oldest first; ``current_sha256``: the file's."""
    number = line
    certain = True
    expected = current_sha256
    for step in reversed(list(_steps(sessions, path))):
        certain = certain and expected in (None, step.change.after_sha256)
        if step.diff is None:
            return LineHistory(path, line, None, certain=False)
        before = _before(step.diff, number)
        if before is None:
            asked = tuple(request for request in step.turn.requests if path in request.paths)
            origin = LineOrigin(step.view.session_id, step.turn, number, step.decision, asked or step.turn.requests)
            return LineHistory(path, line, origin, certain)
        number = before
        expected = step.change.before_sha256
    return LineHistory(path, line, None, certain)


def writes(turn: TurnView, path: str) -> bool:
    """Return whether a turn wrote a file."""
    return any(change.path == path for result in turn.results for change in result.changes or ())


def line_history_as_text(story: LineHistory) -> str:
    """Return the history in sentences."""
    place = f"{one_line(story.path)}:{story.line}"
    doubt = (
        "" if story.certain else "\nThe file was also changed outside of these sessions, so this may be another line."
    )
    origin = story.origin
    if origin is None:
        return f"{place}: no session wrote this line.{doubt}"
    turn = origin.turn
    session = one_line(origin.session_id)
    lines = [f"{place} was written in session {session}, {turn_name(turn).lower()}, as line {origin.line}."]
    lines.append(f"  agent     {one_line(turn.agent)} ({one_line(turn.model)}), {time_text(turn.started)}")
    lines += [
        f"  request   {one_line(f'{r.tool}: {r.explanation}' if r.explanation else r.tool)}" for r in origin.requests
    ]
    if decision := origin.decision:
        reason = why_words(decision.reason, decision.by)
        words = f"{decision.answer} by {decision.by} after {decision.seconds:.1f} s{reason}"
        lines.append(f"  decision  {one_line(words)}")
    return "\n".join(lines) + doubt


def _steps(sessions: Sequence[SessionView], path: str) -> Iterator[_Step]:
    for view in sessions:
        for turn in view.turns:
            if set(turn.checkpoints) & set(view.undone):
                continue
            for result in turn.results:
                for change in result.changes or ():
                    if result.ok and change.path == path:
                        yield _Step(view, turn, change, *_diff_of(turn, result.facts, path))


def _diff_of(turn: TurnView, facts: Mapping[str, Json] | None, path: str) -> tuple[Diff | None, ApprovalView | None]:
    agreed = [approval for approval in turn.approvals if approval.answer == "approve"]
    for approval in agreed or (None,):
        text = approval.diff if approval else str((facts or {}).get("diff", ""))
        for diff in read_diff(text, limit=_ALL_LINES):
            if diff.path == path:
                return diff, approval
    return None, None


def _before(diff: Diff, number: int) -> int | None:
    """Return a line's number before the change, ``None`` if the change wrote it."""
    shift = 0
    for row in diff.lines:
        if row.style == "add":
            if row.new == number:
                return None
            if row.new < number:
                shift -= 1
        elif row.style == "context" and row.new == number:
            return row.old
        elif row.style == "remove" and row.old <= number + shift:
            shift += 1
    return number + shift
