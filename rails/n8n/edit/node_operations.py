"""Operations on what a node is besides its parameters (settings, type, copies), and on the workflow itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.edit.workflow_parts import CannotError, check_free, node_named, text_of
from rails.n8n.model import ON_ERROR, Names, listed, shown_value
from rails.n8n.values import is_numeric

#: How far below the original a copy is put.
_BELOW: Final = 240


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


#: What ``set_node`` may set, how a value is recognised, and what one looks like.
_NODE_VALUES: Final[Mapping[str, tuple[Callable[[Json], bool], str]]] = {
    "alwaysOutputData": (_is_flag, "true or false"),
    "credentials": (lambda value: isinstance(value, dict), '{"slackApi": {"id": "…", "name": "…"}}'),
    "disabled": (_is_flag, "true or false"),
    "executeOnce": (_is_flag, "true or false"),
    "maxTries": (is_numeric, "a number"),
    "notes": (lambda value: isinstance(value, str), "a text"),
    "notesInFlow": (_is_flag, "true or false"),
    "onError": (lambda value: value in ON_ERROR, f"one of {listed(ON_ERROR)}"),
    "position": (model.is_position, "[x, y]"),
    "retryOnFail": (_is_flag, "true or false"),
    "typeVersion": (is_numeric, "a number"),
    "waitBetweenTries": (is_numeric, "a number, in milliseconds"),
}
_WORKFLOW_VALUES: Final[Mapping[str, tuple[Callable[[Json], bool], str]]] = {
    "name": (lambda value: isinstance(value, str) and 0 < len(value) <= 128, "a text of 1 to 128 characters"),
    "settings": (lambda value: isinstance(value, dict), '{"executionOrder": "v1"}'),
}


def set_node(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    """Set what is given in ``values``; ``null`` takes a value away. Credentials are set one by one."""
    node = node_named(workflow, text_of(operation, "name"))
    for key, value in _values(operation, _NODE_VALUES, "use set_parameter for parameters, rename_node for the name"):
        _set_one(node, key, value, merge=key == "credentials")


def set_workflow(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    """Set the workflow's name, and those of its settings that are given."""
    for key, value in _values(operation, _WORKFLOW_VALUES, "use the other operations for nodes and connections"):
        if value is None and key == "name":
            raise CannotError("a workflow needs its `name`.", 'Write "name": "…".')
        _set_one(workflow, key, value, merge=key == "settings")


def _values(
    operation: Mapping[str, Json], known: Mapping[str, tuple[Callable[[Json], bool], str]], otherwise: str
) -> list[tuple[str, Json]]:
    given = operation.get("values")
    if not isinstance(given, dict) or not given:
        raise CannotError("`values` must be an object with what to set.", f"It may hold {listed(known, 20)}.")
    for key, value in given.items():
        if key not in known:
            raise CannotError(f"`values` has no {shown_value(key)}; {otherwise}.", Names(known).hint(key, "values"))
        fits, example = known[key]
        if value is not None and not fits(value):
            raise CannotError(f"`{key}` cannot be {shown_value(value)}.", f"Write {example}; null takes it away.")
    return list(given.items())


def _set_one(owner: dict[str, Any], key: str, value: Json, *, merge: bool) -> None:
    if value is None:
        owner.pop(key, None)
        return
    before = owner.get(key)
    if not (merge and isinstance(value, dict)):
        owner[key] = copy.deepcopy(value)
        return
    together = {**(before if isinstance(before, dict) else {}), **copy.deepcopy(value)}
    owner[key] = {name: one for name, one in together.items() if one is not None}


def replace_node(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    """Put another node in the place of one: its name, id, position and connections stay."""
    node, new = node_named(workflow, text_of(operation, "name")), operation.get("node")
    if not isinstance(new, dict):
        raise CannotError(
            "`node` must be an object.", 'Write "node": {"type": "…", "typeVersion": 1, "parameters": {}}.'
        )
    text_of(new, "type")
    if new.get("name", node["name"]) != node["name"]:
        raise CannotError("`node` has another name.", "Leave the name out; rename_node changes it.")
    made: dict[str, Any] = {"parameters": {}, **copy.deepcopy(new)}
    made.update((key, node[key]) for key in ("id", "name", "position") if key in node)
    node.clear()
    node.update(made)


def copy_nodes(workflow: dict[str, Any], operation: Mapping[str, Json]) -> dict[str, str]:
    """Add copies of the nodes ``names`` with the connections among them. Returns the new names by the old."""
    given, suffix = operation.get("names"), operation.get("suffix", " copy")
    if not isinstance(given, list) or not given or not isinstance(suffix, str) or not suffix:
        raise CannotError("`names` must be a list of node names.", 'Write "names": ["…"], "suffix": " copy".')
    found = {str(name): node_named(workflow, str(name)) for name in given}
    names = {name: f"{name}{suffix}" for name in found}
    for name, node in found.items():
        check_free(workflow, names[name])
        workflow["nodes"].append(_copy(node, names[name]))
    for name, new in names.items():
        outputs = workflow["connections"].get(name)
        kept = {kind: _among(slots, names) for kind, slots in outputs.items()} if isinstance(outputs, dict) else {}
        if any(any(slots) for slots in kept.values()):
            workflow["connections"][new] = kept
    return names


def _copy(node: Mapping[str, Any], name: str) -> dict[str, Any]:
    made = copy.deepcopy(dict(node)) | {"name": name}
    for key in ("id", "webhookId"):
        if key in made:
            made[key] = model.own_id(f"{made[key]}{name}")
    position = made.get("position")
    if isinstance(position, list) and model.is_position(position):
        made["position"] = [position[0], position[1] + _BELOW]
    return made


def _among(slots: Any, names: Mapping[str, str]) -> list[list[Any]]:  # noqa: ANN401
    """Return the targets of each output that are copied too, as their copies."""
    buckets = [slot if isinstance(slot, list) else [] for slot in (slots if isinstance(slots, list) else ())]
    return [
        [{**one, "node": names[one["node"]]} for one in bucket if isinstance(one, dict) and one.get("node") in names]
        for bucket in buckets
    ]
