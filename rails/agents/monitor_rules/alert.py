"""What the overseer says: one alert, with the fields of the original AI-Rails."""

from __future__ import annotations

from typing import Literal

from rails.core.dataclass import dataclass
from rails.core.events import Record
from rails.core.text import one_line

Severity = Literal["INFO", "WARNING", "CRITICAL"]
IssueType = Literal["Boundary Violation", "Security Risk", "Quality Issue", "Other"]


@dataclass(frozen=True, slots=True)
class Alert:
    """One reason for a human to look. ``seq`` is the record that shows it; ``prompt`` may be sent to the agent."""

    severity: Severity
    agent: str
    timestamp: str
    issue_type: IssueType
    description: str
    evidence: str
    recommendation: str
    seq: int
    prompt: str = ""

    def text(self) -> str:
        """Return the alert in the form of the original AI-Rails."""
        lines = [
            "OVERSEER ALERT",
            f"Severity: {self.severity}",
            f"Agent: {self.agent}",
            f"Timestamp: {self.timestamp}",
            f"Issue Type: {self.issue_type}",
            f"Description: {self.description}",
            f"Evidence: {self.evidence} (record {self.seq})",
            f"Recommendation: {self.recommendation}",
        ]
        return "\n".join([*lines, f"Suggested interruption prompt: {self.prompt}"] if self.prompt else lines)


def alert(
    record: Record,
    severity: Severity,
    issue_type: IssueType,
    *,
    description: str,
    evidence: str,
    recommendation: str,
    prompt: str = "",
) -> Alert:
    """Return an alert about ``record``; its evidence is cut to a line."""
    return Alert(
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
