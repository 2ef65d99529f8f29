"""Gemini's API (``:streamGenerateContent``), without an SDK. Source: Google's ``v1beta`` discovery document.

A part's ``thoughtSignature`` goes back with it. Newer models refuse calls without one, so others get the documented
placeholder.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rails.core import limits
from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta, TextPart
from rails.core.tool_request import Json
from rails.models.http import echo_arguments, encodable
from rails.models.reading import Reading, arguments_in, count, name_in, others, text_in
from rails.models.wire import ServerModel, WireObject, blocks_of

_UNSIGNED: Final = "skip_thought_signature_validator"
#: An id of ours, for a call that came without.
_OUR_ID: Final = re.compile(r"call_\d+")


class _Reading(Reading):
    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        self.model = event.get("modelVersion") or self.model
        self.counts = event.get("usageMetadata") or self.counts
        if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
            self.stop = f"blocked: {blocked}"
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            self.stop = candidate.get("finishReason") or self.stop
            self.words = candidate.get("finishMessage") or self.words

    def _part(self, part: Mapping[str, Any]) -> Iterator[TextDelta]:
        key = len(self.slots)
        if call := part.get("functionCall"):
            slot = self.slot(key, "call")
            slot.id = name_in(call.get("id"))
            slot.name = name_in(call.get("name"))
            yield from self.add(slot, arguments_in(call.get("args") or {}))
            slot.add(others(part, "functionCall"))
        elif part.get("text") and not part.get("thought"):
            last = self.slots.get(key - 1)
            if last is None or last.kind != "text" or last.fields or len(part) > 1:
                last = self.slot(key, "text")
            yield from self.add(last, text_in(part["text"]))
            last.add(others(part, "text"))
        elif set(part) != {"text"}:
            yield from self.keep(self.slot(key, "own"), part)


class GeminiModel(ServerModel, frozen=True):
    """A Gemini model; the address includes the version."""

    URL = "https://generativelanguage.googleapis.com/v1beta"
    WINDOW = limits.GEMINI_WINDOW
    KIND = "gemini"
    PATH = ":streamGenerateContent?alt=sse"
    MESSAGES = "contents"
    ANSWER = "candidates"
    READING = _Reading
    SCHEMA = "parametersJsonSchema"

    def find_window(self, document: Callable[..., WireObject]) -> int:
        """Return the window from the model's description."""
        return count(document(f"{self.url}{self._place()}"), "inputTokenLimit")

    def path(self) -> str:
        """Return the path, which names the model."""
        return self._place() + self.PATH

    def headers(self) -> dict[str, str]:
        """Return the key header."""
        return {"x-goog-api-key": self.api_key} if self.api_key else {}

    def _place(self) -> str:
        folder = "" if "/" in self.name else "models/"
        return f"/{folder}{urllib.parse.quote(self.name)}"

    def _head(self, system: str) -> dict[str, Json]:
        head: dict[str, Json] = {"generationConfig": {"maxOutputTokens": self.max_tokens, **self.options()}}
        if system.strip():
            head["systemInstruction"] = {"parts": [{"text": encodable(system)}]}
        return head

    def tools(self, described: list[WireObject]) -> list[WireObject]:
        """Return the functions as one tool."""
        return [{"functionDeclarations": described}]

    def items(self, sender: str, names: dict[str, str], message: Message) -> list[WireObject]:
        """Return a message in the API's form; results name their calls."""
        names.update((call.id, call.name) for call in message.calls)
        parts = blocks_of(message, sender, lambda part: _block(part, names)) or [{"text": "(nothing)"}]
        calls = [part for part in parts if "functionCall" in part]
        if calls and not re.search("gemini-[12]", self.name):
            calls[0].setdefault("thoughtSignature", _UNSIGNED)
        return [{"role": "user" if message.role == "user" else "model", "parts": parts}]


def _block(part: MessagePart, names: Mapping[str, str]) -> WireObject:
    match part:
        case TextPart(text) if text:
            return {"text": encodable(text)}
        case NativeCall(id_, name, arguments):
            return {"functionCall": {**_id(id_), "name": name, "args": echo_arguments(arguments)}}
        case NativeResult(id_, text, is_error):
            response = {"error" if is_error else "output": encodable(text)}
            return {"functionResponse": {**_id(id_), "name": names.get(id_, "unknown"), "response": response}}
    return {}


def _id(id_: str) -> dict[str, str]:
    return {} if _OUR_ID.fullmatch(id_) else {"id": id_}
