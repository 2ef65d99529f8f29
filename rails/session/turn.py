"""ONE TURN, TOP TO BOTTOM. Start reading here.

    ask the model ─▶ find its requests ─▶ validate each ─▶ look (reading tools)
                     ─▶ plan the edits ─▶ gate them ─▶ ask a human ─▶ write ─▶ run (executing tools)

Whatever fails on the way becomes an :class:`~rails.session.feedback.RequestResult`, and all outcomes go back to the
agent as one message: there is one way back. The stages know nothing of the log or of each other; this
module calls them in order and publishes what happened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rails.agents.output import check_output
from rails.approval.decision import Decision, sign_tool, still_valid
from rails.approval.edit import edit_summary
from rails.core.changes import ChangeSet
from rails.core.conversation import Message, ModelAnswer, TextDelta
from rails.core.dataclass import dataclass, replace
from rails.core.errors import ModelError
from rails.core.events.changes import (
    ChangeRefused,
    ExecutionStarted,
    ToolExecutionResult,
)
from rails.core.events.turn import LlmCall, LlmResponse, OutputRefused
from rails.core.tool_request import ToolRequest
from rails.edits.plan_result import Plan
from rails.parsing.parse import AnswerParser
from rails.parsing.results import ParsedAnswer
from rails.session import feedback, prefetch
from rails.session.ask_approval import approval_request_for, ask, ask_batch, plan_with_choices
from rails.session.contained import changed_words
from rails.session.feedback import RequestResult
from rails.session.tool_calls import announce, validate_all
from rails.session.turn_context import TurnContext
from rails.session.write_changes import change_planned, judge_and_write
from rails.tools.runners import dispatch


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn: what the model said, the results, and the message it gets next.

    ``reply`` is ``None`` when the answer asked for nothing: then the agent is done.
    """

    answer: ModelAnswer
    outcomes: tuple[RequestResult, ...]
    reply: Message | None

    @property
    def aborted(self) -> bool:
        """Whether the human ended the session."""
        return any(outcome.kind == "aborted" for outcome in self.outcomes)


def take_turn(context: TurnContext, number: int, messages: Sequence[Message]) -> Turn:
    """Ask the model once and carry out what it asks for. Raises ModelError; nothing is run then."""
    reader = AnswerParser(
        context.registry.shapes(), id_prefix=f"t{number}.", dialects=context.dialects, report_unread_calls=True
    )
    context.publish(LlmCall(f"Asking {context.model.name}", len(messages), number))
    started = time.monotonic()
    answer = _listen(context, reader, messages)
    found = reader.flush(answer.stop_reason, answer.message.calls)
    announce(context, found.late)
    words = f"{context.model.name} answered ({answer.stop_reason})"
    context.publish(LlmResponse.of(words, answer, prose=found.prose, duration_ms=_ms_since(started)))
    return carry_out(context, answer, found)


def carry_out(
    context: TurnContext, answer: ModelAnswer, found: ParsedAnswer, done: Mapping[str, RequestResult] | None = None
) -> Turn:
    """Carry out a whole answer. ``done`` holds what an interrupted run has already carried out."""
    done = done or {}
    admitted = validate_all(context, answer, found)
    requests, outcomes = admitted.requests, list(admitted.outcomes)
    outcomes += [done.get(r.id) or _read(context, r) for r in requests if r.effect == "read"]
    if edits := [r for r in requests if r.effect == "edit"]:
        outcomes.append(done.get(edits[0].id) or _change(context, edits, clean=_all_ok(outcomes)))
    runs = [r for r in requests if r.effect == "run" and r.id not in done]
    outcomes += [done[r.id] for r in requests if r.effect == "run" and r.id in done]
    decided: dict[str, Decision | None] = {}
    for number, request in enumerate(runs):
        if _all_ok(outcomes) and request.id not in decided:
            decided |= ask_batch(context, runs[number:])
        outcomes.append(_execute(context, request, decided.get(request.id), clean=_all_ok(outcomes)))

    if not outcomes and answer.stop_reason not in feedback.CUT:
        lacking = check_output(context.agent, answer.message.text)
        if not lacking or answer.stop_reason == "refusal":
            return Turn(answer, (), None)
        context.publish(OutputRefused(tuple(lacking)))
        outcomes.append(feedback.output(lacking))
    return Turn(answer, tuple(outcomes), feedback.compose(answer, outcomes, found.native_ids))


