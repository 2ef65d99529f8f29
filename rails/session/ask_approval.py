"""Asking about tool runs: each by itself, or those of an answer that are alike as one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from rails.approval.decision import ApprovalRequest, BatchApprover, Chooser, Decision, request_for_tool
from rails.approval.edit import edit_summary
from rails.approval.policy.grants import Granter
from rails.approval.terminal.batch import MOST, alike, digest_of_all
from rails.core.candidates import PlaceChoice
from rails.core.dataclass import replace
from rails.core.events.approval import ApprovalRequested, GrantEvent, HumanDecision
from rails.core.events.changes import PlaceChosen
from rails.core.json_text import json_object
from rails.core.tool_request import ToolRequest
from rails.edits.choices import place_choices, with_choice
from rails.edits.plan import plan
from rails.edits.plan_result import Plan
from rails.session.turn_context import TurnContext


def ask(context: TurnContext, asked: ApprovalRequest) -> Decision:
    """Put one question, and publish it and its answer."""
    context.publish(_asked(asked))
    decision = context.approver.decide(asked)
    _publish_decision(context, asked, decision)
    return decision


def approval_request_for(context: TurnContext, request: ToolRequest) -> ApprovalRequest:
    """Return the question whether to run ``request``."""
    doubt = context.echo(request)
    return request_for_tool(
        request.id,
        context.agent.name,
        request,
        context.contained.notes(request.tool_name),
        from_project=context.from_project,
        doubts=(doubt,) if doubt else (),
        model=context.model.name,
        contained=context.contained.is_one(request.tool_name) and context.contained.label.contained,
    )


def ask_batch(context: TurnContext, requests: Sequence[ToolRequest]) -> Mapping[str, Decision | None]:
    """Ask at once about the first of ``requests`` and those right after it that are alike; by request id.

    ``None`` stands for those that have to be asked about by themselves.
    """
    if len(requests) < 2 or not isinstance(context.approver, BatchApprover):
        return {}
    questions = [approval_request_for(context, request) for request in requests[:MOST] if request.asks]
    group = list(takewhile(lambda one: alike(questions[0], one), questions))
    together = [question for question, request in zip(group, requests, strict=False) if question.id == request.id]
    if len(together) < 2:
        return {}
    decisions = context.approver.decide_batch(together)
    batch = digest_of_all(together)[:16]
    for question, decision in zip(together, decisions, strict=True):
        if decision is not None:
            context.publish(_asked(question, batch if decision.batch else ""))
            _publish_decision(context, question, decision)
    return {question.id: decision for question, decision in zip(together, decisions, strict=True)}


def _asked(asked: ApprovalRequest, batch: str = "") -> ApprovalRequested:
    """Return the event of a question; ``batch`` names it where several were put as one."""
    return ApprovalRequested(
        f"{', '.join(asked.tools)} by {asked.agent}",
        id=asked.id,
        digest=asked.digest,
        kind=asked.kind,
        tools=asked.tools,
        diff=asked.changes.diff(),
        risks=asked.risks,
        notes=asked.notes,
        explanation=asked.explanation,
        batch=batch,
    )


def _publish_decision(context: TurnContext, asked: ApprovalRequest, decision: Decision) -> None:
    """Publish an answer, and the grants that it gave or took back."""
    context.publish(
        HumanDecision(
            id=asked.id,
            digest=asked.digest,
            account=edit_summary(asked, decision.edited) if decision.edited else "",
            answer=decision.answer,
            reason=decision.reason,
            by=decision.by,
            at=decision.at,
            seconds=decision.seconds,
            scope=decision.scope,
            batch=decision.batch,
        )
    )
    for change in context.approver.changes() if isinstance(context.approver, Granter) else ():
        grant = change.grant
        words = f"{change.what}: {grant}"
        context.publish(GrantEvent(words, change.what, grant.number, json_object(grant.rule), grant.uses, grant.ends))


_MOST: Final = 10


def plan_with_choices(context: TurnContext, edits: Sequence[ToolRequest]) -> tuple[Sequence[ToolRequest], Plan]:
    """Plan ``edits``; where they are refused, let the human choose among the places that come nearest.

    Returns the edits as they were planned, with the accepted handles, and the plan.
    """
    edits, planned = list(edits), _plan(context, edits)
    chosen: list[str] = []
    for _ in range(_MOST):
        if not planned.refusals or not isinstance(context.approver, Chooser) or not context.approver.attended:
            break
        offered = place_choices(edits, planned, context.project)
        handle = context.approver.choose(offered[0]) if offered else ""
        if not handle:
            break
        context.publish(_chosen(offered[0], handle))
        chosen.append(f"{offered[0].path}: the human chose the place of an edit that had no certain one")
        edits = with_choice(edits, offered[0], handle)
        planned = _plan(context, edits)
    return edits, replace(planned, notes=(*planned.notes, *dict.fromkeys(chosen))) if planned.changes else planned


def _chosen(offer: PlaceChoice, handle: str) -> PlaceChosen:
    place = next(place for place in offer.places if place.handle == handle)
    return PlaceChosen(
        id=offer.request_id,
        path=offer.path,
        refusal=offer.message,
        handle=handle,
        first_line=place.first_line,
        last_line=place.last_line,
        likeness=place.likeness,
    )


def _plan(context: TurnContext, edits: Sequence[ToolRequest]) -> Plan:
    return plan([context.based(edit) for edit in edits], context.project, known=context.known)
