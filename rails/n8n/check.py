"""n8n workflows: a pass means that n8n imports, opens and runs the file.

n8n's own structural validator comes first, then ``rules`` judge the sound part (``model``). Never raises on any JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final

from msgspec.structs import replace

from rails.core.errors import UsageError
from rails.core.text import line_column
from rails.core.tool_request import Json
from rails.core.verdict import Finding, Severity
from rails.data_formats import positions
from rails.data_formats.positions import JsonSpan
from rails.n8n import json_file, model
from rails.n8n.json_file import Unreadable, WorkflowFile
from rails.n8n.model import Issue, JsonPath, format_path, shown_value
from rails.n8n.nodes import catalogue, ports
from rails.n8n.nodes.catalogue import Catalogue
from rails.n8n.rules import (
    code,
    connections,
    destination,
    expressions,
    graph,
    node_types,
    parameters,
    secrets,
    shapes,
    structure,
    triggers,
)
from rails.n8n.rules.destination import PROFILES

TOOL: Final = "n8n"

_Span = tuple[int, int, int, int]


def at_offset(read: Unreadable, path: str) -> Finding:
    """Return an unreadable file's finding."""
    return _finding(read.issue, path, (*line_column(read.text, read.offset), 0, 0))


def placed_findings(read: WorkflowFile, path: str, issues: Iterable[Issue]) -> Iterator[Finding]:
    """Yield a finding for each issue and repeated key; about something missing, at its nearest parent's first
    character.
    """
    anchors = [(issue, _existing(read.value, issue.path)) for issue in issues]
    repeated = list(positions.repeated_keys(read.text)) if read.repeated_keys else []
    if not anchors and not repeated:
        return
    lines = positions.LineIndex(read.text)
    wanted = {anchor for _, anchor in anchors if anchor}
    places = positions.locate_values(read.text, wanted)
    top = len(read.text) - len(read.text.lstrip())
    places[()] = JsonSpan(top, top + 1, top, top + 1)
    for issue, anchor in anchors:
        start, end = _span(read.text, places, issue, anchor)
        yield _finding(issue, path, (*lines.at(start), *lines.at(end)))
    for again in repeated:
        key = shown_value(again.path[-1])
        message = f"The key {key} occurs twice in one object: n8n keeps the last and drops what is before"
        issue = Issue("N8N003", again.path, message, "Merge the two, or rename one.")
        yield _finding(issue, path, (*lines.at(again.start), *lines.at(again.end)))


def _existing(value: Json, path: JsonPath) -> JsonPath:
    for length, part in enumerate(path):
        if isinstance(value, dict):
            if not isinstance(part, str) or part not in value:
                return path[:length]
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return path[:length]
    return path


def _span(text: str, places: Mapping[JsonPath, JsonSpan], issue: Issue, anchor: JsonPath) -> tuple[int, int]:
    place = places.get(anchor, places[()])
    if anchor != issue.path:
        return place.start, place.start + 1
    if issue.start >= 0:
        return positions.offset_inside(text, place, issue.start), positions.offset_inside(
            text, place, max(issue.end, issue.start)
        )
    return (place.key_start, place.key_end) if issue.on_key else (place.start, place.end)


def _finding(issue: Issue, path: str, span: _Span) -> Finding:
    code = f" ({issue.code})" if issue.code else ""
    return Finding(
        path=path,
        line=span[0],
        column=span[1],
        rule=issue.rule,
        message=f"{issue.message}{code}",
        tool=TOOL,
        severity=issue.severity,
        end_line=span[2],
        end_column=span[3],
        remedy=issue.remedy,
        json_path=format_path(issue.path),
    )


def check_workflow(
    data: bytes,
    path: str,
    profile: str = "import",
    *,
    known: Catalogue | None = None,
) -> Iterable[Finding]:
    """Return a workflow file's findings, in order of place.

    ``profile``: one or several of ``PROFILES``, with commas; the strictest wins. ``known``: the catalogue (default: the
    user's, else what ships). Lines and columns count from 1, in characters. Raises UsageError for an unknown profile.
    """
    profiles = frozenset(profile.split(","))
    for unknown in profiles.difference(PROFILES):
        raise UsageError(f"Unknown n8n profile {unknown!r}: use one of {', '.join(PROFILES)}.")
    read = json_file.read_workflow_file(data)
    if isinstance(read, json_file.Unreadable):
        return [at_offset(read, path)]
    known = known or catalogue.current()
    issues = dict.fromkeys(destination.weigh(_issues(read.value, profiles, known), profiles))
    placed = placed_findings(read, path, issues)
    return sorted(placed, key=lambda finding: (finding.line, finding.column))


def version() -> str:
    """Return the n8n version judged by: "2.30.7", or "2.30 names only"."""
    known = catalogue.current()
    return known.n8n if known.is_full else f"{known.n8n} names only"


def unjudged() -> tuple[str, ...]:
    """Return what cannot be judged here, and why."""
    if catalogue.current().is_full:
        return ()
    return ("there is no catalogue of your own n8n's nodes (see `ai-rails n8n catalogue`)",)


def _issues(value: Json, profiles: Set[str], known: Catalogue) -> Iterator[Issue]:
    if not isinstance(value, list):
        yield from _workflow_issues(value, profiles, known)
        return
    if not value:
        yield from structure.validate_structure(value)
    for index, item in enumerate(value):
        for issue in _workflow_issues(item, profiles, known):
            yield replace(issue, path=(index, *issue.path))


def _workflow_issues(value: Json, profiles: Set[str], known: Catalogue) -> Iterator[Issue]:
    broken = list(structure.validate_structure(value))
    yield from broken
    if not isinstance(value, dict):
        return
    yield from destination.check(value, profiles)
    workflow = model.build(value)
    stuck: Severity = "error" if "publish" in profiles and not triggers.has_webhook(workflow, known) else "warning"
    yield from graph.check(workflow, whole=not broken, stuck=stuck)
    yield from node_types.check(workflow, known)
    held, issues = _parameters(workflow, known)
    yield from issues
    yield from connections.check(workflow, known, held)
    yield from triggers.check(workflow, known, held, publishes=not profiles.isdisjoint({"publish", "strict"}))
    run = [*expressions.check(workflow, held, whole=not broken), *code.check(workflow)]
    yield from _as_they_run(run, graph.never_runs(workflow) if not broken else set())
    for node in workflow.nodes:
        yield from shapes.check(node, held.get(node.index), known.describe(node.type, node.version))
        yield from secrets.check(node)


def _parameters(workflow: model.Workflow, known: Catalogue) -> tuple[dict[int, Mapping[str, Any]], list[Issue]]:
    held: dict[int, Mapping[str, Any]] = {}
    issues: list[Issue] = []
    for node in workflow.nodes:
        description = known.describe(node.type, node.version)
        if description is not None and not description.is_full:
            held[node.index] = ports.with_defaults(node.type, node.parameters)
        elif description is not None:
            values, found = parameters.check(node, description)
            issues += found
            if values is not None:
                held[node.index] = values
    return held, issues


def _as_they_run(issues: Iterable[Issue], never: set[int]) -> Iterator[Issue]:
    """Lower the errors of code that never runs: n8n accepts it."""
    for issue in issues:
        idle = issue.severity == "error" and len(issue.path) > 1 and issue.path[1] in never
        yield replace(issue, severity="warning") if idle else issue
