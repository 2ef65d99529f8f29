"""A change set on its way to the disk: gate it, ask a human, write it, keep how to take it back.

The edits of an answer and what a contained command left take this way alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from rails.approval.decision import request_for_changes, sign_changes, still_valid
from rails.approval.edit import edit_summary
from rails.core.changes import ChangeSet
from rails.core.errors import StaleError
from rails.core.events.changes import (
    ChangePlanned,
    CheckpointEvent,
    ExecutionStarted,
    GateVerdict,
    ToolExecutionResult,
    changes_in_words,
)
from rails.core.events.session import ErrorEvent
from rails.core.tool_request import ToolRequest
from rails.edits.apply import apply
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.plan_result import Plan
from rails.session import feedback
from rails.session.ask_approval import ask
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext

_NOT_RECORDED: Final = (
    "The change is written, but its history could not be: ai-rails undo cannot take it back yet. "
    "The next change or start of AI-Rails tries again."
)


def judge_and_write(
    context: TurnContext,
    requests: Sequence[ToolRequest],
    planned: Plan,
    doubts: Sequence[str] = (),
    ids: tuple[str, ...] = (),
) -> RequestResult:
    """Judge a planned change, ask about it and write it; ``doubts`` are risks besides the plan's own.

    ``ids`` name it where no request asked for it.
    """
    ids = ids or tuple(request.id for request in requests)
    started = time.monotonic()
    verdict = context.gate.judge(planned.changes, agent=context.agent.name)
    context.publish(GateVerdict(ids, _ms_since(started), verdict.proposal.diff(), verdict))
    if verdict.status == "fail":
        return feedback.gate(ids, verdict)

    asked = request_for_changes(
        ids[0],
        context.agent.name,
        requests,
        verdict,
        planned.notes,
        from_project=context.from_project,
        doubts=(*doubts, *planned.doubts),
        model=context.model.name,
    )
    original, decision = asked, ask(context, asked)
    if decision.answer != "approve":
        return feedback.denied(ids, decision.reason, stop=decision.answer == "abort")
    asked = decision.edited or asked
    verdict, account = asked.verdict or verdict, edit_summary(original, asked)
    approved = sign_changes(asked, decision)
    if not still_valid(approved, asked):
        return feedback.stale(ids, "What was approved is not what would be written; nothing was written.")

    started, title = time.monotonic(), changes_in_words(approved.value.files()) + planned.label
    step = StepFacts(context.session_id, title)
    try:
        intent = ExecutionStarted(ids, asked.digest, asked.changes.files())
        applied = apply(approved, context.project, step=step, on_intent=lambda: context.publish(intent))
    except StaleError as error:
        outcome = feedback.stale(ids, str(error))
        context.publish(_wrote(outcome, ChangeSet(), started))
        return outcome
    written = applied.changes
    for change in written.changes:
        context.saw(str(change.path), change.after_sha256 or "")
    outcome = feedback.applied(ids, written, verdict, (*planned.notes, account) if account else planned.notes)
    context.publish(_wrote(outcome, written, started))
    if applied.step:
        paths = tuple(str(change.path) for change in written.changes)
        context.publish(CheckpointEvent(f"step {applied.step}: {title}", applied.step, paths))
    elif applied.unrecorded:  # the files are written and logged; the journal keeps the step
        context.publish(ErrorEvent(_NOT_RECORDED, applied.unrecorded))
    return outcome


def change_planned(ids: tuple[str, ...], plan: Plan) -> ChangePlanned:
    """Return the event of a plan."""
    fuzzy, merged = (tuple(map(str, files)) for files in (plan.fuzzy, plan.merged))
    return ChangePlanned(ids, plan.changes.files(), plan.notes, fuzzy, merged)


def _wrote(outcome: RequestResult, written: ChangeSet, started: float) -> ToolExecutionResult:
    """Return the result of writing files, or (nothing in ``written``) of not writing them."""
    return ToolExecutionResult(
        ids=outcome.ids,
        ok=outcome.ok,
        text=outcome.text,
        changes=written.files(),
        duration_ms=_ms_since(started),
    )


def _ms_since(started: float) -> float:
    """Return the milliseconds since ``started`` (``time.monotonic``)."""
    return round((time.monotonic() - started) * 1000, 3)
