"""Filters of If, Filter and Switch, and lookalikes in any node.

Anchors: n8n-workflow 2.41, ``executeFilter``, ``getNodeParameters`` (fills ``options`` and ``combinator`` since 2.x).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n.model import Issue, JsonPath, Names, Node, is_expression, json_kind, parameter_issue
from rails.n8n.nodes.given import FILTER_OPERATIONS, filters_in
from rails.n8n.rules.parameters import is_kept

#: Nodes that have filters, and the first version that has.
_FILTERS: Final = {"n8n-nodes-base.if": 2.0, "n8n-nodes-base.filter": 2.0, "n8n-nodes-base.switch": 3.0}
#: Groups of conditions before there were filters (If and Filter, version 1).
_OLD_FILTER: Final = ("string", "number", "boolean", "dateTime")


def check(node: Node, kept: Mapping[str, Any] | None) -> Iterator[Issue]:
    """Yield the issues of a node's filters. ``kept``: what n8n keeps, if known."""
    for path, value in _filters(node).items():
        if kept is None or not value or is_kept(kept, path):
            yield from _filter(node, path, value)


def _filters(node: Node) -> dict[JsonPath, Json]:
    found: dict[JsonPath, Json] = {path: value for path, value in filters_in(dict(node.parameters)) if path}
    since = _FILTERS.get(node.type)
    rules = node.parameters.get("rules")
    if since is None or (node.version or since) < since:
        return found
    if not node.type.endswith("switch"):
        found["conditions",] = node.parameters.get("conditions", {})
    if not isinstance(rules, dict):
        return found
    if "rules" in rules:
        found["rules", "rules"] = rules["rules"]
    rows = rules.get("values")
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        place = ("rules", "values", index)
        if isinstance(row, dict):
            found[*place, "conditions"] = row.get("conditions", {})
        else:
            found[place] = row
    return found


def _filter(node: Node, path: JsonPath, value: Json) -> Iterator[Issue]:
    name = path[-1]
    if not isinstance(value, dict):
        if value not in (None, "") and not is_expression(value):
            text = "N8N055j" if name == "rules" else "N8N055b"
            yield parameter_issue(node, text, path, name=name, kind=json_kind(value))
        return
    old = [kind for kind in _OLD_FILTER if isinstance(value.get(kind), list)]
    if value.get("conditions") is None and old:
        yield parameter_issue(node, "N8N055c", (*path, old[0]), name=name, old=old[0])
    elif "conditions" in value:
        yield from _conditions(node, (*path, "conditions"), value["conditions"])
        yield from _around(node, path, value)
    elif node.type in _FILTERS:
        yield parameter_issue(node, "N8N057", path, severity="warning", name=name)


def _conditions(node: Node, path: JsonPath, conditions: Json) -> Iterator[Issue]:
    if not isinstance(conditions, list):
        if not is_expression(conditions):
            yield parameter_issue(node, "N8N055d", path, kind=json_kind(conditions))
        return
    for index, condition in enumerate(conditions):
        place = (*path, index)
        operator: Any = condition.get("operator") if isinstance(condition, dict) else None
        if not isinstance(condition, dict):
            yield parameter_issue(node, "N8N057b", place, index=index, kind=json_kind(condition))
        elif not isinstance(operator, dict):
            yield parameter_issue(node, "N8N057c", (*place, "operator"), index=index)
        else:
            if "leftValue" not in condition:
                yield parameter_issue(node, "N8N057d", place, severity="warning", index=index)
            yield from _operator(node, (*place, "operator"), operator)


def _operator(node: Node, path: JsonPath, operator: Mapping[str, Any]) -> Iterator[Issue]:
    kind = operator.get("type")
    operation = operator.get("operation")
    if not isinstance(kind, str) or kind not in FILTER_OPERATIONS:
        yield parameter_issue(node, "N8N057e", (*path, "type"), kind=kind, kinds=FILTER_OPERATIONS)
    elif operation not in FILTER_OPERATIONS[kind]:
        remedy = Names(FILTER_OPERATIONS[kind]).hint(str(operation), f"operations of {kind}")
        yield parameter_issue(node, "N8N057f", (*path, "operation"), kind=kind, operation=operation, remedy=remedy)


def _around(node: Node, path: JsonPath, value: Mapping[str, Json]) -> Iterator[Issue]:
    combinator = value.get("combinator")
    if combinator is not None and combinator not in ("and", "or") and not is_expression(combinator):
        yield parameter_issue(node, "N8N057g", (*path, "combinator"), combinator=combinator)
    missing = [name for name in ("combinator", "options") if value.get(name) is None]
    if missing:
        yield parameter_issue(node, "N8N057h", path, severity="warning", missing="` and no `".join(missing))
