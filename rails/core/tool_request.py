"""A tool request: as found (``RawRequest``, untrusted), and as validated (``ToolRequest``), which alone can run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from rails.core.changes import ChangeSet

#: A JSON value as Python holds it. The one place where "anything JSON" is named.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


#: In this order: a boolean is an integer to Python.
_JSON_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    Mapping: "object",
}


def json_type(value: object) -> str:
    """Return JSON's type name; "integer" is not "number"."""
    return next((name for kind, name in _JSON_TYPES.items() if isinstance(value, kind)), "array")


#: Names of parameters that name a file, the first choice first.
PATH_KEYS: Final = ("file_path", "path", "filePath", "filename", "file")
#: What running a tool can do: look, change files of the project, or execute something.
Effect = Literal["read", "edit", "run"]


class Repair(Struct, frozen=True):
    """A syntax repair of a block: kind, place, text before and after."""

    name: str
    offset: int
    before: str
    after: str
    confidence: float = 1.0


#: What few requests (the lines above a change) and few refusals (what a schema wants) say: left out where it is empty.
SELDOM: Final = ("below", "expected", "received")


class RawRequest(Struct, frozen=True):
    """One tool request found in an answer.

    ``dialect`` is the wire format ("s0", "s1", "s2", "s4", "native", …). ``start`` and ``end`` are character offsets
    into the answer, fences included (``-1``: native). ``raw`` is the block's text, ``id`` unique in the session.
    ``below``: lines that a patch names above its change, outer first.
    """

    id: str
    tool_name: str
    parameters: Mapping[str, Json]
    explanation: str = ""
    dialect: str = ""
    start: int = -1
    end: int = -1
    repairs: tuple[Repair, ...] = ()
    raw: str = ""
    below: tuple[str, ...] = ()


class ToolRequest(Struct, frozen=True):
    """A request that satisfies its tool's definition. Made only by ``rails.tools.validate``.

    ``parameters`` have the definition's names. ``coerced``: conversions ("edits: text to array"). ``asks``: a human
    must agree; ``definition_digest`` binds that to the definition file.
    """

    id: str
    tool_name: str
    parameters: Mapping[str, Json]
    explanation: str
    effect: Effect
    asks: bool
    definition_digest: str
    agent: str
    coerced: tuple[str, ...] = ()
    raw: RawRequest | None = None


class ToolResult(Struct, frozen=True):
    """A tool's text for the model, success, duration."""

    ok: bool
    text: str
    duration_ms: float = 0.0
    #: Facts for the log (exit code, status, files), never secrets.
    facts: Mapping[str, Json] = field(default_factory=dict)
    #: What a contained command changed, to be judged and asked about; nothing of it is in the project yet.
    changes: ChangeSet = field(default_factory=ChangeSet)
