"""Anthropic's Messages API, and every local server that speaks it, through the official SDK.

Raw stream events are read (``messages.create(stream=True)``), not the SDK's accumulated message: its
lenient parser turns a tool call that was cut off into a shorter, valid-looking one, takes duplicate
keys and NaN, and throws earlier text away when a call is not JSON. Here each call's ``partial_json`` is
joined and handed on as text; parsing it strictly is intake's work. A server that answers the whole message as one JSON
object, although a stream was asked for, is understood.

Not sent: sampling settings, which the API refuses, and forced tool choice, which current models refuse.
Retrying is the session's work, so that it is bounded, visible and logged; the SDK's own is switched off.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from rails.core import limits
from rails.core.conversation import (
    Delta,
    EachOnce,
    Message,
    MessagePart,
    ModelAnswer,
    NativeCall,
    NativeResult,
    Opaque,
    StopReason,
    TextDelta,
    TextPart,
    ToolSpec,
    Usage,
)
from rails.core.dataclass import dataclass, field, replace
from rails.core.errors import ModelError, ModelRetryable
from rails.core.tool_request import Json
from rails.models.http import (
    answer_of_events,
    echo_arguments,
    encodable,
    ending,
    error_text,
    fault,
    is_here,
    native_call,
    request_text,
    status_error,
    steadied,
    text_in,
    unreached,
)
from rails.models.model import Model
from rails.models.structured_output import ANTHROPIC, Strictness, strict_tools

if TYPE_CHECKING:
    import ssl

    import anthropic

PROVIDER: Final = "anthropic"
DEFAULT_URL: Final = "https://api.anthropic.com"

_STOPS: Final[Mapping[str, tuple[StopReason, str]]] = {
    "end_turn": ("end_turn", ""),
    "tool_use": ("tool_use", ""),
    "stop_sequence": ("stop_sequence", "the answer reached a stop sequence"),
    "pause_turn": ("pause_turn", "the model paused and wants to go on"),
    "max_tokens": ("max_tokens", "the answer was cut at its limit of {limit} tokens"),
    "model_context_window_exceeded": ("max_tokens", "the answer was cut: the conversation fills the model's context"),
    "refusal": ("refusal", "the model's service refused to answer"),
}


@dataclass(frozen=True, slots=True)
class AnthropicModel(Model):
    """One model of one server. The connection is opened at the first answer and belongs to that answer."""

    name: str
    api_key: str = field(repr=False)
    base_url: str = DEFAULT_URL
    max_tokens: int = limits.ANSWER_TOKENS
    silence_s: float = limits.MODEL_SILENCE_SECONDS
    window: int = limits.ANTHROPIC_WINDOW
    strictness: Strictness = field(default_factory=Strictness, repr=False, compare=False)
    temperature: float | None = None
    sent: EachOnce[str] = field(default_factory=lambda: EachOnce(_text), repr=False, compare=False)

    @classmethod
    def from_environment(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        max_tokens: int = limits.ANSWER_TOKENS,
        environment: Mapping[str, str] | None = None,
    ) -> AnthropicModel:
        """Take the key from ``ANTHROPIC_API_KEY`` and the address from ``base_url`` or ``ANTHROPIC_BASE_URL``.

        A server of one's own needs no key. Raises ModelError when Anthropic's own would be asked without one.
        """
        environment = os.environ if environment is None else environment
        url = base_url or environment.get("ANTHROPIC_BASE_URL") or DEFAULT_URL
        key = environment.get("ANTHROPIC_API_KEY", "").strip()
        if not key and url.rstrip("/") == DEFAULT_URL:
            raise ModelError(
                "ANTHROPIC_API_KEY is not set. Set it to your key, give the base URL of a local server, "
                "or replay a recording with recorded:FILE."
            )
        return cls(name, key or "none", url, max_tokens, strictness=Strictness.from_environment(environment))

    def steady(self) -> AnthropicModel:
        """Return this model at temperature 0.1, or without one where that is refused."""
        return replace(self, temperature=0.1)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Ask for the next answer; see :class:`rails.models.model.Model`."""

        def answer(strict: bool) -> Iterator[Delta]:
            return self._answer(_request(self, system, messages, tools, strict=strict))

        asked = self.strictness.asked(answer, own_server=self.base_url.rstrip("/") == DEFAULT_URL)
        if self.temperature is None:
            return asked
        plain = replace(self, temperature=None)
        return steadied(asked, lambda: plain.stream(system=system, messages=messages, tools=tools))

    def import_ahead(self) -> None:
        """Begin to import the SDK, which takes a second, while something else is waited for."""
        threading.Thread(target=_import_sdk, daemon=True, name="the SDK, ahead").start()

    def _answer(self, body: bytes) -> Iterator[Delta]:
        _import_sdk()
        import anthropic
        import httpx2

        reading = _Reading(self.name, self.max_tokens)
        client = _client(self.api_key, self.base_url, self.silence_s)
        with self._faults_in_words():
            # As text: what the SDK is given as an object it copies, all of the conversation at every turn.
            answered: httpx2.Response = client.post(  # type: ignore[assignment]
                "/v1/messages",
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
                stream=True,
                stream_cls=anthropic.Stream[object],
            )
            with closing(answered):
                yield from answer_of_events(answered.iter_bytes(), self.base_url, "content", reading)

    @contextmanager
    def _faults_in_words(self) -> Iterator[None]:
        import anthropic
        import httpx2

        who = f"The model server {self.base_url}"
        try:
            yield
        except anthropic.APITimeoutError as error:
            raise ModelRetryable(f"{who} did not answer within {self.silence_s:g} s.") from error
        except anthropic.APIStatusError as error:
            answered = error.response
            raise status_error(who, error.status_code, error_text(answered.content), answered.headers.get) from error
        except anthropic.APIConnectionError as error:
            raise unreached(self.base_url, error.__cause__ or error) from error
        except httpx2.TimeoutException as error:
            raise ModelRetryable(f"{who} fell silent for {self.silence_s:g} s in the middle of its answer.") from error
        except httpx2.HTTPError as error:
            raise ModelRetryable(f"{who} broke off in the middle of its answer: {fault(error)}.") from error
        except (ValueError, anthropic.AnthropicError) as error:
            raise ModelRetryable(f"{who} broke off in the middle of its answer: {fault(error)}.") from error


