"""ONE TURN, TOP TO BOTTOM. Start reading here.

    ask the model ─▶ find its requests ─▶ validate each ─▶ look (reading tools)
                     ─▶ plan the edits ─▶ gate them ─▶ ask a human ─▶ write ─▶ run (executing tools)

All outcomes, failures too, go back as one message. The stages know neither the log nor each other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from rails.core.conversation import Message, ModelAnswer, NativeResult, TextPart
from rails.core.events.turn import LlmCall, LlmResponse
from rails.core.tool_request import ToolRequest
from rails.parsing.values import ParsedAnswer
from rails.session import feedback
from rails.session.faults import attempted
from rails.session.feedback import RequestResult, compose
from rails.session.outcome import lacking_in
from rails.session.proposal import propose_change, propose_last_fixes
from rails.session.text_answers import wishes_granted, with_deletions
from rails.session.tool_calls import AnswerReader, native_ids, validate_all
from rails.session.turn_context import TurnContext, ms_since, whole_answer

_ORDER: Final = ("read", "edit", "run")
_UNIT: Final = "another part of your answer was refused, and its edits are one unit."
_EARLIER: Final = "another part of your answer was refused or denied."


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
    checked = attempted(context.publish, "your requests were checked", lambda: validate_all(context, answer, found))
    if isinstance(checked, RequestResult):
        return Turn(answer, (checked,), _reply(context, answer, (checked,), native))
    requests, refused = checked
    outcomes = (*refused, *_carried_out(context, requests, refused, done or {}))
    outcomes, complete = wishes_granted(context, found.prose, requests, outcomes)
    if not outcomes and answer.stop_reason not in feedback.CUT:
        lacking = attempted(context.publish, "your answer was checked", lambda: lacking_in(context, answer, messages))
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
    attempted(context.publish, "what is unused was taken out", lambda: propose_last_fixes(context))


def _carried_out(
    context: TurnContext,
    requests: Sequence[ToolRequest],
    before: Sequence[RequestResult],
    done: Mapping[str, RequestResult],
) -> list[RequestResult]:
    """Carry out what reads, the edits as one unit, then what runs. After a failure, only requests that read."""
    outcomes: list[RequestResult] = []
    edits = [request for request in requests if request.effect == "edit"]
    for request in sorted(requests, key=lambda request: _ORDER.index(request.effect)):
        unit = edits if request.effect == "edit" else [request]
        ids = tuple(one.id for one in unit)
        if request is not unit[0]:
            continue
        if request.id in done:
            outcomes.append(done[request.id])
        elif request.effect != "read" and not all(outcome.ok for outcome in (*before, *outcomes)):
            outcomes.append(feedback.not_done("skipped", ids, why=_UNIT if edits is unit else _EARLIER))
        else:
            names = ", ".join(dict.fromkeys(one.tool_name for one in unit))
            step = partial(propose_change, context, unit) if edits is unit else partial(_run, context, request)
            outcomes.append(attempted(context.publish, f"{names} was executed", step, ids))
    return outcomes


def _run(context: TurnContext, request: ToolRequest) -> RequestResult:
    from rails.session.tool_runs import carry_out_tool  # which an answer of edits does without

    return carry_out_tool(context, request)


def _reply(
    context: TurnContext, answer: ModelAnswer, outcomes: Sequence[RequestResult], native: Mapping[str, str]
) -> Message:
    reply = attempted(context.publish, "the reply was put together", lambda: compose(answer, outcomes, native))
    if isinstance(reply, Message):
        return reply
    results = [NativeResult(call_id, reply.text, is_error=True) for call_id in native.values()]  # each call needs one
    return Message("user", (*results, TextPart(f"{feedback.HEADER}\n{reply.text}")))
