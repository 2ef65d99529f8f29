"""OpenAI's Responses API (``/responses``), stateless and without an SDK. Source: OpenAI's OpenAPI description.

``store`` is off: a session resumes from its log alone. Thoughts come encrypted and go back, or the model would start
over each turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta, TextPart
from rails.core.tool_request import Json
from rails.models.http import echo_arguments, encodable
from rails.models.openai import DEFAULT_URL
from rails.models.reading import Reading, arguments_in, name_in, others, text_in
from rails.models.structured_output import OPENAI
from rails.models.wire import ServerModel, WireObject, blocks_of


class _Reading(Reading):
    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
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

    def _item(self, index: object, item: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in a complete output item.

        ``id`` does not go back: it refers to thoughts that may be gone. Thoughts without content are dropped.
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
    """A model of a Responses API server; the address includes the version."""

    URL = DEFAULT_URL
    RULES = OPENAI
    KIND = "responses"
    PATH = "/responses"
    MESSAGES = "input"
    ANSWER = "output"
    READING = _Reading

    def _head(self, system: str) -> dict[str, Json]:
        head: dict[str, Json] = {"model": self.name, "stream": True, "store": False, **self.options()}
        head["max_output_tokens"] = self.max_tokens
        if self.is_sent("thoughts"):
            head["include"] = ["reasoning.encrypted_content"]
        if system.strip():
            head["instructions"] = encodable(system)
        return head

    def tools(self, described: list[WireObject]) -> list[WireObject]:
        """Return the functions."""
        return [{"type": "function", **one} for one in described]

    def items(self, sender: str, _names: dict[str, str], message: Message) -> list[WireObject]:
        """Return a message in the API's form, possibly several items."""
        items = blocks_of(message, sender, lambda part: _item(part, message.role))
        return items or [{"role": message.role, "content": "(nothing)"}]


def _item(part: MessagePart, role: str) -> WireObject:
    match part:
        case TextPart(text) if text.strip():
            return {"role": role, "content": encodable(text)}
        case NativeCall(id_, name, arguments):
            sent = json.dumps(echo_arguments(arguments))
            return {"type": "function_call", "call_id": id_, "name": name, "arguments": sent}
        case NativeResult(id_, text):
            return {"type": "function_call_output", "call_id": id_, "output": encodable(text)}
    return {}
