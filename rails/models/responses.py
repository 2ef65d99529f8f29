"""OpenAI's Responses API (``/responses``), without an SDK and without a conversation kept on the server.

Every request has the whole conversation (``store`` is off), so that a session can be resumed from its log alone. What
the model thought comes encrypted and goes back as it came; without that, reasoning models begin each turn anew.
Source: the events and items of OpenAI's published interface description.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta, TextPart, Usage
from rails.core.tool_request import Json
from rails.models.http import echo_arguments, encodable
from rails.models.openai import DEFAULT_URL
from rails.models.reading import Reading, arguments_in, count, name_in, others, text_in
from rails.models.structured_output import OPENAI
from rails.models.wire import ServerModel, blocks_of


class _Reading(Reading):
    """The events of one stream."""

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in one event; give out the text in it, if any."""
        kind, index = event.get("type"), event.get("output_index")
        match kind:
            case "response.output_text.delta":
                yield from self.add(self.slot(index, "text"), text_in(event["delta"]))
            case "response.output_item.done":
                yield from self._item(index, event["item"])
            case "response.refusal.delta":
                self.words += text_in(event["delta"])
            case "response.completed" | "response.incomplete" | "response.failed":
                yield from self._end(event["response"])
            case None:
                yield from self._end(event)
            case _:
                if str(kind).endswith(".delta"):  # of thoughts and calls, which come whole as items: the answer goes on
                    yield TextDelta("")

    def usage(self) -> Usage:
        """Return the tokens."""
        cached = count(self.counts.get("input_tokens_details"), "cached_tokens")
        return Usage(count(self.counts, "input_tokens") - cached, count(self.counts, "output_tokens"), cached)

    def _item(self, index: object, item: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in an item of the output, which is whole.

        The ``id`` of a message or a call does not go back: it would tie it to thoughts that may have been left out
        since. Thoughts without their content are kept nowhere, and nothing of them goes back.
        """
        kind = item.get("type")
        kinds = {"message": "text", "function_call": "call"}
        slot = self.slot(index, kinds.get(str(kind), "own"))
        if slot.kind == "text":
            said = "".join(text_in(part.get("text")) for part in item["content"] if part.get("type") == "output_text")
            yield from self.add(slot, said[len("".join(slot.text)) :])
            slot.add(others(item, "type", "id", "status", "role", "content"))
        elif slot.kind == "call":
            slot.id, slot.name = name_in(item.get("call_id")), name_in(item.get("name"))
            yield from self.add(slot, arguments_in(item.get("arguments")))
            slot.add(others(item, "type", "id", "status", "call_id", "name", "arguments"))
        elif kind != "reasoning" or item.get("encrypted_content"):
            yield from self.keep(slot, item)

    def _end(self, response: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in what is said at the end, or a whole answer that was not streamed."""
        self.model = response.get("model") or self.model
        self.counts = response.get("usage") or {}
        for index, item in enumerate(response.get("output") or ()):
            if index not in self.slots:
                yield from self._item(index, item)
        reason = (response.get("incomplete_details") or {}).get("reason")
        self.stop = "refusal" if self.words else name_in(reason or response.get("status"))
        self.whole = self.stop == "completed"
        self.ended = True


class ResponsesModel(ServerModel, frozen=True):
    """One model of one server that speaks the Responses API; the address includes the version."""

    URL = DEFAULT_URL
    RULES = OPENAI
    KIND = "responses"
    PATH = "/responses"
    MESSAGES = "input"
    ANSWER = "output"
    READING = _Reading
    TOOL = '{"type": "function", %s, "parameters": %s}'

    def _head(self, system: str) -> dict[str, Json]:
        head: dict[str, Json] = {"model": self.name, "stream": True, "store": False, **self.options()}
        head["max_output_tokens"] = self.max_tokens
        if self.is_sent("thoughts"):
            head["include"] = ["reasoning.encrypted_content"]
        if system.strip():
            head["instructions"] = encodable(system)
        return head

    def text(self, sender: str, _names: dict[str, str], message: Message) -> str:
        """Return a message in this API's form, which may be several items."""
        items = blocks_of(message, sender, lambda part: _item(part, message.role))
        return ", ".join(map(json.dumps, items or [{"role": message.role, "content": "(nothing)"}]))


def _item(part: MessagePart, role: str) -> dict[str, Any]:
    match part:
        case TextPart(text) if text.strip():
            return {"role": role, "content": encodable(text)}
        case NativeCall(id_, name, arguments):
            sent = json.dumps(echo_arguments(arguments))
            return {"type": "function_call", "call_id": id_, "name": name, "arguments": sent}
        case NativeResult(id_, text):
            return {"type": "function_call_output", "call_id": id_, "output": encodable(text)}
    return {}
