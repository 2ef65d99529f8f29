"""Gemini's own API (``:streamGenerateContent``), without an SDK.

A part of an answer may carry a ``thoughtSignature``, which goes back with its part. The newer models refuse a call
that lacks one, so that a call of another model, or one whose thoughts were left out, gets the word that Google's
documentation has for that. Source: Google's published interface description of ``v1beta``.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rails.core import limits
from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta, TextPart, Usage
from rails.core.tool_request import Json
from rails.models.http import echo_arguments, encodable
from rails.models.reading import Reading, arguments_in, count, name_in, others, text_in
from rails.models.wire import ServerModel, blocks_of

_UNSIGNED: Final = "skip_thought_signature_validator"
#: An id of ours, for a call that came without.
_OUR_ID: Final = re.compile(r"call_\d+")


class _Reading(Reading):
    """The chunks of one stream."""

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in one chunk; give out the text in it, if any."""
        self.model = event.get("modelVersion") or self.model
        self.counts = event.get("usageMetadata") or self.counts
        if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
            self.stop = f"blocked: {blocked}"
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            self.stop = candidate.get("finishReason") or self.stop
            self.words = candidate.get("finishMessage") or self.words

    def usage(self) -> Usage:
        """Return the tokens; thoughts are answer as well."""
        cached = count(self.counts, "cachedContentTokenCount")
        answer = count(self.counts, "candidatesTokenCount") + count(self.counts, "thoughtsTokenCount")
        return Usage(count(self.counts, "promptTokenCount") - cached, answer, cached)

    def _part(self, part: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in a part: a text goes on with the one before it, unless either has a field of its own."""
        key = len(self.slots)
        if call := part.get("functionCall"):
            slot = self.slot(key, "call")
            slot.id, slot.name = name_in(call.get("id")), name_in(call.get("name"))
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
    """One model of Gemini's API; the address includes the version."""

    URL = "https://generativelanguage.googleapis.com/v1beta"
    WINDOW = limits.GEMINI_WINDOW
    KIND = "gemini"
    PATH = ":streamGenerateContent?alt=sse"
    MESSAGES = "contents"
    ANSWER = "candidates"
    READING = _Reading
    TOOL = '{%s, "parametersJsonSchema": %s}'
    TOOLS = '[{"functionDeclarations": [%s]}]'

    def find_window(self, document: Callable[..., dict[str, Any]]) -> int:
        """Return the window, which the description of the model has."""
        return count(document(f"{self.url}{self._place()}"), "inputTokenLimit")

    def path(self) -> str:
        """Return the path of a request, which names the model."""
        return self._place() + self.PATH

    def headers(self) -> dict[str, str]:
        """Return the header that shows the key."""
        return {"x-goog-api-key": self.api_key} if self.api_key else {}

    def _place(self) -> str:
        folder = "" if "/" in self.name else "models/"
        return f"/{folder}{urllib.parse.quote(self.name)}"

    def _head(self, system: str) -> dict[str, Json]:
        head: dict[str, Json] = {"generationConfig": {"maxOutputTokens": self.max_tokens, **self.options()}}
        if system.strip():
            head["systemInstruction"] = {"parts": [{"text": encodable(system)}]}
        return head

    def text(self, sender: str, names: dict[str, str], message: Message) -> str:
        """Return a message in this API's form: results name their calls."""
        names.update((call.id, call.name) for call in message.calls)
        parts = blocks_of(message, sender, lambda part: _block(part, names)) or [{"text": "(nothing)"}]
        calls = [part for part in parts if "functionCall" in part]
        if calls and not re.search("gemini-[12]", self.name):
            calls[0].setdefault("thoughtSignature", _UNSIGNED)
        return json.dumps({"role": "user" if message.role == "user" else "model", "parts": parts})


def _block(part: MessagePart, names: Mapping[str, str]) -> dict[str, Any]:
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
