"""Runs a tool that reads or executes: asks if necessary, reports the result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from msgspec.structs import replace

from rails.approval.decision import sign_tool
from rails.core.builtin_tools import ASK_USER
from rails.core.errors import TimeUpError, UnansweredError
from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.text import one_line, printable
from rails.core.tool_request import ToolRequest, ToolResult
from rails.log.actions import result_of_person
from rails.session import feedback
from rails.session.ask_approval import (
    approval_request_for,
    ask_permit,
    has_to_ask,
    kept_back,
    may_read,
    may_show_secrets,
)
from rails.session.faults import attempted, happened
from rails.session.feedback import RequestResult
from rails.session.proposal import propose_what_ran
from rails.session.turn_context import TurnContext
from rails.tools.runners import dispatch


def carry_out_tool(context: TurnContext, request: ToolRequest) -> RequestResult:
    """Run a tool, after a human's yes if its definition, a rule or an echo requires it."""
    account = ""
    if refused := context.contained.refused(request.tool_name):
        return feedback.denied((request.id,), refused)
    if has_to_ask(context, request):
        asked = approval_request_for(context, request)
        agreed = ask_permit(context, (request.id,), asked, sign_tool)
        if isinstance(agreed, RequestResult):
            return agreed
        request = agreed.approved.value
        account = agreed.account
    if request.effect == "run":
        context.publish(ExecutionStarted((request.id,), tool=request.tool_name))
    outcome = _run(context, request)
    return replace(outcome, text=f"{account}\n{outcome.text}") if account else outcome


def _run(context: TurnContext, request: ToolRequest) -> RequestResult:
    definition = context.registry.get(request.tool_name)
    assert definition is not None, "a validated request has a definition"
    kept = kept_back(context, request)
    contain = context.contained.contain
    left = context.time_left()
    if left <= 0:
        raise TimeUpError(f"The time of the session was used up; {request.tool_name} was not run.")
    definition = replace(definition, timeout_s=min(definition.timeout_s, left))
    runners = {**context.registry.runners, ASK_USER.name: lambda *_: _asked(context, request)}
    run = partial(dispatch.run_request, request, definition, context.project, runners, kept, contain=contain)
    ids = (request.id,)
    tool = request.tool_name
    try:
        result = attempted(context.publish, f"{tool} ran", run, ids)
    except KeyboardInterrupt:
        dropped = " What it had changed by then was dropped." if context.contained.holds(definition) else ""
        said = f"{tool}: stopped by the person while it ran.{dropped}"
        context.publish(ToolExecutionResult(ids=ids, ok=False, text=said, tool=tool, duration_ms=0))
        raise
    if isinstance(result, RequestResult):
        in_doubt = feedback.not_done("in_doubt", ids, tool=tool).text if request.effect == "run" else ""
        result = ToolResult(False, f"{result.text}\n{in_doubt}".rstrip())
    facts = result.facts
    spent = result.duration_ms
    with happened(f"{tool} had run before that." if request.effect == "run" else ""):
        logged = context.publish(
            ToolExecutionResult(ids=ids, ok=result.ok, text=result.text, tool=tool, facts=facts, duration_ms=spent)
        )
    decision = may_read(context, request, result.text)
    if decision is not None and decision.answer != "approve":
        return feedback.kept_back(ids, tool, decision.reason, stop=decision.answer == "abort")
    path = facts.get("path")
    digest = facts.get("sha256")
    if isinstance(path, str) and isinstance(digest, str):
        context.saw(path, digest)
        context.shown.add(path)
    shows = may_show_secrets(context, tool, path if isinstance(path, str) else None)
    text = result.text if shows else context.mask(result.text)
    origin = f"the result of {tool}" + (f" of {path}" if path else "")
    context.showed(text, origin)
    if request.effect == "read" and result.ok:
        parameters = repr(sorted(request.parameters.items()))
        if times := context.gave(tool, parameters, text):
            return feedback.known(ids, tool, times)
    whole = getattr(logged.event, "text", "")
    told = replace(feedback.result(ids, tool, result, whole), shows_secrets=shows)
    return propose_what_ran(context, request, told, result.changes) if result.changes else told


def _asked(context: TurnContext, request: ToolRequest) -> ToolResult:
    """Raises UnansweredError; the question stays open in the log until the session resumes."""
    from rails.session.ask_user import Unattended, UserQuestion, as_logged  # most turns ask nothing

    given = request.parameters
    agent = context.agent.name
    asked = str(given["question"])
    options = cast("Sequence[str]", given.get("options", ()))
    lines = (f"── {agent} asks ".ljust(78, "─"), *(f"  {line}" for line in printable(asked).splitlines()))
    choices = {str(number): (option, one_line(option, 300)) for number, option in enumerate(options, 1)}
    question = UserQuestion("question", lines, choices, "", free=True, request_id=request.id, agent=agent)
    reply = (context.contained.human or Unattended()).answer(question)
    if reply.answer:
        said = reply.text or reply.answer
        return result_of_person(choices.get(said, (said, ""))[0], reply.by)
    if (default := given.get("default")) and not reply.by.startswith("human"):
        return ToolResult(True, f"Nobody was there to answer. What you named for that counts: {default}")
    context.publish(as_logged(question))
    first = one_line(asked.partition("\n")[0], 300)
    raise UnansweredError(f"{agent} asks: {first} Answer with: ai-rails answer {context.session_id} WORDS.")
