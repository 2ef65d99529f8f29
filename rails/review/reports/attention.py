"""What deserves a second look in a session: sentences about its decisions and what became of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.projections.common import ApprovalView, TurnView
from rails.review.diffs import read_diff

#: A diff of so many changed lines that was approved faster than this was hardly read.
REFLEX_LINES: Final = 20
REFLEX_SECONDS: Final = 2.0


def attention(turns: Sequence[TurnView], undone: Sequence[int], *, ended: bool) -> tuple[str, ...]:
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
    if turn.gates and turn.gates[-1].status != "pass":
        yield f"was approved although the checks said {turn.gates[-1].status!r}."
    lines = sum(diff.added + diff.removed for diff in read_diff(approval.diff))
    if approval.by.startswith("human") and lines >= REFLEX_LINES and approval.seconds < REFLEX_SECONDS:
        yield f"{lines} changed lines were approved after {approval.seconds:.1f} s."
