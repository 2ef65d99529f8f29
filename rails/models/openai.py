"""The OpenAI-compatible ``/chat/completions``, as most local and hosted servers speak it, without an SDK.

Servers differ in how they stream tool calls: whole arguments in one piece, several calls without an
``index``, arguments as an object instead of text. All end here as one text for each call, to be parsed
strictly by intake.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from rails.core import limits
from rails.core.conversation import (
    Delta,
    EachOnce,
    Message,
    MessagePart,
    ModelAnswer,
    NativeResult,
    StopReason,
    TextDelta,
    TextPart,
    ToolSpec,
    Usage,
)
from rails.core.dataclass import dataclass, field, replace
from rails.core.errors import ModelError, UsageError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.models.http import (
    ModelServer,
    echo_arguments,
    encodable,
    ending,
    native_call,
    request_text,
    steadied,
    text_in,
)
from rails.models.model import Model
from rails.models.structured_output import OPENAI, Strictness, strict_tools

DEFAULT_URL: Final = "https://api.openai.com/v1"

_STOPS: Final[Mapping[str, tuple[StopReason, str]]] = {
    "stop": ("end_turn", ""),
    "tool_calls": ("tool_use", ""),
    "function_call": ("tool_use", ""),
    "length": ("max_tokens", "the answer was cut at its limit of {limit} tokens"),
    "content_filter": ("refusal", "the model's service refused to answer"),
}
#: What servers call the number of tokens that a model takes at once.
_WINDOWS: Final = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class OpenAIModel(Model):
    """One model of one server; every answer is a connection of its own."""

    name: str
    api_key: str = field(repr=False)
    base_url: str = DEFAULT_URL
    max_tokens: int = limits.ANSWER_TOKENS
    silence_s: float = limits.MODEL_SILENCE_SECONDS
    window: int = limits.LOCAL_WINDOW
    strictness: Strictness = field(default_factory=Strictness, repr=False, compare=False)
    temperature: float | None = None
    seed: int | None = None
    sent: EachOnce[str] = field(default_factory=lambda: EachOnce(_text), repr=False, compare=False)

    @classmethod
    def from_environment(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        max_tokens: int = limits.ANSWER_TOKENS,
        environment: Mapping[str, str] | None = None,
    ) -> OpenAIModel:
        """Take the key from ``OPENAI_API_KEY`` and the address from ``base_url`` or ``OPENAI_BASE_URL``.

        The address includes the version, for example ``http://127.0.0.1:11434/v1``. A server of one's own
        needs no key. Raises UsageError for an address that is not HTTP, and ModelError when OpenAI's own
        would be asked without a key.
        """
        environment = os.environ if environment is None else environment
        url = (base_url or environment.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"The base URL {one_line(url)!r} must begin with http:// or https://")
        key = environment.get("OPENAI_API_KEY", "").strip()
        if not key and url == DEFAULT_URL:
            raise ModelError("OPENAI_API_KEY is not set. Set it to your key, or give the base URL of a local server.")
        window = limits.OPENAI_WINDOW if url == DEFAULT_URL else limits.LOCAL_WINDOW
        return cls(name, key, url, max_tokens, window=window, strictness=Strictness.from_environment(environment))

    def steady(self) -> OpenAIModel:
        """Return this model at temperature 0.1, or without one where that is refused."""
        return replace(self, temperature=0.1)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Ask for the next answer; see :class:`rails.models.model.Model`."""

        def answer(strict: bool) -> Iterator[Delta]:
            return self._answer(_request(self, system, messages, tools, strict=strict))

        asked = self.strictness.asked(answer, own_server=self.base_url == DEFAULT_URL)
        if self.temperature is None:
            return asked
        plain = replace(self, temperature=None)
        return steadied(asked, lambda: plain.stream(system=system, messages=messages, tools=tools))

    def served_window(self) -> int:
        """Return what the server says of the model's window, in tokens; 0 where it says nothing."""
        try:
            listed = self._server().document("/models")["data"]
            found = next(one for one in listed if one.get("id") == self.name)
            counts = (found.get(name) for name in _WINDOWS)
            return next((count for count in counts if isinstance(count, int) and count > 0), 0)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError, StopIteration):
            return 0

    def _answer(self, body: bytes) -> Iterator[Delta]:
        reading = _Reading(self.name, self.max_tokens)
        return self._server().answer("/chat/completions", body, "choices", reading)

    def _server(self) -> ModelServer:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return ModelServer(self.base_url, headers, self.silence_s)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)


