"""What intake gives back: plain values, so that a turn, a screen and a test can all look at them."""

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
    """Return the names of tools in words, without their aliases, those most like ``wanted`` first."""
    first: dict[int, str] = {}
    for name, schema in tools.items():
        first.setdefault(id(schema), name)
    names = sorted(first.values(), key=lambda name: (-likeness(name, wanted), name))
    return ", ".join(names[:_NAMED]) or "none"


class Ignored(Struct, frozen=True):
    """A block that is not a request: where it is, and why it was left alone."""

    start: int
    end: int
    reason: str


class CallStarted(NamedTuple):
    """A request is being written: its tool and path are known, the rest may still be coming.

    ``path`` is empty for a tool without a path. ``offset`` is where its block starts.
    """

    id: str
    tool_name: str
    path: str
    offset: int


class CallFound(NamedTuple):
    """A block is complete and this is what it is. Sent once for each block, in order."""

    id: str
    outcome: RawRequest | Refusal


class CallWithdrawn(NamedTuple):
    """What was found turned out to be quoted: a closing mark that came later made it part of a thought."""

    id: str


ParseEvent: TypeAlias = CallStarted | CallFound | CallWithdrawn


class ParsedAnswer(Struct, frozen=True):
    """Everything found in one answer.

    ``requests`` and ``refusals`` are each in order of appearance; their ids (``id`` and
    ``request_id``) give the order of both together. ``prose`` is the text without the blocks of
    requests and refusals. ``native_ids`` maps the id of a native call's outcome to the provider's id;
    ``blocks`` maps the id of every other outcome to the offsets of its whole block (a refusal's own
    ``start`` and ``end`` are the exact place of the fault).
    ``late`` are the signals that only the end of the answer allowed; they follow those of ``Reader.feed``.
    """

    requests: tuple[RawRequest, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    prose: str = ""
    native_ids: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    late: tuple[ParseEvent, ...] = ()
