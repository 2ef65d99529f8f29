"""Anthropic's Messages API, through the official SDK.

The SDK's accumulated message is not used: its lenient parser repairs cut-off calls, takes duplicate keys and NaN, and
drops text on bad JSON. Each call's ``partial_json`` is joined for intake's strict parser. Sampling settings and forced
tool choice are not sent, as newer models refuse them; the session retries, bounded and logged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rails.core import limits
from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta, TextPart, Usage
from rails.core.tool_request import Json
from rails.models.http import ModelServer, echo_arguments, encodable
from rails.models.reading import Reading, arguments_in, count, name_in, others, text_in
from rails.models.structured_output import ANTHROPIC
from rails.models.wire import ServerModel, WireObject, blocks_of


class _Reading(Reading):
    _stop = ""

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        match event.get("type"):
            case "message_start":
                self._note(event["message"], event["message"].get("usage"))
            case "content_block_start":
                yield from self._start(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "message_delta":
                self._note(event["delta"], event.get("usage"))
            case "message_stop":
                self.stop = self._stop
                self.ended = True
            case "message":
                self._note(event, event.get("usage"))
                for index, block in enumerate(event["content"]):
                    yield from self._start(index, block)
                self.stop = self._stop
                self.ended = True

    def usage(self) -> Usage:
        cached = count(self.counts, "cache_read_input_tokens")
        kept = count(self.counts, "cache_creation_input_tokens")
        return Usage(count(self.counts, "input_tokens"), count(self.counts, "output_tokens"), cached, kept)

    def _note(self, message: Mapping[str, Any], usage: Mapping[str, Any] | None) -> None:
        self.model = message.get("model") or self.model
        self._stop = message.get("stop_reason") or ""
        self.words = (message.get("stop_details") or {}).get("explanation") or ""
        self.counts |= others(usage or {})

    def _start(self, index: int, block: Mapping[str, Any]) -> Iterator[TextDelta]:
        kinds = {"text": "text", "tool_use": "call"}
        slot = self.slot(index, kinds.get(str(block.get("type")), "own"))
        if slot.kind == "call":
            slot.id = name_in(block.get("id"))
            slot.name = name_in(block.get("name"))
            yield from self.add(slot, arguments_in(block.get("input") or ""))  # some local servers send a call whole
            slot.add(others(block, "type", "id", "name", "input"))
        elif slot.kind == "text":
            yield from self.add(slot, text_in(block.get("text")))
            slot.add(others(block, "type", "text"))
        else:
            yield from self.keep(slot, block)

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[TextDelta]:
        slot = self.slots[index]
        match delta.get("type"):
            case "text_delta":
                yield from self.add(slot, text_in(delta["text"]))
            case "input_json_delta":
                yield from self.add(slot, text_in(delta["partial_json"]))
            case "thinking_delta" | "signature_delta":
                yield from self.keep(slot, others(delta, "type"))


class AnthropicModel(ServerModel, frozen=True):
    """A model of a Messages API server."""

    URL = "https://api.anthropic.com"
    WINDOW = limits.ANTHROPIC_WINDOW
    RULES = ANTHROPIC
    KIND = "anthropic"
    PATH = "/v1/messages"
    ANSWER = "content"
    READING = _Reading
    SCHEMA = "input_schema"

    window: int = limits.ANTHROPIC_WINDOW

    @property
    def sender(self) -> str:
        """Return whose parts go back; others' are refused, so left out."""
        return self.KIND

    def server(self) -> ModelServer:
        """Return the server, asked through the SDK."""
        from rails.models.anthropic_sdk import SdkServer  # which takes a second to import

        return SdkServer(self.url, self.headers(), self.silence_s)

    def _head(self, system: str) -> dict[str, Json]:
        head: dict[str, Json] = {"model": self.name, "max_tokens": self.max_tokens, "stream": True}
        if self.is_sent("temperature"):
            head["temperature"] = self.temperature
        if system.strip():
            text = encodable(system)
            head["system"] = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        return head

    def sent(self, messages: Sequence[Message]) -> list[WireObject]:
        """Return messages in the API's form, with cache marks where history is stable."""
        sent = ServerModel.sent(self, messages)
        # The last two of the user's: what the one before ended at is in the cache, however many blocks came since.
        for one in [one for one in sent if one["role"] == "user"][-2:]:
            one["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return sent

    def items(self, sender: str, _names: dict[str, str], message: Message) -> list[WireObject]:
        """Return a message in the API's form: tool results first, never blank."""
        blocks = blocks_of(message, sender, _block) or [{"type": "text", "text": "(nothing)"}]
        return [{"role": message.role, "content": blocks}]


def _block(part: MessagePart) -> WireObject:
    match part:
        case TextPart(text) if text.strip():
            return {"type": "text", "text": encodable(text)}
        case NativeCall(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "input": echo_arguments(arguments)}
        case NativeResult(id_, text, is_error):
            return {"type": "tool_result", "tool_use_id": id_, "content": encodable(text), "is_error": is_error}
    return {}
