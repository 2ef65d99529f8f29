"""A session's findings as SARIF 2.1.0, with their history: how often, whether corrected, and who let them through.

``baselineState`` compares the end of the session with what the gate saw on the way: "new" is what is left,
"absent" what a later attempt no longer had. What a human approved in spite of a finding is a suppression with
the decision as its justification.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, cast

from rails.core import record_fields as d
from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass, field
from rails.core.events.record import Record
from rails.core.record_fields import Details
from rails.core.tool_request import Json
from rails.core.verdict import CheckRun, Finding, NotChecked, Severity, Verdict
from rails.gate.report.formats import sarif

_SEVERITIES: Final = ("error", "warning", "info")


@dataclass(slots=True)
class _Story:
    """A finding over a session: how often it was found, where first, whether it is left, who let it through."""

    finding: Finding
    record: int
    agent: str
    times: int = 0
    left: bool = True
    waived: str = ""


@dataclass(slots=True)
class _Walk:
    stories: dict[tuple[str, str, str], _Story] = field(default_factory=dict)
    missed: dict[tuple[str, str, str], NotChecked] = field(default_factory=dict)
    checks: dict[str, CheckRun] = field(default_factory=dict)
    judged: list[_Story] = field(default_factory=list)

    def verdict(self, record: Record) -> None:
        """Take in a verdict; what its agent had before and has no more is corrected."""
        found = [finding for finding in _findings(record.details) if finding.new]
        now = {(f.path, f.rule, f.message) for f in found}
        for key, story in self.stories.items():
            story.left = story.left and (key in now or story.agent != record.agent_role)
        self.judged = []
        for finding in found:
            key = finding.path, finding.rule, finding.message
            story = self.stories.setdefault(key, _Story(finding, record.seq, record.agent_role))
            story.finding, story.left, story.times = finding, True, story.times + 1
            self.judged.append(story)
        for miss in d.objects(record.details, "not_checked"):
            path, check, reason = (d.shortened(miss, key) for key in ("path", "check", "reason"))
            self.missed[path, check, reason] = NotChecked(path, check, reason, d.flag(miss, "required", True))
        for run in d.objects(record.details, "checks"):
            name = d.shortened(run, "name")
            self.checks[name] = CheckRun(name, d.shortened(run, "version"), d.number(run, "duration_ms"))

    def decision(self, record: Record) -> None:
        """Take in a decision: what was approved with findings is let through."""
        if d.text(record.details, "answer") == "approve":
            for story in self.judged:
                story.waived = record.message


def to_sarif(records: Sequence[Record]) -> str:
    """Return the session's findings as one SARIF document. The same records give the same text."""
    walk = _Walk()
    for record in records:
        if record.event_type == "GATE_VERDICT":
            walk.verdict(record)
        elif record.event_type == "HUMAN_DECISION":
            walk.decision(record)
    stories = list(walk.stories.values())
    verdict = Verdict(
        "fail" if any(story.left for story in stories) else "pass",
        ChangeSet(),
        tuple(story.finding for story in stories),
        (),
        tuple(walk.missed.values()),
        tuple(walk.checks.values()),
    )
    document = json.loads(sarif(verdict))
    run = document["runs"][0]
    if records:
        run["automationDetails"] = {"id": f"ai-rails/{records[0].session_id}"}
        run["invocations"][0] |= {"startTimeUtc": records[0].timestamp, "endTimeUtc": records[-1].timestamp}
    for result, story in zip(run["results"], stories, strict=True):
        result |= dict(_story(story))
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _story(story: _Story) -> Iterator[tuple[str, Json]]:
    yield "baselineState", "new" if story.left else "absent"
    yield "occurrenceCount", story.times
    # Without a decision to let it through, a change with a finding was never written.
    yield "properties", {"agent": story.agent, "firstRecord": story.record, "written": bool(story.waived)}
    if story.waived:
        yield "suppressions", [{"kind": "external", "status": "accepted", "justification": story.waived}]


def _findings(details: Details) -> Iterator[Finding]:
    for item in d.objects(details, "findings"):
        path, rule, message, tool, remedy, source = (
            d.shortened(item, key) for key in ("path", "rule", "message", "tool", "remedy", "source")
        )
        severity = d.text(item, "severity")
        line, column, end_line, end_column = (
            int(d.number(item, key)) for key in ("line", "column", "end_line", "end_column")
        )
        yield Finding(
            path,
            line,
            column,
            rule,
            message,
            tool,
            cast(Severity, severity) if severity in _SEVERITIES else "error",
            end_line,
            end_column,
            new=d.flag(item, "new", True),
            remedy=remedy,
            source=source,
        )
