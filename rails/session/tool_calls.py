"""An answer's calls, found as it comes: the requests that may go on, and words about the others.

Each block is published once (TOOL_BLOCK), in order; its status as soon as its tool is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from msgspec.structs import replace

from rails.core import limits
from rails.core.builtin_tools import status_verb
from rails.core.conversation import ModelAnswer, StopReason
from rails.core.errors import Refusal
from rails.core.events.turn import (
    BlockIgnored,
    McpRequestFormulated,
    ToolBlock,
    ToolRequestValidated,
    ToolRequestValidationFailed,
    ToolStatus,
)
from rails.core.paths import WorkspacePath, path_in
from rails.core.tool_request import PATH_KEYS, RawRequest, ToolRequest
from rails.log.actions import paths_of
from rails.parsing.call_formats.registry import dialects_of
from rails.parsing.classify import NORMAL_STOPS
from rails.parsing.parse import AnswerParser, parse
from rails.parsing.project_files import exists_in
from rails.parsing.values import CallFound, CallStarted, ParsedAnswer, ParseEvent
from rails.session import feedback
from rails.session.faults import T, attempted
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext
from rails.tools import validate

#: A request, or why a block is none.
Item = RawRequest | Refusal
BlockVerdict = Literal["passed", "corrected", "failed"]
#: Beginnings and ends of requests that are shown while they come; nobody follows more.
_ANNOUNCED: Final = 4 * limits.REQUESTS_PER_ANSWER
_DOING: Final = "your answer was read"
#: The place of a call that is no part of the text.
_NOWHERE: Final = (-1, -1)


def validate_all(
    context: TurnContext, answer: ModelAnswer, found: ParsedAnswer
) -> tuple[tuple[ToolRequest, ...], tuple[RequestResult, ...]]:
    """Return the valid requests in the answer's order, corrected where switched on, and an outcome for each other."""
    for block in found.ignored[: limits.BLOCKS_TOLD]:
        context.publish(BlockIgnored(block.start, block.end, block.reason))
    requests: list[ToolRequest] = []
    outcomes: list[RequestResult] = []
    items: list[Item] = [*found.requests, *found.refusals[: limits.BLOCKS_TOLD]]
    for item in sorted(items, key=lambda item: _place(found, item)):
        request_id = _id(item)
        quote = _quote(answer, found, request_id)
        whole = quote if answer.stop_reason in NORMAL_STOPS else ""  # nothing that was cut off is completed
        step = partial(_judge, context, item, answer.stop_reason)
        judged = attempted(context.publish, "a request was checked", step, (request_id,))
        verdict: BlockVerdict = "failed"
        shown = item
        refusals: Sequence[Refusal] = ()
        if isinstance(judged, RequestResult):
            outcomes.append(judged)
        elif isinstance(judged, ToolRequest):
            context.publish(ToolRequestValidated(judged.id, judged.tool_name, judged.coerced))
            verdict = "corrected" if judged.raw and judged.raw.repairs else "passed"
            requests.append(judged)
        elif corrected := _corrected(context, request_id, whole, judged):
            verdict = "corrected"
            shown = corrected.raw or item
            requests.append(corrected)
        else:
            refusals = judged
            refused = feedback.syntax(item, quote) if isinstance(item, Refusal) else feedback.schema(item.id, judged)
            outcomes.append(refused)
        context.publish(_block(shown, found, verdict))
        if refusals:
            context.publish(ToolRequestValidationFailed(request_id, tuple(refusals)))
    if more := found.refusals[limits.BLOCKS_TOLD :]:
        ids = tuple(one.request_id for one in more)
        outcomes.append(feedback.not_done("not_looked_at", ids, count=len(more)))
    plain = tuple(_with_plain_paths(context.project, request) for request in requests)
    return plain, tuple(outcomes)


def _with_plain_paths(project: Path, request: ToolRequest) -> ToolRequest:
    """Return an edit whose paths are written as all others are: "a.py" for "./a.py"."""
    if request.effect != "edit":
        return request
    named = {name: path_in(project, request.parameters.get(name)) for name in ("file_path", "new_path")}
    plain = {name: str(path) for name, path in named.items() if isinstance(path, WorkspacePath)}
    return replace(request, parameters={**request.parameters, **plain})


def announce(context: TurnContext, signals: Sequence[ParseEvent]) -> None:
    """Publish requests whose tool and path are known, perhaps before their block ends.

    Paths inside a list (``edits[]``) follow once the block is complete, as first file and count.
    """
    for signal in signals:
        if isinstance(signal, CallStarted):
            context.publish(_status(context, signal.id, signal.tool_name, (signal.path,) if signal.path else ()))
            continue
        found = signal.outcome if isinstance(signal, CallFound) else None
        if not isinstance(found, RawRequest) or found.parameters.keys() & PATH_KEYS:
            continue
        if paths := paths_of(found.parameters):
            context.publish(_status(context, signal.id, found.tool_name, paths))


def _status(context: TurnContext, request_id: str, tool: str, paths: Sequence[str]) -> ToolStatus:
    known = context.registry.get(tool)
    words = f"{status_verb(known.tool_name if known else tool)}..."
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    message, path = (f"{words} {paths[0]}{more}", paths[0]) if paths else (words, "")
    return ToolStatus(message, request_id, "buffering", tool, path, words)


