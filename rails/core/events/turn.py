"""Events of a turn: answer, calls, corrections, refusals, feedback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from rails.core.conversation import Message, ModelAnswer, NativeCall, Usage, answer_from_json, answer_to_json
from rails.core.errors import Refusal
from rails.core.events.base import Event, EventWithWords
from rails.core.events.reading import read_object
from rails.core.events.values import to_json
from rails.core.tool_request import Json, RawRequest


class LlmCall(EventWithWords, frozen=True, tag="LLM_CALL"):
    """The model is asked: number of messages, turn."""

    messages: int
    turn: int
    #: How many tokens the prompt was thought to take; 0: nobody asked.
    tokens: int = 0


class ContextReduced(EventWithWords, frozen=True, tag="CONTEXT_REDUCED"):
    """The conversation was cut to fit ``window``: from ``before`` tokens to ``after``.

    Messages before ``results_before`` lose results (superseded ones all do), before ``thoughts_before`` thoughts; the
    newest answer and its results lose what exceeds ``newest_chars`` in parts (0: nothing; earlier versions wrote
    ``answer_chars``, too); ``page``, which cost ``usage``, replaces those before ``kept_from``.
    """

    before: int
    after: int
    window: int
    results_before: int = 0
    thoughts_before: int = 0
    newest_chars: int = 0
    kept_from: int = 0
    page: str = ""
    usage: Usage = Usage()
    answer_chars: int = 0


class LlmResponse(EventWithWords, frozen=True, kw_only=True, tag="LLM_RESPONSE"):
    """The model's whole answer; ``prose`` is without calls. Saved answers lack prose and duration."""

    text: str
    prose: str | None = None
    calls: tuple[NativeCall, ...]
    duration_ms: float | None = None
    role: str
    content: Json
    stop_reason: str
    usage: Usage
    model: str
    note: str

    @classmethod
    def of(
        cls, words: str, answer: ModelAnswer, *, prose: str | None = None, duration_ms: float | None = None
    ) -> LlmResponse:
        """Return the event of ``answer``."""
        message = answer.message
        return cls(
            words=words,
            text=message.text,
            prose=prose,
            calls=message.calls,
            duration_ms=duration_ms,
            role=message.role,
            content=answer_to_json(answer)["content"],
            stop_reason=answer.stop_reason,
            usage=answer.usage,
            model=answer.model,
            note=answer.note,
        )

    def answer(self) -> ModelAnswer:
        """Return the logged answer. Raises ValueError if unreadable."""
        facts = self.to_json()
        if not self.stop_reason:
            del facts["stop_reason"]  # an answer that does not say it ended as answers do
        return answer_from_json(facts)


class LlmError(Event, frozen=True, tag="LLM_ERROR"):
    """The model was unusable; ``attempt`` counts tries."""

    error: str
    will_retry: bool
    attempt: int

    @property
    def message(self) -> str:
        """The error."""
        return self.error


class McpRequestFormulated(Event, frozen=True, tag="MCP_REQUEST_FORMULATED"):
    """A tool request was found; the answer's record has its text."""

    request: RawRequest

    @property
    def message(self) -> str:
        """The tool, and the agent's reason."""
        tool = self.request.tool_name
        why = self.request.explanation
        return f"{tool}: {why}" if why else tool

    def to_json(self) -> dict[str, Json]:
        """Return the details of the event's record."""
        return {name: value for name, value in cast("dict[str, Json]", to_json(self.request)).items() if name != "raw"}

    @classmethod
    def from_json(cls, message: str, details: Mapping[str, Json]) -> McpRequestFormulated:
        """Return the event of a record."""
        del message
        return cls(read_object(RawRequest, {**details, "raw": ""}))


class ToolRequestValidated(Event, frozen=True, tag="TOOL_REQUEST_VALIDATED"):
    """A request satisfies its definition; ``coerced``: conversions."""

    id: str
    tool_name: str
    coerced: tuple[str, ...]

    @property
    def message(self) -> str:
        """A fixed sentence."""
        return f"{self.tool_name} is valid"


class ToolRequestValidationFailed(Event, frozen=True, tag="TOOL_REQUEST_VALIDATION_FAILED"):
    """A block or request was refused; nothing was done."""

    id: str
    refusals: tuple[Refusal, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The request's id, if any."""
        return (self.id,) if self.id else ()

    @property
    def message(self) -> str:
        """The first refusal."""
        return first_of(self.refusals)


class OutputRefused(Event, frozen=True, tag="OUTPUT_REFUSED"):
    """A final answer lacks what its role needs."""

    refusals: tuple[Refusal, ...]

    @property
    def message(self) -> str:
        """The first refusal."""
        return first_of(self.refusals)


class ToolStatus(EventWithWords, frozen=True, tag="TOOL_STATUS"):
    """A request's tool and path so far, while its block arrives."""

    id: str
    status: str
    tool: str = msgspec.field(name="toolType")
    path: str
    status_message: str = msgspec.field(name="statusMessage")


class ToolBlock(Event, frozen=True, tag="TOOL_BLOCK"):
    """A complete block: its place in the text (-1: none, then ``content``), and passed, corrected or failed."""

    id: str
    tool: str = msgspec.field(name="toolType")
    path: str
    start: int
    end: int
    content: str
    passed: bool = msgspec.field(name="validationPassed")
    corrected: bool
    verdict: str

    @property
    def message(self) -> str:
        """The block's verdict."""
        return f"block {self.verdict}"


class BlockIgnored(Event, frozen=True, tag="BLOCK_IGNORED"):
    """A block that is no request, and why."""

    start: int
    end: int
    reason: str

    @property
    def message(self) -> str:
        """The reason."""
        return self.reason


class CorrectionEvent(Event, frozen=True, tag="CORRECTION"):
    """A block's correction was asked. ``why``: its answer was not taken; ``drift``: values it changed."""

    id: str
    before: str
    after: str
    taken: bool
    why: str
    drift: tuple[str, ...]
    usage: Usage

    @property
    def message(self) -> str:
        """Whether the correction was used."""
        return f"correction not taken: {self.why}" if self.why else "corrected by the model"


class FeedbackSent(EventWithWords, frozen=True, tag="FEEDBACK_SENT"):
    """The exact text that the model gets next, and its message (``None``: unreadable).

    ``codes``: kinds of failure; ``attempt`` of ``limit`` attempts are spent.
    """

    text: str
    reply: Message | None
    attempt: int
    limit: int
    codes: tuple[str, ...]


def first_of(refusals: tuple[Refusal, ...]) -> str:
    """Return the first refusal as one line."""
    return str(refusals[0]) if refusals else ""
