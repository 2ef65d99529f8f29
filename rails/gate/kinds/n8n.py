"""n8n workflows: checked, repaired and drawn by n8n's own rules (``rails.n8n``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rails.core.text import plain_text
from rails.core.verdict import CheckRun, Finding, NotChecked
from rails.data_formats import positions
from rails.gate.kinds.data import json_findings, parse_json
from rails.gate.kinds.schemas import SchemaDocument, findings_of_schema
from rails.gate.support import settings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind, RuleTexts, text_to_check

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary
    from rails.core.changes import FileChange


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Check each workflow, before and after; with ``context.fix`` repair it."""
    from rails.n8n import plugin

    run = CheckRun("n8n", plugin.version(), 0, f"profile {context.profile}")
    return CheckReport.of_files(run, jobs, lambda job: _outcome(job, context))


def _outcome(job: CheckJob, context: CheckContext) -> CheckResult:
    from rails.n8n import plugin

    may_write = context.fix and not job.keep
    after, fixed = plugin.tidied_change(job.before, job.after, job.path) if may_write else (job.after, ())
    judged = CheckResult.of_look(replace(job, after=after), "n8n", partial(_look, context))
    unjudged = [NotChecked(job.path, "n8n parameters", why, required=False) for why in plugin.unjudged()]
    return replace(judged, fixed=fixed, not_checked=(*unjudged, *judged.not_checked))


def _look(context: CheckContext, path: str, data: bytes) -> Iterator[Finding | NotChecked]:
    """A workflow's own schema is ignored."""
    from rails.n8n import plugin

    if not _claims(path, data):
        yield from json_findings(context, path, data)
        return
    yield from plugin.check_workflow(data, path, context.profile)
    if any(settings.matches(path, entry.path) for entry in context.options.schemas):
        text = text_to_check(data)
        value, _ = parse_json(path, text)
        yield from findings_of_schema(SchemaDocument(path, text, value, partial(positions.in_json, text)), context)


def _claims(path: str, data: bytes) -> bool:
    if not path.lower().endswith(".json") or (b'"nodes"' not in data and b'"connections"' not in data):
        return False
    text = plain_text(data)
    if text is None:
        return False
    from rails.n8n import plugin

    value, _ = parse_json(path, text)
    return plugin.looks_like_workflow(value, path)


def _summary(change: FileChange) -> ChangeSummary | None:
    path = change.path.text
    if not path.lower().endswith(".json") or b'"nodes"' not in (change.after or change.before or b""):
        return None
    from rails.n8n import plugin

    return plugin.workflow_outline(change.before, change.after, path)


def _rules() -> RuleTexts:
    from rails.n8n import plugin

    return {rule.id: (rule.reason, rule.example) for rule in plugin.RULES.values()}


KIND = Kind("n8n", claims=_claims, place=80, summary=_summary, rules=_rules)