def _listen(context: TurnContext, reader: AnswerParser, messages: Sequence[Message]) -> ModelAnswer:
    """Stream the answer through the reader; a request's status is published as soon as its path is known."""
    for delta in context.model.stream(system=context.system, messages=messages, tools=context.tools):
        if isinstance(delta, TextDelta):
            context.on_text(delta.text)
            begun = reader.feed(delta.text)
            announce(context, begun)
            prefetch.begin(context, begun)
        else:
            return delta
    raise ModelError("The model's stream ended without an answer. Nothing of it was run.")


def _change(context: TurnContext, requests: Sequence[ToolRequest], *, clean: bool) -> RequestResult:
    """Plan, gate, ask, write: all edits of an answer are one unit."""
    ids = tuple(request.id for request in requests)
    if not clean:
        return feedback.skipped(ids, "another part of your answer was refused, and its edits are one unit.")
    echoes = [doubt for request in requests if (doubt := context.echo(request))]
    requests, planned = plan_with_choices(context, requests)
    if planned.refusals:
        context.publish(ChangeRefused(ids, planned.refusals))
        return feedback.edit(ids, planned.refusals)
    context.publish(change_planned(ids, planned))

    return judge_and_write(context, requests, planned, echoes)


def _execute(context: TurnContext, request: ToolRequest, decision: Decision | None, *, clean: bool) -> RequestResult:
    """Run a tool that executes something, after a human agreed if the definition asks for one."""
    ids, account = (request.id,), ""
    if not clean:
        return feedback.skipped(ids, "another part of your answer was refused or denied.")
    if refused := context.contained.refused(request.tool_name):
        return feedback.denied(ids, refused)
    doubted = bool(context.echo(request))
    if doubted or (request.asks and not context.contained.needs_no_question(request.tool_name)):
        original = asked = approval_request_for(context, request)
        decision = decision or ask(context, asked)
        if decision.answer != "approve":
            return feedback.denied(ids, decision.reason, stop=decision.answer == "abort")
        asked = decision.edited or asked
        if not still_valid(sign_tool(asked, decision), asked):
            return feedback.stale(ids, "What was approved is not what would be run; it was not run.")
        request, account = asked.tool_request or request, edit_summary(original, asked)
        context.contained.agree(request.tool_name)
    context.publish(ExecutionStarted((request.id,), tool=request.tool_name))
    outcome = _run(context, request)
    return replace(outcome, text=f"{account}\n{outcome.text}") if account else outcome


def _read(context: TurnContext, request: ToolRequest) -> RequestResult:
    """Look, and ask a human first where the request only repeats what the agent was given to read."""
    if context.echo(request):
        decision = ask(context, approval_request_for(context, request))
        if decision.answer != "approve":
            return feedback.denied((request.id,), decision.reason, stop=decision.answer == "abort")
    return _run(context, request)


def _run(context: TurnContext, request: ToolRequest) -> RequestResult:
    definition = context.registry.get(request.tool_name)
    assert definition is not None, "a validated request has a definition"
    result = dispatch.run_request(
        request, definition, context.project, context.registry.runners, context.contained.contain
    )
    context.publish(
        ToolExecutionResult(
            ids=(request.id,),
            ok=result.ok,
            text=result.text,
            tool=request.tool_name,
            facts=result.facts,
            duration_ms=result.duration_ms,
        )
    )
    path, digest = result.facts.get("path"), result.facts.get("sha256")
    if isinstance(path, str) and isinstance(digest, str):
        context.saw(path, digest)
    context.returned.add(result.text, f"the result of {request.tool_name}" + (f" of {path}" if path else ""))
    told = feedback.result((request.id,), request.tool_name, result)
    return _propose(context, request, told, result.changes) if result.changes else told


def _propose(context: TurnContext, request: ToolRequest, ran: RequestResult, changes: ChangeSet) -> RequestResult:
    """Propose what a contained command changed; what its result says comes first, then what became of that."""
    planned = Plan(
        changes, notes=(f"A contained command of {request.tool_name} wrote this; it is not in the project yet.",)
    )
    context.publish(change_planned((request.id,), planned))
    outcome = judge_and_write(context, (request,), planned)
    if outcome.kind != "gate":
        context.contained.settle()
    kept = "\n" + feedback.KEPT_IN_SANDBOX if outcome.kind == "gate" else ""
    text = f"{ran.text}\n{changed_words(changes)} {outcome.text}{kept}"
    return RequestResult(ran.ids, outcome.kind if ran.ok else ran.kind, text)


def _ms_since(started: float) -> float:
    """Return the milliseconds since ``started`` (``time.monotonic``)."""
    return round((time.monotonic() - started) * 1000, 3)


def _all_ok(outcomes: Sequence[RequestResult]) -> bool:
    return all(outcome.ok for outcome in outcomes)