def _import_sdk() -> None:
    """Import the SDK's 3,000 modules: the garbage collector waits meanwhile, and never looks at them again."""
    if "anthropic" in sys.modules:
        return
    collects = gc.isenabled()
    gc.disable()
    try:
        import anthropic  # noqa: F401
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@lru_cache(maxsize=8)
def _client(key: str, url: str, silence_s: float) -> anthropic.Anthropic:
    """Return the SDK's client, which takes longer to make than a request; every answer is a connection of its own."""
    import anthropic
    import httpx2

    # The SDK's own takes the proxies of the environment whatever trust_env says.
    http_client = httpx2.Client if is_here(url) else anthropic.DefaultHttpxClient
    return anthropic.Anthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=anthropic.Timeout(silence_s, connect=limits.MODEL_CONNECT_SECONDS),
        http_client=http_client(
            verify=_authorities(),
            limits=httpx2.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=not is_here(url),
        ),
    )


@cache
def _authorities() -> ssl.SSLContext:
    """Return who is trusted to name servers: read once, as it takes more time than all else of an answer."""
    import httpx2

    return httpx2.create_ssl_context()


@dataclass(slots=True)
class _Block:
    """A content block while it arrives: what kind, and its pieces."""

    kind: str
    start: Mapping[str, Any]
    text: list[str] = field(default_factory=list)
    signature: str = ""

    def part(self, number: int) -> MessagePart | None:
        """Return the finished part, or ``None`` for a kind that is nobody's business here."""
        text = "".join(self.text)
        match self.kind:
            case "text":
                return TextPart(text) if text else None
            case "tool_use":
                return native_call(self.start.get("id"), number, self.start.get("name"), text)
            case "thinking" if self.signature:  # without it the API would not take the block back
                thought = {"type": "thinking", "thinking": text, "signature": self.signature}
                return Opaque(PROVIDER, json.dumps(thought))
            case "redacted_thinking":
                return Opaque(PROVIDER, json.dumps({"type": self.kind, "data": self.start.get("data", "")}))
        return None


