"""Questions to a human within a turn; alike tool runs are one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from rails.approval.decision import (
    ApprovalRequest,
    Decision,
    RuleBook,
    request_for_result,
    request_for_tool,
    still_valid,
)
from rails.core.builtin_tools import READ_FILE
from rails.core.changes import Approved, ChangeSet
from rails.core.events.approval import ApprovalRequested, GrantEvent, HumanDecision
from rails.core.json_text import json_object
from rails.core.paths import WorkspacePath, exact_path, why_hidden
from rails.core.tool_request import ToolRequest
from rails.session import feedback
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext

T = TypeVar("T", ChangeSet, ToolRequest)


def ask(context: TurnContext, asked: ApprovalRequest) -> Decision:
    """Put one question; publish it and its answer."""
    if isinstance(context.approver, RuleBook):
        asked = context.approver.with_rules(asked)
    context.publish(
        ApprovalRequested(
            f"{', '.join(asked.tools)} by {asked.agent}",
            id=asked.id,
            digest=asked.digest,
            kind=asked.kind,
            tools=asked.tools,
            diff=asked.changes.diff(),
            risks=asked.risks,
            notes=asked.notes,
            explanation=asked.explanation,
        )
    )
    decision = context.approver.decide(asked)
    context.publish(
        HumanDecision(
            id=asked.id,
            digest=asked.digest,
            account=_edited(asked, decision),
            answer=decision.answer,
            reason=decision.reason,
            by=decision.by,
            at=decision.at,
            seconds=decision.seconds,
            scope=decision.scope,
        )
    )
    for change in getattr(context.approver, "changes", tuple)():  # of one that grants can be given to
        grant = change.grant
        context.publish(
            GrantEvent(
                f"{change.what}: {grant}", change.what, grant.number, json_object(grant.rule), grant.uses, grant.ends
            )
        )
    return decision


def has_to_ask(context: TurnContext, request: ToolRequest) -> bool:
    """Return whether a tool's use is a question, by definition, echo or policy."""
    if request.asks or context.echo(request):
        return True
    return _tightened(context, lambda: approval_request_for(context, request)) is not None


def kept_back(context: TurnContext, request: ToolRequest) -> Callable[[str], str] | None:
    """Return a function that tells why a list or search omits a file, or ``None``."""
    rules = context.approver
    agent = context.agent.name
    if request.tool_name == READ_FILE.name or not isinstance(rules, RuleBook):
        return None
    tools = (request.tool_name, READ_FILE.name)
    answered = approval_request_for(context, request)
    return lambda path: rules.keeps_back(agent, path, tools, answered)


def unlisted(context: TurnContext, path: str) -> str:
    """Return the rule that forbids showing a file unasked, or ""."""
    rules = context.approver
    return rules.keeps_back(context.agent.name, path, (READ_FILE.name,)) if isinstance(rules, RuleBook) else ""


def closed_files(context: TurnContext, paths: Iterable[str]) -> frozenset[str]:
    """Return the hidden or kept-back ``paths`` not read by a yes."""
    known = [(name, path) for name in paths if isinstance(path := exact_path(name), WorkspacePath)]
    left = [(name, path) for name, path in known if str(path) not in context.shown]
    return frozenset(name for name, path in left if why_hidden(path) or unlisted(context, str(path)))


def may_read(context: TurnContext, request: ToolRequest, text: str) -> Decision | None:
    """Ask about a tool's result where policy wants it; ``None``: the agent reads it."""
    asked = _tightened(context, lambda: request_for_result(approval_request_for(context, request), text))
    return ask(context, asked) if asked else None


def _tightened(context: TurnContext, question: Callable[[], ApprovalRequest]) -> ApprovalRequest | None:
    rules = context.approver
    # A rule book that does not say whether it tightens anything is asked.
    if not isinstance(rules, RuleBook) or not getattr(rules, "tightens", True):
        return None
    asked = question()
    return asked if rules.looks_at(asked) else None


def may_show_secrets(context: TurnContext, tool: str, path: str | None) -> bool:
    """Return whether the agent may read secrets that ``tool`` returns."""
    rules = context.approver
    return isinstance(rules, RuleBook) and rules.shows_secrets(context.agent.name, tool, path)


class Agreement(Struct, Generic[T], frozen=True):
    """A yes: the answered question, the permit, and the human's edits in words."""

    asked: ApprovalRequest
    approved: Approved[T]
    account: str


def ask_permit(
    context: TurnContext,
    ids: tuple[str, ...],
    asked: ApprovalRequest,
    sign: Callable[[ApprovalRequest, Decision], Approved[T]],
) -> Agreement[T] | RequestResult:
    """Return the permit for ``asked``, or the words for the agent instead."""
    decision = ask(context, asked)
    if decision.answer != "approve":
        again = asked.digest in context.denied
        context.denied.add(asked.digest)
        return feedback.denied(ids, decision.reason, stop=decision.answer == "abort", again=again)
    final = decision.edited or asked
    approved = sign(final, decision)
    if not still_valid(approved, final):
        return feedback.not_done("stale", ids, message="What was approved is not what would be done; nothing was done.")
    return Agreement(final, approved, _edited(asked, decision))


def approval_request_for(context: TurnContext, request: ToolRequest) -> ApprovalRequest:
    """Return the question whether to run ``request``."""
    doubt = context.echo(request)
    definition = context.registry.get(request.tool_name)
    return request_for_tool(
        request.id,
        context.agent.name,
        request,
        context.contained.notes(definition),
        from_project=context.from_project,
        doubts=(doubt,) if doubt else (),
        model=context.model.name,
        contained=context.contained.holds(definition) and context.contained.label.contained,
    )


def _edited(asked: ApprovalRequest, decision: Decision) -> str:
    if not decision.edited:
        return ""
    from rails.approval.edit import edit_summary

    return edit_summary(asked, decision.edited)
