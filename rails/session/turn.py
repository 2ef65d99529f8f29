"""ONE TURN, TOP TO BOTTOM. Start reading here.

    ask the model ─▶ find its requests ─▶ validate each ─▶ look (reading tools)
                     ─▶ plan the edits ─▶ gate them ─▶ ask a human ─▶ write ─▶ run (executing tools)

All outcomes, failures too, go back as one message. The stages know neither the log nor each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from rails.core.conversation import Message, ModelAnswer, TextPart
from rails.core.events.turn import LlmCall, LlmResponse
from rails.core.tool_request import ToolRequest
from rails.parsing.values import ParsedAnswer
from rails.session import feedback
from rails.session.answer_reader import AnswerReader, native_ids
from rails.session.faults import attempted
from rails.session.feedback import RequestResult, compose
from rails.session.outcome import lacking_in
from rails.session.proposal import propose_change, propose_last_fixes
from rails.session.text_answers import wishes_granted, with_deletions
from rails.session.tool_calls import validate_all
from rails.session.turn_context import TurnContext, ms_since, whole_answer


class Turn(Struct, frozen=True):
    """A finished turn. Without a ``reply``, or where ``complete``, the agent is done."""

    answer: ModelAnswer
    outcomes: tuple[RequestResult, ...]
    reply: Message | None
    complete: bool = False

    @property
    def settled(self) -> bool:
        """Return whether all is done, or was already."""
        return self.complete or {outcome.kind for outcome in self.outcomes} == {"same"}

    @property
    def aborted(self) -> bool:
        """Return whether the human ended the session."""
        return any(outcome.kind == "aborted" for outcome in self.outcomes)


def take_turn(context: TurnContext, number: int, messages: Sequence[Message], tokens: int = 0, window: int = 0) -> Turn:
    """Ask the model once and carry out its requests. Raises ModelError; nothing is run then.

    ``tokens`` estimates the prompt (0: unknown), ``window`` bounds prompt and answer.
    """
    words = f"Asking {context.model.name}"
    if len(messages) == 1 and window < 2 * tokens:
        words += f"; the prompt takes about {tokens:,} of its {window:,} tokens"
    context.publish(LlmCall(words, len(messages), number, tokens))
    started = time.monotonic()
    reader = AnswerReader(context, number)
    try:
        answer = whole_answer(
            context.model, context.system, messages, context.tools, context.time_left, heard=reader.feed
        )
    except KeyboardInterrupt:
        if context.talks and reader.text.strip():
            answer = ModelAnswer(Message("assistant", (TextPart(reader.text),)), "cut", note=feedback.INTERRUPTED)
            context.publish(LlmResponse.of(feedback.INTERRUPTED, answer, prose=reader.text))
        raise
    found = with_deletions(context, reader.finish(answer), number)
    prose = None if isinstance(found, RequestResult) else found.prose
    words = f"{context.model.name} answered ({answer.stop_reason})"
    context.publish(LlmResponse.of(words, answer, prose=prose, duration_ms=ms_since(started)))
    return carry_out(context, answer, found, messages)


def carry_out(
    context: TurnContext,
    answer: ModelAnswer,
    found: ParsedAnswer | RequestResult,
    messages: Sequence[Message] | None = None,
    done: Mapping[str, RequestResult] | None = None,
) -> Turn:
    """Carry out a whole answer; unreadable parts have their outcome already.

    ``done`` holds an earlier run's results.
    """
    native = native_ids(answer, found)
    if isinstance(found, RequestResult):
        return Turn(answer, (found,), _reply(context, answer, (found,), native))
    checked = attempted(context.publish, (), "your requests were checked", lambda: validate_all(context, answer, found))
    if isinstance(checked, RequestResult):
        return Turn(answer, (checked,), _reply(context, answer, (checked,), native))
    outcomes = (*checked.outcomes, *_carried_out(context, checked.requests, checked.outcomes, done or {}))
    outcomes, complete = wishes_granted(context, found.prose, checked.requests, outcomes)
    if not outcomes and answer.stop_reason not in feedback.CUT:
        lacking = attempted(
            context.publish, (), "your answer was checked", lambda: lacking_in(context, answer, messages)
        )
        if lacking is None:
            _last_fixes(context)
            return Turn(answer, (), None)
        outcomes = (lacking,)
    outcomes = tuple(feedback.without_secrets(outcome, context.mask) for outcome in outcomes)
    turn = Turn(answer, outcomes, _reply(context, answer, outcomes, native), complete)
    if turn.settled:
        _last_fixes(context)
    return turn


def _last_fixes(context: TurnContext) -> None:
    attempted(context.publish, (), "what is unused was taken out", lambda: propose_last_fixes(context))


def _carried_out(
    context: TurnContext,
    requests: Sequence[ToolRequest],
    before: Sequence[RequestResult],
    done: Mapping[str, RequestResult],
) -> list[RequestResult]:
    """After a failure, only requests that read are still carried out."""
    read, edits, runs = ([r for r in requests if r.effect == effect] for effect in ("read", "edit", "run"))
    outcomes = [done.get(r.id) or _guarded(context, (r,), partial(_carry_out_tool, context, r)) for r in read]
    if edits:
        failed = not _all_ok((*before, *outcomes))
        outcomes.append(done.get(edits[0].id) or _change(context, edits, failed=failed))
    outcomes += [done[r.id] for r in runs if r.id in done]
    return outcomes + _run_in_order(context, [r for r in runs if r.id not in done], (*before, *outcomes))


def _reply(
    context: TurnContext, answer: ModelAnswer, outcomes: Sequence[RequestResult], native: Mapping[str, str]
) -> Message:
    reply = attempted(context.publish, (), "the reply was put together", lambda: compose(answer, outcomes, native))
    return reply if isinstance(reply, Message) else feedback.after_fault(reply, native)


def _change(context: TurnContext, edits: Sequence[ToolRequest], *, failed: bool) -> RequestResult:
    if failed:
        ids = tuple(request.id for request in edits)
        return feedback.skipped(ids, "another part of your answer was refused, and its edits are one unit.")
    return _guarded(context, edits, partial(propose_change, context, edits))


def _guarded(context: TurnContext, requests: Sequence[ToolRequest], step: Callable[[], RequestResult]) -> RequestResult:
    names = ", ".join(dict.fromkeys(request.tool_name for request in requests))
    return attempted(context.publish, tuple(request.id for request in requests), f"{names} was executed", step)


def _run_in_order(
    context: TurnContext, runs: Sequence[ToolRequest], before: Sequence[RequestResult]
) -> list[RequestResult]:
    outcomes: list[RequestResult] = []
    for request in runs:
        if not _all_ok((*before, *outcomes)):
            outcomes.append(feedback.skipped((request.id,), "another part of your answer was refused or denied."))
            continue
        outcomes.append(_guarded(context, (request,), partial(_carry_out_tool, context, request)))
    return outcomes


def _carry_out_tool(context: TurnContext, request: ToolRequest) -> RequestResult:
    from rails.session.tool_runs import carry_out_tool

    return carry_out_tool(context, request)


def _all_ok(outcomes: Sequence[RequestResult]) -> bool:
    return all(outcome.ok for outcome in outcomes)
