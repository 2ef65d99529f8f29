"""The result of reading an answer: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from rails.core.errors import Refusal
from rails.core.similarity import likeness
from rails.core.tool_request import Json, RawRequest

#: Tool name (or alias) to the JSON Schema of its parameters. Every name a model may use is a key.
ToolSchemas: TypeAlias = Mapping[str, Mapping[str, Json]]


_NAMED: Final = 20


def own_names(tools: ToolSchemas, wanted: str) -> str:
    """Return tools' names, not aliases, in words, those most like ``wanted`` first."""
    first: dict[int, str] = {}
    for name, schema in tools.items():
        first.setdefault(id(schema), name)
    names = sorted(first.values(), key=lambda name: (-likeness(name, wanted), name))
    return ", ".join(names[:_NAMED]) or "none"


class Ignored(Struct, frozen=True):
    """A block that is no request, and why."""

    start: int
    end: int
    reason: str


class CallStarted(NamedTuple):
    """An unfinished request, its block at ``offset``; its tool and path ("": none) are known."""

    id: str
    tool_name: str
    path: str
    offset: int


class CallFound(NamedTuple):
    """A complete block's outcome. Sent once a block, in order."""

    id: str
    outcome: RawRequest | Refusal


class CallWithdrawn(NamedTuple):
    """A found call that a later closing mark made part of a thought."""

    id: str


ParseEvent: TypeAlias = CallStarted | CallFound | CallWithdrawn


class ParsedAnswer(Struct, frozen=True):
    """Everything found in one answer.

    ``requests`` and ``refusals`` are in order; their ids order both together. ``prose`` is the rest of the text.
    ``native_ids``: id of a native call's outcome to the provider's; ``blocks``: id of every other outcome to its
    block's offsets (a refusal's own are the fault's). ``late``: signals that needed the end; they follow those of
    ``feed``.
    """

    requests: tuple[RawRequest, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    prose: str = ""
    native_ids: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    late: tuple[ParseEvent, ...] = ()
