"""The table of events, and a record of the session log: one JSON object on one line.

    v               format version, 1
    seq             1, 2, 3, … without a gap
    timestamp       UTC, ISO 8601 with microseconds and "Z"
    session_id      the session's folder name
    agent_role      or ""
    llm_model_used  or ""
    event_type      the type's name
    message         one line for a person
    details         facts for programs; form by event type
    prev            hash of the record before ("" for the first)
    hash            SHA-256 over prev, the header and the payload's hash (``rails.log.writer``)

Version 1 grows by adding keys and event types only. Readers ignore unknown keys and show unknown types as logged; a
type whose meaning changes gets a new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import msgspec

from rails.core.events import approval, changes, session, turn
from rails.core.events.base import Event, UnknownEvent, type_of
from rails.core.tool_request import Json

FORMAT_VERSION: Final = 1

#: The classes of events by their types: all that these modules define.
BY_TYPE: Final[Mapping[str, type[Event]]] = {
    type_of(kind): kind
    for module in (session, turn, changes, approval)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind.__struct_config__.tag
}
#: Written to disk before the work goes on; the others follow with the next of these.
DURABLE: Final = frozenset(
    (
        "APPROVAL_OPENED",
        "HUMAN_DECISION",
        "EXECUTION_STARTED",
        "TOOL_EXECUTION_RESULT",
        "CHECKPOINT",
        "UNDO",
        "WORKFLOW_START",
        "WORKFLOW_END",
        "ESCALATION",
        "HANDOFF",
        "HUMAN_STEERED",
        "CONTEXT_REDUCED",
        "LLM_RESPONSE",
        "FEEDBACK_SENT",
    )
)


def event_of(event_type: str, message: str, details: Mapping[str, Json]) -> Event:
    """Return a record's event. Never raises."""
    known = BY_TYPE.get(event_type)
    return known.from_json(message, details) if known else UnknownEvent(event_type, message, details)


class Record(msgspec.Struct, frozen=True, dict=True):
    """An event as logged. ``event_type`` may be a newer log's; ``details`` may have pointers (``rails.log.blobs``)."""

    seq: int
    timestamp: str
    session_id: str
    agent_role: str
    llm_model_used: str
    event_type: str
    message: str
    details: Mapping[str, Json]
    prev: str
    hash: str
    v: int = FORMAT_VERSION

    @property
    def kind(self) -> type[Event]:
        """The event's class, without reading it."""
        return BY_TYPE.get(self.event_type, UnknownEvent)

    @cached_property
    def event(self) -> Event:
        """The event, read on first use."""
        return event_of(self.event_type, self.message, self.details)
