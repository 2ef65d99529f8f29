"""The failures of an agent's work, for its successor."""

from __future__ import annotations

from collections.abc import Iterator

from rails.core.errors import Refusal
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse, OutputRefused, ToolRequestValidationFailed
from rails.core.text import one_line


def failures_in(record: Record) -> Iterator[str]:
    """Yield a record's failures, a line each."""
    match record.event:
        case (
            ToolRequestValidationFailed(refusals=refusals)
            | ChangeRefused(refusals=refusals)
            | OutputRefused(refusals=refusals)
        ):
            yield from map(_refusal, refusals)
        case GateVerdict(verdict=verdict) if verdict.status == "fail":
            yield from (
                f"gate: {finding.path}: {finding.rule} {finding.message}" for finding in verdict.findings if finding.new
            )
        case HumanDecision(answer="deny", by=by, reason=reason):
            yield f"denied by {by}: {reason or 'without a reason'}"
        case ToolExecutionResult(ok=False, tool=tool, text=text):
            yield f"failed: {tool} {one_line(text, 300)}"
        case LlmResponse(stop_reason=stop, note=note) if stop in ("max_tokens", "cut"):
            yield f"cut: the answer ended before its end. {note}".strip()


def _refusal(refusal: Refusal) -> str:
    return f"{refusal.code}: {refusal.message} {refusal.hint}".strip()
