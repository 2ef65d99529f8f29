"""Alerts about records, with the original AI-Rails' fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final, Literal

from rails.core.events.base import Event
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, Escalation, OverseerAlert
from rails.core.text import one_line, sha256
from rails.core.tool_request import RawRequest

#: What a rule says to a record and its event; it remembers what it needs of those before.
WatchRule = Callable[[Record, Event], Iterator[OverseerAlert]]

AlertSeverity = Literal["INFO", "WARNING", "CRITICAL"]
IssueType = Literal["Boundary Violation", "Security Risk", "Quality Issue", "Other"]


def alert_in_words(alert: OverseerAlert) -> str:
    """Return the alert in the original AI-Rails' form."""
    lines = [
        "OVERSEER ALERT",
        f"Severity: {alert.severity}",
        f"Agent: {alert.agent}",
        f"Timestamp: {alert.timestamp}",
        f"Issue Type: {alert.issue_type}",
        f"Description: {alert.description}",
        f"Evidence: {alert.evidence} (record {alert.seq})",
        f"Recommendation: {alert.recommendation}",
        *([f"Rule: {alert.rule}, {alert.mode} by your settings"] if alert.mode else []),
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
    """Return an alert about ``record``; evidence is cut to a line."""
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
AFRESH: Final = (AgentEngage, Escalation)
#: How often something may happen before it is a habit.
REPEATS: Final = 3
#: Characters of a request that are remembered.
_ASKED: Final = 300


def asked_of(request: RawRequest) -> str:
    """Return a request's tool and parameters as text; long ones as beginning and digest."""
    text = f"{request.tool_name} {json.dumps(request.parameters, sort_keys=True)}"
    return text if len(text) <= _ASKED else f"{text[:_ASKED]} {sha256(text.encode())}"
