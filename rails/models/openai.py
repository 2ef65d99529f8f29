"""The OpenAI-compatible ``/chat/completions``, without an SDK.

Servers stream calls in one piece, several under one ``index`` or none, or arguments as an object; all become a text per
call. Other fields (``reasoning_content``, ``extra_content``, …) go back: some services answer 400 without, and get a
blank where there are none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rails.core.conversation import Message, MessagePart, NativeCall, NativeResult, TextDelta
from rails.core.tool_request import Json
from rails.models.http import echo_arguments, encodable, is_here
from rails.models.reading import Reading, Slot, arguments_in, count, name_in, others, text_in
from rails.models.structured_output import OPENAI
from rails.models.wire import ServerModel, WireObject, blocks_of

DEFAULT_URL: Final = "https://api.openai.com/v1"
#: What servers call the number of tokens that a model takes at once.
_WINDOWS: Final = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
#: What Ollama takes where neither the model nor its user says more.
_OLLAMA_WINDOW: Final = 4_096


class _Reading(Reading):
    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        self.model = event.get("model") or self.model
        self.counts = event.get("usage") or self.counts
        for choice in (event.get("choices") or ())[:1]:
            yield from self._message(choice.get("delta") or choice.get("message") or {})
            self.stop = choice.get("finish_reason") or self.stop
            if self.words and self.stop == "stop":
                self.stop = "refusal"

    def _message(self, message: Mapping[str, Any]) -> Iterator[TextDelta]:
        own = others(message, "role", "content", "tool_calls", "function_call", "refusal")
        if any(own.values()):
            yield from self.keep(self.slot("own", "own"), own)
        self.words += text_in(message.get("refusal"))
        content = message.get("content")
        if content:
            yield TextDelta("")  # a list may be thoughts alone
            yield from self.add(self.slot("text", "text"), text_in(content))
        pieces = message.get("tool_calls") or ()
        if legacy := message.get("function_call"):
            pieces = [{"function": legacy}]
        for piece in pieces:
            function = piece.get("function") or {}
            id_, name, text = name_in(piece.get("id")), name_in(function.get("name")), function.get("arguments")
            call = self._call(piece.get("index"), id_, name, arguments_in(text))
            call.id = call.id or id_
            call.name = call.name or name
            yield TextDelta("")
            yield from self.add(call, arguments_in(text))
            yield from self.keep(call, others(piece, "index", "id", "type", "function"))

    def _call(self, index: object, id_: str, name: str, text: str) -> Slot:
        """Return a piece's call: by id, else index, else the last.

        A new id, or a beginning after a complete call, starts another.
        """
        calls = [(key, slot) for key, slot in self.slots.items() if isinstance(key, tuple)]
        for _, slot in calls:
            if id_ and slot.id == id_:
                return slot
        here = [slot for key, slot in calls if index is None or key[0] == index][-1:]
        if here and _goes_on(here[0], index, id_, name, text):
            return here[0]
        return self.slot((index, len(calls)), "call")


def _goes_on(slot: Slot, index: object, id_: str, name: str, text: str) -> bool:
    """Return whether a piece continues a call: servers repeat names and make up ids."""
    if name and slot.name and name != slot.name:
        return False
    if id_ and slot.id:
        return not (name or index is None or slot.is_whole)
    begins = text.lstrip().startswith("{") or (name and slot.name)
    return text.isspace() or not (begins and slot.is_whole)


class OpenAIModel(ServerModel, frozen=True):
    """A model of a server; the address includes the version: ``http://127.0.0.1:11434/v1``."""

    URL = DEFAULT_URL
    RULES = OPENAI
    KIND = "openai"
    PATH = "/chat/completions"
    ANSWER = "choices"
    READING = _Reading

    def find_window(self, document: Callable[..., WireObject]) -> int:
        """Return the window, from the model list or local servers' own documents."""
        root = self.url.removesuffix("/v1")
        entry = self._entry(document(f"{self.url}/models").get("data"))
        found = count(entry, *_WINDOWS)
        if found or not (is_here(root) or entry.get("owned_by") == "library"):  # so says Ollama
            return found
        # llama.cpp's list has what a model was trained with, and LM Studio's nothing.
        found = _number('"n_ctx"', document(f"{root}/props"))
        found = found or _number('"loaded_context_length"', document(f"{root}/api/v0/models/{self.name}"))
        running = {} if found else document(f"{root}/api/ps")
        found = found or count(self._entry(running.get("models")), "context_length")
        if found or "models" not in running:
            return found
        shown = document(f"{root}/api/show", json.dumps({"model": self.name}).encode())
        return _number("num_ctx", shown) or min(_number(r'\.context_length"', shown), _OLLAMA_WINDOW)

    def _entry(self, listed: object) -> Mapping[str, Any]:
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and self.name in (one.get("id"), one.get("name"), one.get("model")):
                return one
        return {}

    def _head(self, system: str) -> dict[str, Json]:
        # OpenAI's own models refuse the older name, and other servers do not know the newer one.
        bound = "max_completion_tokens" if self.url == self.URL else "max_tokens"
        head: dict[str, Json] = {"model": self.name, "stream": True, bound: self.max_tokens}
        if system.strip():
            head[self.MESSAGES] = [{"role": "system", "content": encodable(system)}]
        return {**head, "stream_options": {"include_usage": True}, **self.options()}

    def tools(self, described: list[WireObject]) -> list[WireObject]:
        """Return the functions."""
        return [{"type": "function", "function": one} for one in described]

    def items(self, sender: str, _names: dict[str, str], message: Message) -> list[WireObject]:
        """Return a message in the API's form, possibly several: each tool result is one, first."""
        body: WireObject = {"role": message.role, "content": encodable(message.text)}
        calls: list[WireObject] = []
        results: list[WireObject] = []
        for block in blocks_of(message, sender, _block):
            if block.get("role") == "tool":
                results.append(block)
            elif block.get("type") == "function":
                calls.append(block)
            else:
                body |= block  # the message's own fields
        if message.role == "assistant" and not self.is_sent("bare"):
            body["reasoning_content"] = body.get("reasoning_content") or " "  # empty thoughts are refused as well
        if calls:
            body |= {"content": body["content"] or None, "tool_calls": calls}
        elif not body["content"].strip():
            if results:
                return results
            body["content"] = "(nothing)"
        return [*results, body]


def _number(name: str, document: object) -> int:
    found = re.search(rf"{name}:?\s+(\d+)", json.dumps(document))
    return int(found[1]) if found else 0


def _block(part: MessagePart) -> WireObject:
    match part:
        case NativeResult(id_, text):
            return {"role": "tool", "tool_call_id": id_, "content": encodable(text)}
        case NativeCall(id_, name, arguments):
            # Some servers parse the history's arguments and fail on a broken call: it goes as an object.
            function = {"name": name, "arguments": json.dumps(echo_arguments(arguments))}
            return {"id": id_, "type": "function", "function": function}
    return {}
