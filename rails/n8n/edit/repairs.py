"""Repairs of what n8n would drop without a word, where exactly one form is valid: old names and old shapes.

Every repair keeps the meaning: an operator of n8n's own first version under its present name, conditions and fields in
the shape of the node's version. What has two readings, or a value that is no constant of the old form, is left alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from rails.core.tool_request import Json
from rails.n8n import model

_OURS: Final = uuid.UUID("6f2b7c1e-0c55-5b52-9c0e-8a3f1d1f6b90")
_CONDITIONS: Final = ("n8n-nodes-base.if", "n8n-nodes-base.filter")
#: What the first version of If and Filter calls an operation, and what filters call it: for all types, then by type.
_OPERATIONS: Final[Mapping[str, str]] = {
    "equal": "equals",
    "notEqual": "notEquals",
    "isEmpty": "empty",
    "isNotEmpty": "notEmpty",
}
_OF_TYPE: Final[Mapping[str, Mapping[str, str]]] = {
    "number": {"larger": "gt", "largerEqual": "gte", "smaller": "lt", "smallerEqual": "lte"},
    "string": {
        name: name
        for name in ("contains", "notContains", "startsWith", "notStartsWith", "endsWith", "notEndsWith", "regex")
    },
    "dateTime": {"after": "after", "before": "before"},
    "boolean": {},
}
#: The operation that an old condition has where it names none.
_DEFAULT: Final = {"string": "equal", "number": "smaller", "boolean": "equal", "dateTime": "after"}
_ONE_SIDED: Final = frozenset({"empty", "notEmpty"})
_SET: Final = "n8n-nodes-base.set"
_SET_TYPES: Final = ("string", "number", "boolean")


class WorkflowRepair(NamedTuple):
    """What was repaired in which node, in words."""

    node: str
    what: str


def repaired(workflow: Mapping[str, Json]) -> tuple[dict[str, Json], list[WorkflowRepair]]:
    """Return the workflow with what can be repaired, and what was done. Equal to ``workflow`` if nothing was."""
    nodes, made = workflow.get("nodes"), list[WorkflowRepair]()
    if not isinstance(nodes, list):
        return dict(workflow), made
    changed: dict[int, dict[str, Json]] = {}
    for node in model.build(workflow).nodes:
        parameters: dict[str, Json] = dict(node.parameters)
        for repair in _REPAIRS:
            parameters = _applied(repair(node, parameters), node, parameters, made)
        if parameters != node.parameters:
            changed[node.index] = {**node.raw, "parameters": parameters}
    return {**workflow, "nodes": [changed.get(index, node) for index, node in enumerate(nodes)]}, made


_Repaired = tuple[dict[str, Json], str] | None


def _applied(
    found: _Repaired, node: model.Node, parameters: dict[str, Json], made: list[WorkflowRepair]
) -> dict[str, Json]:
    if found is None:
        return parameters
    made.append(WorkflowRepair(node.name, found[1]))
    return found[0]


def _operators(node: model.Node, parameters: dict[str, Json]) -> _Repaired:
    """Operators of a filter that have their old name."""
    del node
    value = parameters.get("conditions")
    conditions = value.get("conditions") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(conditions, list):
        return None
    new = [_renamed(condition) for condition in conditions]
    if new == conditions:
        return None
    return {**parameters, "conditions": {**value, "conditions": list(new)}}, "operators under their present names"


def _renamed(condition: Json) -> Json:
    operator = condition.get("operator") if isinstance(condition, dict) else None
    if not isinstance(condition, dict) or not isinstance(operator, dict):
        return condition
    kind, old = operator.get("type"), operator.get("operation")
    name = _operation(kind, old) if isinstance(kind, str) and isinstance(old, str) else None
    if name is None or name == old:
        return condition
    single = {"singleValue": True} if name in _ONE_SIDED else {}
    return {**condition, "operator": {**operator, "operation": name, **single}}


def _operation(kind: str, old: str) -> str | None:
    """Return the present name of an operation of the first version."""
    if kind not in _OF_TYPE:
        return None
    return _OF_TYPE[kind].get(old) or _OPERATIONS.get(old)


def _old_conditions(node: model.Node, parameters: dict[str, Json]) -> _Repaired:
    """Conditions of If or Filter version 1 in a node of version 2."""
    value = parameters.get("conditions")
    if node.type not in _CONDITIONS or (node.version or 0) < 2 or not isinstance(value, dict) or not value:
        return None
    if set(value) - set(_DEFAULT):
        return None
    new = [_condition(node, kind, entry) for kind, entries in value.items() for entry in _entries(entries)]
    conditions = [one for one in new if one is not None]
    if not new or len(conditions) < len(new):
        return None
    rest = {name: one for name, one in parameters.items() if name not in {"conditions", "combineOperation"}}
    combined = parameters.get("combineOperation", parameters.get("combineConditions", "all"))
    if combined not in ("all", "any", "AND", "OR"):
        return None
    rest.pop("combineConditions", None)
    options: dict[str, Json] = {"caseSensitive": True, "leftValue": "", "typeValidation": "loose"}
    combinator = "or" if combined in ("any", "OR") else "and"
    made: dict[str, Json] = {"options": options, "conditions": list[Json](conditions), "combinator": combinator}
    return {**rest, "conditions": made}, "conditions in the shape of version 2"


def _entries(value: Json) -> Iterator[Json]:
    yield from value if isinstance(value, list) else [None]


def _condition(node: model.Node, kind: str, entry: Json) -> dict[str, Json] | None:
    if not isinstance(entry, dict) or set(entry) - {"value1", "operation", "value2"}:
        return None
    old = entry.get("operation", _DEFAULT[kind])
    name = _operation(kind, old) if isinstance(old, str) else None
    if name is None:
        return None
    operator: dict[str, Json] = {"type": kind, "operation": name}
    if name in _ONE_SIDED:
        operator["singleValue"] = True
    left, right = entry.get("value1", ""), entry.get("value2", "")
    key = str(uuid.uuid5(_OURS, f"{node.name}{kind}{left!r}{old}{right!r}"))
    return {"id": key, "leftValue": left, "rightValue": right, "operator": operator}


def _old_fields(node: model.Node, parameters: dict[str, Json]) -> _Repaired:
    """Fields of Set version 1 and 2 in a node of version 3.3 and later, where assignments hold them."""
    value = parameters.get("values")
    if node.type != _SET or (node.version or 0) < 3.3 or not isinstance(value, dict) or "assignments" in parameters:
        return None
    if not value or set(value) - set(_SET_TYPES) or "mode" in parameters:
        return None
    fields = [(kind, entry) for kind, entries in value.items() for entry in _entries(entries)]
    assignments: list[Json] = []
    for kind, entry in fields:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or set(entry) - {"name", "value"}:
            return None
        key = str(uuid.uuid5(_OURS, f"{node.name}{kind}{entry['name']}"))
        assignments.append({"id": key, "name": entry["name"], "type": kind, "value": entry.get("value", "")})
    rest = _kept_only(parameters)
    made: dict[str, Json] = {"assignments": assignments}
    return {**rest, "assignments": made}, "fields as assignments"


def _kept_only(parameters: Mapping[str, Any]) -> dict[str, Json]:
    """Return the other parameters; ``keepOnlySet`` of the old versions is ``includeOtherFields`` turned round."""
    rest = {name: one for name, one in parameters.items() if name not in {"values", "keepOnlySet"}}
    if parameters.get("keepOnlySet") is not True and "includeOtherFields" not in rest:
        rest["includeOtherFields"] = True
    return rest


_REPAIRS: Final[tuple[Callable[[model.Node, dict[str, Json]], _Repaired], ...]] = (
    _old_conditions,
    _operators,
    _old_fields,
)
