"""An older version's parameters, converted to the node's version.

The meaning stays: what has two readings, or is no constant, is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.facts import FACTS
from rails.n8n.nodes.given import filters_in
from rails.n8n.repair import operators

_CONDITIONS: Final = ("n8n-nodes-base.if", "n8n-nodes-base.filter")
#: The operation that an old condition has where it names none.
_DEFAULT: Final = {"string": "equal", "number": "smaller", "boolean": "equal", "dateTime": "after"}
#: The old operations of each type; the other names that are understood are no constants of the old form.
_OLD: Final[Mapping[str, list[str]]] = FACTS["old_operations"]
_SET: Final = "n8n-nodes-base.set"
_SET_TYPES: Final = ("string", "number", "boolean")
_HTTP: Final = "n8n-nodes-base.httpRequest"

Repaired = tuple[dict[str, Json], str] | None


def repairs(node: model.Node, parameters: dict[str, Json]) -> Iterator[tuple[dict[str, Json], str]]:
    """Yield parameters in present shape, and what was done, for each old one."""
    for repair in _REPAIRS:
        found = repair(node, parameters)
        if found is not None:
            yield found


def _operators(_: model.Node, parameters: dict[str, Json]) -> Repaired:
    for path, value in filters_in(parameters):
        sound = operators.sound_filter(value)
        if sound != value:
            what = "operators under their present names" if _differ(value, sound) else "a filter with all its parts"
            return _with(parameters, path, sound), what
    return None


def _differ(value: Mapping[str, Json], sound: Mapping[str, Json]) -> bool:
    return isinstance(value.get("conditions"), list) and value["conditions"] != sound["conditions"]


def _with(value: Any, path: tuple[str | int, ...], new: Json) -> Any:  # noqa: ANN401
    if not path:
        return new
    if isinstance(value, list):
        return [_with(one, path[1:], new) if index == path[0] else one for index, one in enumerate(value)]
    return {**value, path[0]: _with(value[path[0]], path[1:], new)}


def _old_conditions(node: model.Node, parameters: dict[str, Json]) -> Repaired:
    value = parameters.get("conditions")
    if node.type not in _CONDITIONS or (node.version or 0) < 2 or not isinstance(value, dict) or not value:
        return None
    if set(value) - set(_DEFAULT):
        return None
    rows = [(kind, entry) for kind, entries in value.items() for entry in _entries(entries)]
    conditions = [_condition(node, kind, entry) for kind, entry in rows]
    rest = {name: one for name, one in parameters.items() if name not in {"conditions", "combineOperation"}}
    combined = parameters.get("combineOperation", rest.pop("combineConditions", "all"))
    if not rows or combined not in ("all", "any", "AND", "OR"):
        return None
    made = _filter(conditions, "or" if combined in ("any", "OR") else "and")
    return None if made is None else ({**rest, "conditions": made}, "conditions in the shape of version 2")


def _filter(conditions: list[dict[str, Json] | None], combinator: str) -> dict[str, Json] | None:
    whole = [one for one in conditions if one is not None]
    options: dict[str, Json] = {"caseSensitive": True, "leftValue": "", "typeValidation": "loose"}
    if len(whole) < len(conditions):
        return None
    return {"options": options, "conditions": list[Json](whole), "combinator": combinator}


def _entries(value: Json) -> Iterator[Json]:
    yield from value if isinstance(value, list) else [None]


def _condition(node: model.Node, kind: str, entry: Json) -> dict[str, Json] | None:
    if not isinstance(entry, dict) or set(entry) - {"value1", "operation", "value2"}:
        return None
    old = entry.get("operation", _DEFAULT[kind])
    found = operators.operator(kind, old) if isinstance(old, str) and old in _OLD[kind] else None
    if found is None:
        return None
    left = entry.get("value1", "")
    right = entry.get("value2", "")
    key = model.own_id(f"{node.name}{kind}{left!r}{old}{right!r}")
    return {"id": key, "leftValue": left, "rightValue": right, "operator": found}


def _old_fields(node: model.Node, parameters: dict[str, Json]) -> Repaired:
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
        key = model.own_id(f"{node.name}{kind}{entry['name']}")
        assignments.append({"id": key, "name": entry["name"], "type": kind, "value": entry.get("value", "")})
    rest = _kept_only(parameters)
    made: dict[str, Json] = {"assignments": assignments}
    return {**rest, "assignments": made}, "fields as assignments"


def _kept_only(parameters: Mapping[str, Any]) -> dict[str, Json]:
    """Return the rest; ``keepOnlySet`` negates ``includeOtherFields``."""
    rest = {name: one for name, one in parameters.items() if name not in {"values", "keepOnlySet"}}
    if parameters.get("keepOnlySet") is not True and "includeOtherFields" not in rest:
        rest["includeOtherFields"] = True
    return rest


def _old_method(node: model.Node, parameters: dict[str, Json]) -> Repaired:
    old, new = ("requestMethod", "method") if (node.version or 3) >= 3 else ("method", "requestMethod")
    if node.type != _HTTP or old not in parameters or new in parameters:
        return None
    return {new if name == old else name: one for name, one in parameters.items()}, f"`{old}` as `{new}`"


_REPAIRS: Final[tuple[Callable[[model.Node, dict[str, Json]], Repaired], ...]] = (
    _old_conditions,
    _operators,
    _old_fields,
    _old_method,
)
