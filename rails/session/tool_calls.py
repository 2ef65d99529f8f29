"""From what was found in an answer to the requests that may go on, and words about the others."""

from __future__ import annotations

from collections.abc import Sequence

from rails.core.conversation import ModelAnswer
from rails.core.dataclass import dataclass
from rails.core.errors import Refusal
from rails.core.tool_request import RawRequest, ToolRequest
from rails.parsing.results import ParsedAnswer
from rails.session import feedback
from rails.session import publish as tell
from rails.session.correction import correct
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext
from rails.tools import validate


@dataclass(frozen=True, slots=True)
class CheckedCalls:
    """Valid requests in the order of the answer, and an outcome for each one that is not."""

    requests: tuple[ToolRequest, ...]
    outcomes: tuple[RequestResult, ...]


def validate_all(context: TurnContext, answer: ModelAnswer, found: ParsedAnswer) -> CheckedCalls:
    """Validate every request of an answer, in its order; correct where that is switched on."""
    tell.ignored(context, found)
    requests: list[ToolRequest] = []
    outcomes: list[RequestResult] = []
    items: list[RawRequest | Refusal] = [*found.requests, *found.refusals]
    for item in sorted(items, key=lambda item: _place(found, item)):
        request_id, refusals = _judge(context, item)
        place = found.blocks.get(request_id)
        block = _quote(answer, found, request_id)
        if isinstance(refusals, ToolRequest):
            tell.valid(context, refusals)
            tell.block(context, item, place, "corrected" if refusals.raw and refusals.raw.repairs else "passed")
            requests.append(refusals)
            continue
        corrected = _corrected(context, request_id, block, refusals)
        tell.block(context, item, place, "corrected" if corrected else "failed")
        if corrected:
            requests.append(corrected)
            continue
        tell.refused(context, request_id, refusals)
        if isinstance(item, Refusal):
            outcomes.append(feedback.unread(item) if item.code == "unread" else feedback.syntax(item, block))
        else:
            outcomes.append(feedback.schema(request_id, refusals))
    return CheckedCalls(tuple(requests), tuple(outcomes))


def _judge(context: TurnContext, item: RawRequest | Refusal) -> tuple[str, ToolRequest | Sequence[Refusal]]:
    if isinstance(item, Refusal):
        return item.request_id, (item,)
    tell.formulated(context, item)
    if item.repairs and context.correction == "off":
        names = ", ".join(dict.fromkeys(repair.name for repair in item.repairs))
        message = f"The JSON is not valid ({names}), and nothing is repaired here."
        return item.id, (Refusal("syntax", message, "Send it again as strict JSON.", item.start, item.end),)
    return item.id, validate.validate(item, context.registry, context.agent.name)


def _corrected(context: TurnContext, request_id: str, block: str, refusals: Sequence[Refusal]) -> ToolRequest | None:
    if context.correction != "model" or not block or refusals[0].code == "unread":
        return None  # what was not read may only have been quoted: its author says whether it was meant
    result = correct(context, request_id, block, refusals)
    tell.corrected(context, request_id, block, result)
    return result.request


def _place(found: ParsedAnswer, item: RawRequest | Refusal) -> tuple[bool, int]:
    """Blocks by their place in the text; native calls, which have none, stay in their order after them."""
    start, _ = found.blocks.get(item.id if isinstance(item, RawRequest) else item.request_id, (-1, -1))
    return start < 0, start


def _quote(answer: ModelAnswer, found: ParsedAnswer, request_id: str) -> str:
    """The block as the agent sent it, for the sentence that quotes it."""
    if place := found.blocks.get(request_id):
        return answer.message.text[slice(*place)]
    call_id = found.native_ids.get(request_id)
    return next((call.arguments for call in answer.message.calls if call.id == call_id), "")
