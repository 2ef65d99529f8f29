"""Asking about tool runs: each by itself, or those of an answer that are alike as one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from rails.approval.decision import ApprovalRequest, Decision, request_for_tool
from rails.approval.terminal.batch import MOST, BatchApprover, alike, digest_of_all
from rails.core.tool_request import ToolRequest
from rails.session import publish as tell
from rails.session.turn_context import Setting


def ask(setting: Setting, asked: ApprovalRequest) -> Decision:
    """Put one question, and tell that it was put and what was answered."""
    tell.questioned(setting, asked)
    decision = setting.approver.decide(asked)
    tell.decided(setting, asked, decision)
    return decision


def about(setting: Setting, request: ToolRequest) -> ApprovalRequest:
    """Return the question whether to run ``request``."""
    return request_for_tool(
        request.id, setting.agent.name, request, from_project=setting.from_project, model=setting.model.name
    )


def batched(setting: Setting, requests: Sequence[ToolRequest]) -> Mapping[str, Decision | None]:
    """Ask at once about the first of ``requests`` and those right after it that are alike; by request id.

    ``None`` stands for those that have to be asked about by themselves.
    """
    if len(requests) < 2 or not isinstance(setting.approver, BatchApprover):
        return {}
    questions = [about(setting, request) for request in requests[:MOST] if request.asks]
    group = list(takewhile(lambda one: alike(questions[0], one), questions))
    together = [question for question, request in zip(group, requests, strict=False) if question.id == request.id]
    if len(together) < 2:
        return {}
    decisions = setting.approver.decide_batch(together)
    batch = digest_of_all(together)[:16]
    for question, decision in zip(together, decisions, strict=True):
        if decision is not None:
            tell.questioned(setting, question, batch=batch if decision.batch else "")
            tell.decided(setting, question, decision)
    return {question.id: decision for question, decision in zip(together, decisions, strict=True)}
