"""The shape of values that are more than a text: filters, assignments, mapped columns, locators, groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from rails.n8n.nodes.operators import FILTER_OPERATIONS, ONE_SIDED
from rails.n8n.nodes.parameters import Level, Property

_FILTER: Final = (
    '{"combinator": "and", "conditions": [{"leftValue": "={{ $json.amount }}", "rightValue": 10, '
    '"operator": {"type": "number", "operation": "gt"}}]}; combinator "and" or "or"'
)
_ASSIGNMENTS: Final = (
    '{"assignments": [{"name": "total", "type": "number", "value": "={{ $json.a + 1 }}"}]}; '
    "type string, number, boolean, array, object or binary"
)
_MAPPER: Final = (
    '{"mappingMode": "defineBelow", "value": {"COLUMN": "={{ $json.a }}"}, "matchingColumns": ["COLUMN"], '
    '"schema": [{"id": "COLUMN", "displayName": "COLUMN", "type": "string", "required": false, "display": true, '
    '"canBeUsedToMatch": true}]}; or {"mappingMode": "autoMapInputData", "value": {}, "schema": []}'
)
#: Where there is no full catalogue: which shape the parameters of the nodes have that every workflow uses.
_KNOWN: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "n8n-nodes-base.filter": (("conditions", "filter"),),
    "n8n-nodes-base.if": (("conditions", "filter"),),
    "n8n-nodes-base.set": (("assignments", "assignmentCollection"),),
    "n8n-nodes-base.switch": (("rules.values[].conditions", "filter"),),
}
_VALUES: Final[Mapping[str, str]] = {"assignmentCollection": _ASSIGNMENTS, "filter": _FILTER, "resourceMapper": _MAPPER}
_STAND_INS: Final[Mapping[str, object]] = {
    "number": 0,
    "boolean": False,
    "multiOptions": [],
    "collection": {},
    "filter": {},
}


def known_shapes(node_type: str) -> Iterator[str]:
    """Yield the shapes that are known of a type without its description, and the operators."""
    for name, kind in _KNOWN.get(node_type, ()):
        yield f"  {name}: {_VALUES[kind]}"
        yield from _operators(kind)


def shapes(visible: list[Property]) -> Iterator[str]:
    """Yield a line for each parameter whose value has a shape of its own, and the operators of filters once."""
    for item in visible:
        value = _VALUES.get(item.type) or (_groups(item) if item.groups else "")
        if value:
            yield f"  {item.name}: {value}"
    kinds = {below.type for item in visible for level in item.levels for below in level.walk()}
    kinds |= {item.type for item in visible}
    for kind in ("filter", "assignmentCollection"):
        if kind in kinds and all(item.type != kind for item in visible):
            yield f"  {kind}: {_VALUES[kind]}"
    yield from _operators("filter" if "filter" in kinds else "")


def _operators(kind: str) -> Iterator[str]:
    if kind != "filter":
        return
    for name, operations in FILTER_OPERATIONS.items():
        yield f"  operations of {name}: {', '.join(operations)}"
    yield f'  add "singleValue": true to the operator for {", ".join(sorted(ONE_SIDED))}'


def _groups(item: Property) -> str:
    """Return a fixed collection with one entry of each group: "values" is a list only where several may stand."""
    made = {name: [_entry(level)] if item.multiple else _entry(level) for name, level in list(item.groups.items())[:4]}
    return json.dumps(made, ensure_ascii=False)


def _entry(level: Level) -> dict[str, object]:
    always = [one for one in level.properties if one.display is None and one.type not in {"notice", "callout"}]
    return {one.name: _example(one) for one in always[:6]}


def _example(item: Property) -> object:
    values = item.raw.get("values")
    if item.default not in (None, "", {}, []):
        return item.default
    return values[0] if values and item.type == "options" else _STAND_INS.get(item.type, "…")