def _block(item: Item, found: ParsedAnswer, verdict: BlockVerdict) -> ToolBlock:
    known = item if isinstance(item, RawRequest) else None
    start, end = found.blocks.get(_id(item), _NOWHERE)
    return ToolBlock(
        id=_id(item),
        tool=known.tool_name if known else "",
        path=next(iter(paths_of(known.parameters)), "") if known else "",
        start=start,
        end=end,
        content=known.raw if known and start < 0 else "",
        passed=verdict == "passed",
        corrected=verdict == "corrected",
        verdict=verdict,
    )


def _id(item: Item) -> str:
    return item.id if isinstance(item, RawRequest) else item.request_id


def _judge(context: TurnContext, item: Item, stop: StopReason) -> ToolRequest | Sequence[Refusal]:
    if isinstance(item, Refusal):
        return (item,)
    if stop not in NORMAL_STOPS:
        message = f"The request of {item.tool_name!r} was not run: the answer stopped with '{stop}'."
        hint = "More may belong to it. Send it again, in a shorter answer."
        return (Refusal("unterminated", message, hint, item.start, item.end, request_id=item.id),)
    context.publish(McpRequestFormulated(item))
    if item.repairs and context.correction == "off":
        names = ", ".join(dict.fromkeys(repair.name for repair in item.repairs))
        message = f"The JSON is not valid ({names}), and nothing is repaired here."
        return (Refusal("syntax", message, "Send it again as strict JSON.", item.start, item.end),)
    return validate.validate(item, context.registry, context.agent.name)


def _corrected(context: TurnContext, request_id: str, block: str, refusals: Sequence[Refusal]) -> ToolRequest | None:
    if context.correction != "model" or not block or refusals[0].code == "unread":
        return None  # what was not read may only have been quoted: its author says whether it was meant
    from rails.session.correction import correct

    request, event = correct(context, request_id, block, refusals)
    context.publish(event)
    return request


def _place(found: ParsedAnswer, item: Item) -> tuple[bool, int]:
    start, _ = found.blocks.get(_id(item), _NOWHERE)
    return start < 0, start


def _quote(answer: ModelAnswer, found: ParsedAnswer, request_id: str) -> str:
    if place := found.blocks.get(request_id):
        return answer.message.text[slice(*place)]
    call_id = found.native_ids.get(request_id)
    return next((call.arguments for call in answer.message.calls if call.id == call_id), "")


# -- reading an answer as it comes ---------------------------------------------------------------------


def read_whole(
    context: TurnContext, number: int, answer: ModelAnswer, written_by: str = ""
) -> ParsedAnswer | RequestResult:
    """Return the requests of an earlier answer, or words for its author after an internal error.

    ``written_by``: the model's name, to read its own forms of calls.
    """
    options = _options(context, number, written_by) | {"finish": answer.stop_reason, "calls": answer.message.calls}
    step = partial(parse, answer.message.text, context.registry.shapes(), **options)
    return attempted(context.publish, _DOING, step)


def native_ids(answer: ModelAnswer, found: ParsedAnswer | RequestResult) -> Mapping[str, str]:
    """Return the provider's call ids by request id: each call needs a result, also where no request was read."""
    if isinstance(found, RequestResult):
        return {call.id: call.id for call in answer.message.calls}
    return found.native_ids


def _options(context: TurnContext, number: int, model: str) -> dict[str, Any]:
    return {
        "id_prefix": f"t{number}.",
        "dialects": {*context.dialects, *context.agent.dialects, *dialects_of(model)},
        "report_unread_calls": True,
        "proposed_to": context.registry.shapes(context.agent.name),
        "exists": exists_in(context.project),
    }


class AnswerReader:
    """One answer's requests; an internal error keeps the rest unread."""

    def __init__(self, context: TurnContext, number: int) -> None:
        self._context = context
        self.text = ""
        self._live = True
        self._fault: RequestResult | None = None
        self._announced = 0
        self._parser = AnswerParser(context.registry.shapes(), **_options(context, number, context.model.name))

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if not text:
            return
        self.text += text
        if self._live:
            self._aside("the answer was shown", partial(self._context.on_text, text))
        self._read(lambda: self._pass_on(self._parser.feed(text)))

    def finish(self, answer: ModelAnswer) -> ParsedAnswer | RequestResult:
        """Return ``answer``'s requests, or words for its author after an internal error."""
        return self._read(partial(self._end, answer))

    def _end(self, answer: ModelAnswer) -> ParsedAnswer:
        found = self._parser.flush(answer.stop_reason, answer.message.calls)
        self._pass_on(found.late)
        return found

    def _read(self, step: Callable[[], T]) -> T | RequestResult:
        """Return a step's result, or the first error's: nothing is read after it."""
        if self._fault is not None:
            return self._fault
        read = attempted(self._context.publish, _DOING, step)
        if isinstance(read, RequestResult):
            self._fault = read
        return read

    def _pass_on(self, found: Sequence[ParseEvent]) -> None:
        self._announced += len(found)
        if self._live and found and self._announced <= _ANNOUNCED:
            self._aside("a request was announced", partial(announce, self._context, found))

    def _aside(self, doing: str, step: Callable[[], object]) -> None:
        """Publish an event for the view; stop publishing after the first error."""
        if isinstance(attempted(self._context.publish, doing, step), RequestResult):
            self._live = False
