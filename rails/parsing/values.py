"""What reading an answer returns: plain values."""

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
    """Return tools' names in words, without aliases, those most like ``wanted`` first."""
    first: dict[int, str] = {}
    for name, schema in tools.items():
        first.setdefault(id(schema), name)
    names = sorted(first.values(), key=lambda name: (-likeness(name, wanted), name))
    return ", ".join(names[:_NAMED]) or "none"


class Ignored(Struct, frozen=True):
    """A block that is no request: where it is, and why it was ignored."""

    start: int
    end: int
    reason: str


class CallStarted(NamedTuple):
    """An unfinished request whose tool and path are known.

    ``path`` is empty for a tool without one. Its block starts at ``offset``.
    """

    id: str
    tool_name: str
    path: str
    offset: int


class CallFound(NamedTuple):
    """A complete block's outcome. Sent once for each block, in order."""

    id: str
    outcome: RawRequest | Refusal


class CallWithdrawn(NamedTuple):
    """A found call that turned out to be quoted: a later closing mark made it part of a thought."""

    id: str


ParseEvent: TypeAlias = CallStarted | CallFound | CallWithdrawn


class ParsedAnswer(Struct, frozen=True):
    """Everything found in one answer.

    ``requests`` and ``refusals`` are in order of appearance; their ids (``id``, ``request_id``) order both together.
    ``prose`` is the text without their blocks. ``native_ids`` maps the id of a native call's outcome to the provider's;
    ``blocks`` maps every other outcome's id to the offsets of its whole block (a refusal's ``start`` and ``end`` are
    those of the fault). ``late``: signals that needed the answer's end; they follow those of ``AnswerParser.feed``.
    """

    requests: tuple[RawRequest, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    prose: str = ""
    native_ids: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    late: tuple[ParseEvent, ...] = ()
