"""Training data from a store's logs, secrets masked as there.

Each line names the repository and its licence, for whoever trains with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from rails.batch.job_spec import JobResult
from rails.core.conversation import Message, NativeCall, NativeResult, TextPart
from rails.core.errors import UsageError
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, Escalation
from rails.core.events.turn import FeedbackSent, LlmResponse
from rails.core.tool_request import Json
from rails.log.reader import full, read_lenient

#: What every line says of the job that it is from.
_SOURCE: Final = ("task", "repo", "commit", "licence", "model", "agent", "name")
TrainingFormat = Literal["sft", "preferences"]


def training_lines(results: Sequence[JobResult], form: TrainingFormat) -> Iterator[dict[str, Json]]:
    """Yield the lines of an export.

    "sft": conversations of passed jobs. "preferences": a refused answer, the accepted one after feedback, and the
    conversation before.
    """
    for result in results:
        if "://" in result.log:
            raise UsageError("The logs of this store are behind a URL. Copy it into a folder, and export that.")
        log = Path(result.log)
        if result.error or not result.log or not log.is_file():
            continue
        records = [full(record, log.parents[2]) for record in read_lenient(log)[0]]
        for talk in _conversations(records):
            lines = _solved(talk, result) if form == "sft" else _preferred(talk)
            yield from ({**line, **{name: getattr(result, name) for name in _SOURCE}} for line in lines)


def _conversations(records: Sequence[Record]) -> Iterator[list[tuple[Message | str, bool]]]:
    talk: list[tuple[Message | str, bool]] = []
    for record in records:
        match record.event:
            case AgentEngage(system=system, first_message=words):
                if talk:
                    yield talk
                talk = [(system, False), (Message("user", (TextPart(words),)), False)]
            case Escalation(first_message=str(words)) if talk:
                yield talk
                talk = [talk[0], (Message("user", (TextPart(words),)), False)]
            case LlmResponse() as answer if talk:
                talk.append((answer.answer().message, False))
            case FeedbackSent(reply=Message() as reply, codes=codes) if talk:
                talk[-1] = talk[-1][0], bool(codes)
                talk.append((reply, False))
    if talk:
        yield talk


def _solved(talk: Sequence[tuple[Message | str, bool]], result: JobResult) -> Iterator[dict[str, Json]]:
    if result.passed:
        yield {"messages": [_said(message) for message, _ in talk]}


def _preferred(talk: Sequence[tuple[Message | str, bool]]) -> Iterator[dict[str, Json]]:
    begun = 0
    for at, (message, refused) in enumerate(talk):
        if not isinstance(message, Message) or message.role != "assistant":
            continue
        if refused:
            begun = begun or at
        elif begun:
            yield {
                "prompt": [_said(one) for one, _ in talk[:begun]],
                "rejected": [_said(talk[begun][0])],
                "chosen": [_said(message)],
                "feedback": [_said(one) for one, _ in talk[begun + 1 : at]],
            }
            begun = 0


def _said(message: Message | str) -> Json:
    if isinstance(message, str):
        return {"role": "system", "content": message}
    results = [part for part in message.parts if isinstance(part, NativeResult)]
    calls = [part for part in message.parts if isinstance(part, NativeCall)]
    words = "\n\n".join([*(one.text for one in results), *([message.text] if message.text else [])])
    said: dict[str, Json] = {"role": message.role, "content": words}
    made: list[Json] = []
    for one in calls:
        function: dict[str, Json] = {"name": one.name, "arguments": one.arguments}
        made.append({"id": one.id, "type": "function", "function": function})
    return {**said, "tool_calls": made} if made else said