class _Reading:
    """Turns the events of one stream into text pieces and, at its end, an answer."""

    def __init__(self, model: str, max_tokens: int) -> None:
        self.ended = False
        self._model = model
        self._max_tokens = max_tokens
        self._blocks: dict[int, _Block] = {}
        self._chars = 0
        self._stop: str | None = None
        self._stop_words = ""
        self._usage: dict[str, int] = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in one event; give out the text in it, if any."""
        match event.get("type"):
            case "message_start":
                message = event["message"]
                self._model = message.get("model") or self._model
                self._count(message.get("usage"))
            case "content_block_start":
                yield from self._start(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "message_delta":
                self._stop = event["delta"].get("stop_reason")
                self._stop_words = (event["delta"].get("stop_details") or {}).get("explanation") or ""
                self._count(event.get("usage"))
            case "message_stop":
                self.ended = True
            case "message":
                yield from self._whole(event)

    def answer(self) -> ModelAnswer:
        """Return what has arrived; its stop reason is "cut" unless the stream ended as it should."""
        parts = tuple(part for number, block in sorted(self._blocks.items()) if (part := block.part(number)))
        stopped = self._stop if self.ended else None
        stop, note = ending(_STOPS, stopped, self._chars, self._max_tokens, self._stop_words)
        usage = Usage(
            self._usage.get("input_tokens", 0),
            self._usage.get("output_tokens", 0),
            self._usage.get("cache_read_input_tokens", 0),
            self._usage.get("cache_creation_input_tokens", 0),
        )
        return ModelAnswer(Message("assistant", parts), stop, usage, self._model, note)

    def _whole(self, message: Mapping[str, Any]) -> Iterator[TextDelta]:
        """Take in a message that was not streamed; give out its text."""
        self._model = message.get("model") or self._model
        self._count(message.get("usage"))
        for index, block in enumerate(message["content"]):
            yield from self._start(index, block)
            self._blocks[index].signature = block.get("signature") or ""
        self._stop, self.ended = message.get("stop_reason"), True

    def _start(self, index: int, start: Mapping[str, Any]) -> Iterator[TextDelta]:
        self._blocks[index] = block = _Block(str(start.get("type", "")), start)
        if block.kind == "tool_use" and start.get("input"):
            # Some local servers send a call whole, as an object, instead of streaming its text.
            block.text.append(json.dumps(start["input"], ensure_ascii=False))
        if block.kind in ("text", "thinking") and start.get(block.kind):
            yield from self._add(block, str(start[block.kind]))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[TextDelta]:
        block = self._blocks.setdefault(index, _Block("text", {}))
        match delta.get("type"):
            case "text_delta":
                yield from self._add(block, delta["text"])
            case "input_json_delta":
                yield from self._add(block, delta["partial_json"])
            case "thinking_delta":
                yield from self._add(block, delta["thinking"])
            case "signature_delta":
                block.signature = delta["signature"]

    def _add(self, block: _Block, text: str) -> Iterator[TextDelta]:
        block.text.append(text_in(text))
        self._chars += len(text)
        if self._chars > limits.ANSWER_CHARS:
            self.ended = True
        if text:
            yield TextDelta(text if block.kind == "text" else "")  # an empty one says that the answer goes on

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        self._usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def _request(
    model: AnthropicModel, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, strict: bool = False
) -> bytes:
    """Return the body of a request; cache marks stand where the history will not change."""
    body: dict[str, Json] = {"model": model.name, "max_tokens": model.max_tokens, "stream": True}
    if model.temperature is not None:
        body["temperature"] = model.temperature
    if system.strip():
        text = encodable(system)
        body["system"] = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    sent = [*model.sent.of(messages)]
    # The last two of the user's: what the one before ended at is in the cache, however many blocks came since.
    for at in [number for number, one in enumerate(messages) if one.role == "user"][-2:]:
        sent[at] = _text(messages[at], marked=True)
    return request_text(body, sent, _tools(tuple(tools), strict))


@lru_cache(maxsize=8)
def _tools(tools: tuple[ToolSpec, ...], strict: bool) -> str:
    fitting = strict_tools(tools, ANTHROPIC) if strict else {}
    return json.dumps([_tool(tool, fitting.get(tool.name)) for tool in tools]) if tools else ""


def _tool(tool: ToolSpec, strict: dict[str, Json] | None) -> dict[str, Json]:
    told: dict[str, Json] = {"name": tool.name, "description": tool.description}
    if strict is not None:
        return {**told, "strict": True, "input_schema": strict}
    return {**told, "input_schema": json.loads(tool.schema)}


def _text(message: Message, *, marked: bool = False) -> str:
    """Return a message in the API's form: tool results first, no blank text, never empty."""
    blocks = [block for part in message.parts if (block := _block(part))] or [{"type": "text", "text": "(nothing)"}]
    blocks.sort(key=lambda block: block["type"] != "tool_result")
    if marked:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return json.dumps({"role": message.role, "content": blocks})


def _block(part: MessagePart) -> dict[str, Any] | None:
    match part:
        case TextPart(text):
            return {"type": "text", "text": encodable(text)} if text.strip() else None
        case NativeCall(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "input": echo_arguments(arguments)}
        case NativeResult(id_, text, is_error):
            return {"type": "tool_result", "tool_use_id": id_, "content": encodable(text), "is_error": is_error}
        case Opaque(provider, data):
            return cast(dict[str, Any], json.loads(data)) if provider == PROVIDER else None
