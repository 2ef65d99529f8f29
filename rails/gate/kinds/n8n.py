"""n8n workflows: JSON that n8n's own rules judge, repair and draw. What is known of n8n is in ``rails.n8n``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rails.core.errors import FAULT
from rails.core.text import one_line, plain_text
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.gate.kinds.data import Missing, json_findings, parse_json, schema_findings
from rails.gate.kinds.n8n_files import WorkflowFiles
from rails.gate.support import settings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult
from rails.gate.support.kind import Kind, RuleTexts

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary
    from rails.core.changes import FileChange


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Judge each workflow, before and after, and with ``context.fix`` repair it."""
    from rails.n8n import plugin

    start = time.perf_counter()
    around = WorkflowFiles(jobs, context)
    outcomes = tuple(_outcome(job, context, around) for job in jobs)
    spent = round((time.perf_counter() - start) * 1000, 2)
    return CheckReport(outcomes, (CheckRun("n8n", plugin.version(), spent, f"profile {context.profile}", len(jobs)),))


def _outcome(job: CheckJob, context: CheckContext, around: WorkflowFiles) -> CheckResult:
    from rails.n8n import plugin

    after, fixed = _tidied(job) if context.fix else (job.after, ())
    found, missing = _findings(job.path, after, context, around)
    before, _ = _findings(job.path, job.before, context, around) if job.before is not None else ((), None)
    not_checked = [NotChecked(job.path, "n8n parameters", why, required=False) for why in plugin.unjudged()]
    if missing is not None:
        not_checked.append(NotChecked(job.path, missing.check, missing.reason, missing.required))
    return CheckResult(job.path, after, tuple(found), tuple(before), fixed=fixed, not_checked=tuple(not_checked))


def _tidied(job: CheckJob) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return a workflow repaired, in n8n's own form, with what is missing filled in, and what was done.

    An older file of another form is left as it is: a small edit must not become a change of every line.
    """
    from rails.n8n import plugin

    if job.before is not None and plugin.canonical(job.before) != job.before:
        return job.after, ()
    return plugin.tidied(job.after, job.path, plugin.current_catalogue())


def _findings(
    path: str, data: bytes, context: CheckContext, around: WorkflowFiles
) -> tuple[Sequence[Finding], Missing | None]:
    """Return what n8n's rules and the user's own schema find; what is no workflow is judged as JSON.

    A schema that the workflow itself names is not looked at.
    """
    from rails.n8n import plugin

    text = plain_text(data)
    if text is None or not _claims(path, data):
        return json_findings(path, data, context)
    findings = list(plugin.check_workflow(data, path, context.profile, around=around.around(path)))
    if not any(settings.matches(path, pattern) for entry in context.options.schemas for pattern in entry.path):
        return findings, None
    more, missing = schema_findings(path, text, context)
    return [*findings, *more], missing


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
    """Return the outline of a change of a workflow; None where neither side is one."""
    path = change.path.text
    if not path.lower().endswith(".json") or b'"nodes"' not in (change.after or change.before or b""):
        return None
    from rails.core.change_summary import ChangeSummary
    from rails.n8n import plugin

    try:
        return plugin.workflow_summary(change.before, change.after, path)
    except FAULT as error:  # what only helps to read must not keep the verdict from anybody
        words = f"no outline could be made: {type(error).__name__}: {one_line(str(error))}"
        return ChangeSummary(path, words, ())


def _rules() -> RuleTexts:
    from rails.n8n import plugin

    return {rule.id: (rule.reason, rule.example) for rule in plugin.RULES.values()}


KIND = Kind("n8n", claims=_claims, place=80, summary=_summary, rules=_rules)
