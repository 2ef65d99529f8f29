"""Reads an answer as it comes: its requests are found and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rails.core import limits
from rails.core.conversation import ModelAnswer
from rails.parsing.call_formats.registry import dialects_of
from rails.parsing.parse import AnswerParser, parse
from rails.parsing.project_files import exists_in
from rails.parsing.values import ParsedAnswer, ParseEvent
from rails.session.faults import T, attempted
from rails.session.feedback import RequestResult
from rails.session.tool_calls import announce
from rails.session.turn_context import TurnContext

#: Beginnings and ends of requests that are shown while they come; nobody follows more.
_ANNOUNCED: Final = 4 * limits.REQUESTS_PER_ANSWER
_DOING: Final = "your answer was read"


def read_whole(
    context: TurnContext, number: int, answer: ModelAnswer, written_by: str = ""
) -> ParsedAnswer | RequestResult:
    """Return the requests of an earlier answer, or words for its author after an internal error.

    ``written_by``: the model's name, to read its own forms of calls.
    """
    options = _options(context, number, written_by) | {"finish": answer.stop_reason, "calls": answer.message.calls}
    step = partial(parse, answer.message.text, context.registry.shapes(), **options)
    return attempted(context.publish, (), _DOING, step)


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
        read = attempted(self._context.publish, (), _DOING, step)
        if isinstance(read, RequestResult):
            self._fault = read
        return read

    def _pass_on(self, found: Sequence[ParseEvent]) -> None:
        self._announced += len(found)
        if self._live and found and self._announced <= _ANNOUNCED:
            self._aside("a request was announced", partial(announce, self._context, found))

    def _aside(self, doing: str, step: Callable[[], object]) -> None:
        """Publish an event for the view; stop publishing after the first error."""
        if isinstance(attempted(self._context.publish, (), doing, step), RequestResult):
            self._live = False
