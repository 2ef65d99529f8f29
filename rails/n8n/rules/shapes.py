"""Values whose shape needs no catalogue: assignments, workflow ids, settings.

Anchor: the nodes' own code in n8n-nodes-base 2.41.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import SETTINGS_OF_NODES, Issue, JsonPath, Node, is_expression, json_kind, parameter_issue
from rails.n8n.nodes.catalogue import Description
from rails.n8n.rules import filters, json_texts, schedules
from rails.n8n.rules.required import type_fault

#: Settings that few nodes have among their parameters, at any level.
_RARELY_PARAMETERS: Final = {*SETTINGS_OF_NODES} - {"credentials", "disabled", "executeOnce", "notes"}
#: Of n8n's own types: their parameters (at the top) that are called as a setting.
_OWN_PARAMETERS: Final[Mapping[str, list[str]]] = FACTS["parameters_named_as_settings"]
#: Nodes that name a workflow, and the first version that reads the ``value`` of a locator.
_WORKFLOW_LOCATORS: Final[Mapping[str, float]] = FACTS["workflow_locators"]


def check(node: Node, kept: Mapping[str, Any] | None, description: Description | None) -> Iterator[Issue]:
    """Yield the issues of a node's values. ``kept``: what n8n keeps, ``description``: its type's, if known."""
    if node.disabled:
        return
    yield from filters.check(node, kept)
    yield from _assignments(node)
    yield from json_texts.check(node, {**node.parameters, **(kept or {})})
    yield from _workflow_id(node)
    yield from schedules.check(node)
    yield from _settings(node, description)


def misplaced_settings(node: Node, description: Description | None) -> list[str]:
    """Return the settings among the parameters of a type known to have no such parameters."""
    if description is None:
        return []
    own = {item["name"] for item in description.properties}
    own.update(_OWN_PARAMETERS.get(node.type, ()))
    return [name for name in SETTINGS_OF_NODES if name in node.parameters and name not in own]


def _settings(node: Node, description: Description | None) -> Iterator[Issue]:
    for name in misplaced_settings(node, description):
        yield parameter_issue(node, "N8N059", (name,), on_key=True, name=name)
    places: dict[JsonPath, Json] = {(): dict(node.parameters)}
    if description is not None:
        places = {(name,): value for name, value in node.parameters.items() if not description.is_full}
    for path, given in places.items():
        for name in given.keys() & _RARELY_PARAMETERS if isinstance(given, dict) else ():
            yield parameter_issue(node, "N8N059b", (*path, name), severity="warning", on_key=True, name=name)


def _assignments(node: Node) -> Iterator[Issue]:
    given = node.parameters.get("assignments")
    if node.type != "n8n-nodes-base.set" or (node.version or 3.3) < 3.3 or given is None or is_expression(given):
        return
    rows = given.get("assignments") if isinstance(given, dict) else given
    more = node.parameters.get("options")
    options = more if isinstance(more, dict) else {}
    if not isinstance(given, dict) or not isinstance(rows, list | None) or (given and "assignments" not in given):
        yield parameter_issue(node, "N8N055e", ("assignments",), kind=json_kind(rows))
        return
    for index, row in enumerate(rows or ()):
        place = ("assignments", "assignments", index)
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            yield parameter_issue(node, "N8N055f", place, index=index, kind=json_kind(row))
        elif type_fault(row.get("value"), str(row.get("type"))) and not options.get("ignoreConversionErrors"):
            yield parameter_issue(node, "N8N055g", (*place, "value"), index=index, row=row)


def _workflow_id(node: Node) -> Iterator[Issue]:
    since = _WORKFLOW_LOCATORS.get(node.type)
    value = node.parameters.get("workflowId")
    if since is None or (node.version or since) < since or not value or isinstance(value, dict):
        return
    if node.parameters.get("source", "database") == "database":
        severity: Severity = "warning" if is_expression(value) else "error"
        yield parameter_issue(node, "N8N056", ("workflowId",), severity=severity, kind=json_kind(value), value=value)
