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
from typing import Final

from rails.agents.output import check_output
from rails.approval.decision import Decision, request_for_changes, sign_changes, sign_tool, still_valid
from rails.approval.edit import edit_summary
from rails.core.changes import ChangeSet
from rails.core.conversation import Message, ModelAnswer, TextDelta
from rails.core.dataclass import dataclass, replace
from rails.core.errors import ModelError, StaleError
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    CheckpointEvent,
    ExecutionStarted,
    GateVerdict,
    ToolExecutionResult,
    changes_in_words,
)
from rails.core.events.session import ErrorEvent
from rails.core.events.turn import LlmCall, LlmResponse, OutputRefused
from rails.core.tool_request import ToolRequest
from rails.edits.apply import apply
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.plan_result import Plan
from rails.parsing.parse import AnswerParser
from rails.parsing.results import ParsedAnswer
from rails.session import feedback, prefetch
from rails.session.ask_approval import (
    approval_request_for,
    ask,
    ask_batch,
    has_to_ask,
    kept_back,
    may_read,
    plan_with_choices,
)
from rails.session.feedback import RequestResult
from rails.session.tool_calls import announce, validate_all
from rails.session.turn_context import TurnContext
from rails.tools.runners import dispatch

_NOT_RECORDED: Final = (
    "The change is written, but its history could not be: ai-rails undo cannot take it back yet. "
    "The next change or start of AI-Rails tries again."
)


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
    context.publish(_planned(ids, planned))

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
        doubts=(*echoes, *planned.doubts),
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


def _execute(context: TurnContext, request: ToolRequest, decision: Decision | None, *, clean: bool) -> RequestResult:
    """Run a tool that executes something, after a human agreed if the definition asks for one."""
    ids, account = (request.id,), ""
    if not clean:
        return feedback.skipped(ids, "another part of your answer was refused or denied.")
    if has_to_ask(context, request):
        original = asked = approval_request_for(context, request)
        decision = decision or ask(context, asked)
        if decision.answer != "approve":
            return feedback.denied(ids, decision.reason, stop=decision.answer == "abort")
        asked = decision.edited or asked
        if not still_valid(sign_tool(asked, decision), asked):
            return feedback.stale(ids, "What was approved is not what would be run; it was not run.")
        request, account = asked.tool_request or request, edit_summary(original, asked)
    context.publish(ExecutionStarted((request.id,), tool=request.tool_name))
    outcome = _run(context, request)
    return replace(outcome, text=f"{account}\n{outcome.text}") if account else outcome


def _read(context: TurnContext, request: ToolRequest) -> RequestResult:
    """Look, and ask a human first where the tool, a rule or an echo of what the agent was given wants it."""
    if has_to_ask(context, request):
        asked = approval_request_for(context, request)
        decision = ask(context, asked)
        if decision.answer != "approve":
            return feedback.denied((request.id,), decision.reason, stop=decision.answer == "abort")
        request = (decision.edited or asked).tool_request or request
    return _run(context, request)


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


def _planned(ids: tuple[str, ...], plan: Plan) -> ChangePlanned:
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


def _all_ok(outcomes: Sequence[RequestResult]) -> bool:
    return all(outcome.ok for outcome in outcomes)
