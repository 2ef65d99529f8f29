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
from rails.approval.decision import Decision, sign_tool
from rails.core.conversation import Message, ModelAnswer, TextDelta
from rails.core.dataclass import dataclass, replace
from rails.core.errors import ModelError
from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.events.turn import LlmCall, LlmResponse, OutputRefused
from rails.core.tool_request import ToolRequest
from rails.parsing.call_formats.forms import dialects_of
from rails.parsing.parse import AnswerParser
from rails.parsing.results import ParsedAnswer
from rails.session import feedback, prefetch
from rails.session.ask_approval import approval_request_for, ask_batch, ask_permit, has_to_ask, kept_back, may_read
from rails.session.feedback import RequestResult
from rails.session.proposal import propose_change
from rails.session.tool_calls import announce, validate_all
from rails.session.turn_context import TurnContext, ms_since
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
    reader = parser_of(context, number)
    context.publish(LlmCall(f"Asking {context.model.name}", len(messages), number))
    started = time.monotonic()
    answer = _listen(context, reader, messages)
    found = reader.flush(answer.stop_reason, answer.message.calls)
    announce(context, found.late)
    words = f"{context.model.name} answered ({answer.stop_reason})"
    context.publish(LlmResponse.of(words, answer, prose=found.prose, duration_ms=ms_since(started)))
    return carry_out(context, answer, found)


def parser_of(context: TurnContext, number: int) -> AnswerParser:
    """Return the parser of an answer; ``number`` is the turn's, and begins the ids of its requests."""
    dialects = {*context.dialects, *context.agent.dialects, *dialects_of(context.model.name)}
    return AnswerParser(context.registry.shapes(), id_prefix=f"t{number}.", dialects=dialects, report_unread_calls=True)


def carry_out(
    context: TurnContext, answer: ModelAnswer, found: ParsedAnswer, done: Mapping[str, RequestResult] | None = None
) -> Turn:
    """Carry out a whole answer. ``done`` holds what an interrupted run has already carried out."""
    done = done or {}
    admitted = validate_all(context, answer, found)
    requests, outcomes = admitted.requests, list(admitted.outcomes)
    outcomes += [done.get(r.id) or _execute(context, r) for r in requests if r.effect == "read"]
    if edits := [r for r in requests if r.effect == "edit"]:
        outcomes.append(done.get(edits[0].id) or _change(context, edits, outcomes))
    outcomes += [done[r.id] for r in requests if r.effect == "run" and r.id in done]
    outcomes += _run_in_order(context, [r for r in requests if r.effect == "run" and r.id not in done], outcomes)
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


def _change(context: TurnContext, edits: Sequence[ToolRequest], before: Sequence[RequestResult]) -> RequestResult:
    """Propose all edits of an answer as one change, unless something ``before`` it failed."""
    if _all_ok(before):
        return propose_change(context, edits)
    ids = tuple(request.id for request in edits)
    return feedback.skipped(ids, "another part of your answer was refused, and its edits are one unit.")


def _run_in_order(
    context: TurnContext, runs: Sequence[ToolRequest], before: Sequence[RequestResult]
) -> list[RequestResult]:
    """Run tools one after the other until one fails; those in a row that are alike are asked about at once."""
    outcomes: list[RequestResult] = []
    decided: dict[str, Decision | None] = {}
    for number, request in enumerate(runs):
        if not _all_ok((*before, *outcomes)):
            outcomes.append(feedback.skipped((request.id,), "another part of your answer was refused or denied."))
            continue
        if request.id not in decided:
            decided |= ask_batch(context, runs[number:])
        outcomes.append(_execute(context, request, decided.get(request.id)))
    return outcomes


def _execute(context: TurnContext, request: ToolRequest, decision: Decision | None = None) -> RequestResult:
    """Run a tool, after a human agreed where its definition, a rule or an echo of what the agent read wants it."""
    account = ""
    if has_to_ask(context, request):
        asked = approval_request_for(context, request)
        agreed = ask_permit(context, (request.id,), asked, sign_tool, decision)
        if isinstance(agreed, RequestResult):
            return agreed
        request, account = agreed.approved.value, agreed.account
    if request.effect == "run":
        context.publish(ExecutionStarted((request.id,), tool=request.tool_name))
    outcome = _run(context, request)
    return replace(outcome, text=f"{account}\n{outcome.text}") if account else outcome


def _run(context: TurnContext, request: ToolRequest) -> RequestResult:
    definition = context.registry.get(request.tool_name)
    assert definition is not None, "a validated request has a definition"
    result = dispatch.run_request(
        request, definition, context.project, context.registry.runners, kept_back(context, request)
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
    decision = may_read(context, request, result.text)
    if decision is not None and decision.answer != "approve":
        return feedback.kept_back((request.id,), request.tool_name, decision.reason, stop=decision.answer == "abort")
    path, digest = result.facts.get("path"), result.facts.get("sha256")
    if isinstance(path, str) and isinstance(digest, str):
        context.saw(path, digest)
    context.returned.add(result.text, f"the result of {request.tool_name}" + (f" of {path}" if path else ""))
    return feedback.result((request.id,), request.tool_name, result)


def _all_ok(outcomes: Sequence[RequestResult]) -> bool:
    return all(outcome.ok for outcome in outcomes)
