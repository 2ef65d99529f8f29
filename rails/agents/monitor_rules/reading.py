"""How the rules read records: tolerant of any form, because a log may be newer, older or damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rails.core.events import Record
from rails.core.tool_request import Json

#: An agent's conversation begins, for the first time or again.
AFRESH: Final = ("AGENT_ENGAGE", "ESCALATION")
#: How often something may happen before it is a habit.
REPEATS: Final = 3


def of(records: Sequence[Record], *types: str) -> Iterator[Record]:
    """Return the records of these types, in order."""
    return (record for record in records if record.event_type in types)


def refusals(record: Record) -> list[Mapping[str, Json]]:
    """Return the refusals that a record tells of."""
    value = record.details.get("refusals")
    return [refusal for refusal in value if isinstance(refusal, dict)] if isinstance(value, list) else []


def asked_of(record: Record) -> str:
    """Return a request as one text: its tool and its parameters."""
    return f"{record.details.get('tool_name')} {json.dumps(record.details.get('parameters'), sort_keys=True)}"


def texts_of(value: Json) -> Iterator[str]:
    """Yield every text in a value, and the texts of a list as one line too: a command may be a list of words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        items = list(value.values()) if isinstance(value, dict) else value
        words = [item for item in items if isinstance(item, str)]
        if isinstance(value, list) and len(words) > 1:
            yield " ".join(words)
        for item in items:
            yield from texts_of(item)