class _Reading:
    """Turns the chunks of one stream into text pieces and, at its end, an answer."""

    def __init__(self, model: str, max_tokens: int) -> None:
        self.ended = False
        self._model = model
        self._max_tokens = max_tokens
        self._text: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._chars = 0
        self._finish: str | None = None
        self._refusal = ""
        self._usage = Usage()

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in one chunk; give out the text in it, if any."""
        self._model = event.get("model") or self._model
        if usage := event.get("usage"):
            self._usage = _usage(usage)
        for choice in (event.get("choices") or ())[:1]:
            delta = choice.get("delta") or choice.get("message") or {}
            text = text_in(delta.get("content"))
            self._refusal += text_in(delta.get("refusal"))
            if text:
                self._text.append(text)
                self._grow(len(text))
            if any(value for key, value in delta.items() if key != "role"):  # thoughts and calls: the answer goes on
                yield TextDelta(text)
            for call in delta.get("tool_calls") or ():
                self._call(call)
            self._finish = choice.get("finish_reason") or self._finish

    def answer(self) -> ModelAnswer:
        """Return what has arrived; its stop reason is "cut" unless the server said why it stopped."""
        text = "".join(self._text)
        parts: list[MessagePart] = [TextPart(text)] if text else []
        for number, call in sorted(self._calls.items()):
            parts.append(native_call(call.id, number, call.name, "".join(call.arguments)))
        finish = "content_filter" if self._refusal and self._finish == "stop" else self._finish
        stop, note = ending(_STOPS, finish, self._chars, self._max_tokens, one_line(self._refusal, 300))
        return ModelAnswer(Message("assistant", tuple(parts)), stop, self._usage, self._model, note)

    def _call(self, piece: Mapping[str, Any]) -> None:
        """Add a piece to its call; without an ``index``, an id that is new begins a new one."""
        function = piece.get("function") or {}
        last = max(self._calls, default=-1)
        index = piece.get("index")
        if index is None:
            known = last >= 0 and piece.get("id") in (None, "", self._calls[last].id)
            index = last if known else last + 1
        call = self._calls.setdefault(index, _Call("", ""))
        call.id = piece.get("id") or call.id
        call.name = call.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            call.arguments.append(text)
            self._grow(len(text))

    def _grow(self, chars: int) -> None:
        self._chars += chars
        self.ended = self._chars > limits.ANSWER_CHARS


def _usage(counted: Mapping[str, Any]) -> Usage:
    cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    prompt = counted.get("prompt_tokens") or 0
    return Usage(prompt - cached, counted.get("completion_tokens") or 0, cached)


def _request(
    model: OpenAIModel, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, strict: bool = False
) -> bytes:
    # OpenAI's own models refuse the older name, and other servers do not know the newer one.
    bound = "max_completion_tokens" if model.base_url == DEFAULT_URL else "max_tokens"
    body: dict[str, Json] = {"model": model.name, "stream": True, bound: model.max_tokens}
    body["stream_options"] = {"include_usage": True}
    if model.temperature is not None:
        body["temperature"] = model.temperature
    if model.seed is not None:
        body["seed"] = model.seed
    first = [json.dumps({"role": "system", "content": encodable(system)})] if system.strip() else []
    return request_text(body, [*first, *model.sent.of(messages)], _tools(tuple(tools), strict))


@lru_cache(maxsize=8)
def _tools(tools: tuple[ToolSpec, ...], strict: bool) -> str:
    fitting = strict_tools(tools, OPENAI) if strict else {}
    told = [{"type": "function", "function": _function(tool, fitting.get(tool.name))} for tool in tools]
    return json.dumps(told) if told else ""


def _function(tool: ToolSpec, strict: dict[str, Json] | None) -> dict[str, Json]:
    if strict is not None:
        return {"name": tool.name, "description": tool.description, "parameters": strict, "strict": True}
    return {"name": tool.name, "description": tool.description, "parameters": json.loads(tool.schema)}


def _text(message: Message) -> str:
    """Return a message in this API's form, which may be several, with commas between them."""
    return ", ".join(map(json.dumps, _messages(message)))


def _messages(message: Message) -> Iterator[Json]:
    """Yield a message in this API's form: each tool result is a message, and stands before the text."""
    for part in message.parts:
        if isinstance(part, NativeResult):
            yield {"role": "tool", "tool_call_id": part.id, "content": encodable(part.text)}
    calls: list[Json] = [
        {
            "id": call.id,
            "type": "function",
            # Some servers parse the history's arguments and fail on a broken call, so it goes back as an object.
            "function": {"name": call.name, "arguments": json.dumps(echo_arguments(call.arguments))},
        }
        for call in message.calls
    ]
    text = encodable(message.text)
    if calls:
        yield {"role": message.role, "content": text or None, "tool_calls": calls}
    elif text.strip() or not any(isinstance(part, NativeResult) for part in message.parts):
        yield {"role": message.role, "content": text or "(nothing)"}
