"""What the overseer says: alerts about records, with the fields of the original AI-Rails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from rails.core.events.record import Record
from rails.core.events.session import OverseerAlert
from rails.core.text import one_line
from rails.core.tool_request import Json

AlertSeverity = Literal["INFO", "WARNING", "CRITICAL"]
IssueType = Literal["Boundary Violation", "Security Risk", "Quality Issue", "Other"]


def alert_in_words(alert: OverseerAlert) -> str:
    """Return the alert in the form of the original AI-Rails."""
    lines = [
        "OVERSEER ALERT",
        f"Severity: {alert.severity}",
        f"Agent: {alert.agent}",
        f"Timestamp: {alert.timestamp}",
        f"Issue Type: {alert.issue_type}",
        f"Description: {alert.description}",
        f"Evidence: {alert.evidence} (record {alert.seq})",
        f"Recommendation: {alert.recommendation}",
    ]
    return "\n".join([*lines, f"Suggested interruption prompt: {alert.prompt}"] if alert.prompt else lines)


def alert(
    record: Record,
    severity: AlertSeverity,
    issue_type: IssueType,
    *,
    description: str,
    evidence: str,
    recommendation: str,
    prompt: str = "",
) -> OverseerAlert:
    """Return an alert about ``record``; its evidence is cut to a line."""
    return OverseerAlert(
        severity,
        record.agent_role,
        record.timestamp,
        issue_type,
        description,
        one_line(evidence, 200),
        recommendation,
        record.seq,
        prompt,
    )


#: An agent's conversation begins, for the first time or again.
AFRESH: Final = ("AGENT_ENGAGE", "ESCALATION")
#: How often something may happen before it is a habit.
REPEATS: Final = 3


def records_of_type(records: Sequence[Record], *types: str) -> Iterator[Record]:
    """Return the records of these types, in order."""
    return (record for record in records if record.event_type in types)


def refusals(record: Record) -> list[Mapping[str, Json]]:
    """Return the refusals that a record holds."""
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
