"""Structural edits of a workflow: nodes and connections by operation instead of by text.

Each operation is an object with an ``op``. All of them are done, or none: the first that cannot be done
comes back as a :class:`~rails.core.errors.Refusal` that says what is there instead.

    {"op": "add_node", "node": {"name", "type", …}}
    {"op": "remove_node", "name"}                      its connections go too
    {"op": "rename_node", "name", "new_name"}          connections, pinned data, expressions, code follow
    {"op": "set_parameter", "name", "path", "value"}   path "options.timeout" or "rules.values[0].key"
    {"op": "connect", "source", "target", "type"?, "output"?, "input"?}
    {"op": "disconnect", "source", "target", "type"?, "output"?, "input"?}
    {"op": "set_node", "name", "values"}               credentials, typeVersion, disabled, notes …
    {"op": "replace_node", "name", "node"}             another type or version; name, place and connections stay
    {"op": "duplicate_nodes", "names", "suffix"?}      with the connections and references among them
    {"op": "set_workflow", "values"}                   its name and settings
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rails.core.errors import Refusal
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.edit import node_operations
from rails.n8n.edit.workflow_parts import MOST, CannotError, buckets, check_free, node_named, number_of, text_of
from rails.n8n.javascript import expressions
from rails.n8n.model import listed, shown_value
from rails.n8n.rules.expressions import parameter_texts

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
#: Fields that hold code without a leading "=".
_CODE_FIELDS: Final = frozenset({"jsCode", "functionCode"})


def apply_operations(
    workflow: Mapping[str, Json], operations: Sequence[Mapping[str, Json]]
) -> dict[str, Json] | Refusal:
    """Return the workflow after all operations, or why one of them cannot be done. ``workflow`` is not changed."""
    made: dict[str, Any] = copy.deepcopy(dict(workflow))
    if not isinstance(made.setdefault("nodes", []), list) or not isinstance(made.setdefault("connections", {}), dict):
        return Refusal(
            "workflow", "The file is not a workflow: `nodes` or `connections` has the wrong type.", "Repair it first."
        )
    for number, operation in enumerate(operations):
        try:
            _one(made, operation)
        except CannotError as cannot:
            name = operation.get("op") if isinstance(operation, Mapping) else None
            which = f"Operation {number} ({one_line(str(name), 40)})" if name in _OPERATIONS else f"Operation {number}"
            return Refusal("workflow", f"{which}: {cannot.message}", cannot.hint)
    return made


def _one(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    name = operation.get("op") if isinstance(operation, Mapping) else None
    work = _OPERATIONS.get(name) if isinstance(name, str) else None
    if work is None:
        raise CannotError(f"there is no operation {shown_value(name)}.", f"The operations are {listed(_OPERATIONS)}.")
    work(workflow, operation)


def _add(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    node = operation.get("node")
    if not isinstance(node, dict):
        raise CannotError("`node` must be an object.", 'Write "node": {"name": "…", "type": "…", "parameters": {}}.')
    name = text_of(node, "name")
    text_of(node, "type")
    check_free(workflow, name)
    positions = [
        n["position"] for n in workflow["nodes"] if isinstance(n, dict) and model.is_position(n.get("position"))
    ]
    right = max((position[0] for position in positions), default=-240)
    level = next((position[1] for position in positions if position[0] == right), 0)
    workflow["nodes"].append({"parameters": {}, "position": [right + 240, level], **copy.deepcopy(node)})


def _remove(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    name = text_of(operation, "name")
    found = node_named(workflow, name)
    workflow["nodes"] = [node for node in workflow["nodes"] if node is not found]
    workflow["connections"].pop(name, None)
    for bucket in buckets(workflow):
        bucket[:] = [target for target in bucket if not (isinstance(target, dict) and target.get("node") == name)]
    if isinstance(workflow.get("pinData"), dict):
        workflow["pinData"].pop(name, None)


def _rename(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    old, new = text_of(operation, "name"), text_of(operation, "new_name")
    found = node_named(workflow, old)
    if new == old:
        return
    if "}}" in new:
        raise CannotError(
            f'{shown_value(new)} holds "}}}}", which ends an expression.', "Choose a name without braces."
        )
    check_free(workflow, new)
    found["name"] = new
    workflow["connections"] = {new if key == old else key: value for key, value in workflow["connections"].items()}
    if isinstance(workflow.get("pinData"), dict):
        workflow["pinData"] = {new if key == old else key: value for key, value in workflow["pinData"].items()}
    for bucket in buckets(workflow):
        for target in bucket:
            if isinstance(target, dict) and target.get("node") == old:
                target["node"] = new
    for node in model.build(workflow).nodes:
        for path, text in list(parameter_texts(node)):
            changed = renamed(text, old, new, is_code=path[-1] in _CODE_FIELDS)
            if changed != text:
                model.put_at(workflow["nodes"][node.index], path[2:], changed)


def renamed(text: str, old: str, new: str, *, is_code: bool = False) -> str:
    """Return a parameter's text with references to ``old`` naming ``new``: in expressions, or in code as a whole."""
    if is_code:
        return _renamed_in(text, old, new)
    if not text.startswith("=") or old not in text:
        return text
    parts, position = [], 0
    for segment in expressions.segments(text):
        end = segment.end
        parts += [text[position : segment.start], _renamed_in(text[segment.start : end], old, new)]
        position = end
    return "".join([*parts, text[position:]])


def _renamed_in(code: str, old: str, new: str) -> str:
    for found in reversed([one for one in expressions.node_references(code) if one.name == old]):
        before, after = code[: found.start], code[found.end :]
        quote = before[-1:]
        if quote in {"'", '"', "`"}:
            code = before + _quoted(new, quote) + after
        elif _IDENTIFIER.fullmatch(new):
            code = before + new + after
        else:
            code = f'{before.rstrip().removesuffix(".")}["{_quoted(new, chr(34))}"]{after}'
    return code


def _quoted(name: str, quote: str) -> str:
    escaped = json.dumps(name, ensure_ascii=False)[1:-1].replace('\\"', '"')
    escaped = escaped.replace(quote, f"\\{quote}")
    return escaped.replace("${", "\\${") if quote == "`" else escaped


def _set(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    node, written = node_named(workflow, text_of(operation, "name")), text_of(operation, "path")
    if "value" not in operation:
        raise CannotError("`value` is missing.", 'Write "value": …; null is a value too.')
    steps = [int(number) if number else name for number, name in _STEP.findall(written)]
    if not steps or isinstance(steps[0], int):
        raise CannotError(f"{shown_value(written)} is not a path.", 'Write "url" or "rules.values[0].key".')
    here = node.setdefault("parameters", {})
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        _check_step(here, step, written)
        if following is None:
            break
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if step == len(here):
                here.append(empty)
            here = here[step]
        else:
            here = here.setdefault(step, empty)
    value, last = copy.deepcopy(operation["value"]), steps[-1]
    if isinstance(last, int) and last == len(here):
        here.append(value)
    else:
        here[last] = value


def _check_step(here: Any, step: str | int, written: str) -> None:  # noqa: ANN401
    if isinstance(step, str) and not isinstance(here, dict):
        raise CannotError(
            f"{shown_value(written)}: there is no object to set `{step}` in.", "Set the whole value instead."
        )
    if isinstance(step, int) and (not isinstance(here, list) or step > min(len(here), MOST)):
        raise CannotError(
            f"{shown_value(written)}: there is no list entry {step}.", "List entries start at 0; the next is added."
        )


def _ends(workflow: dict[str, Any], operation: Mapping[str, Json]) -> tuple[str, dict[str, Any], str, int]:
    source, target = text_of(operation, "source"), text_of(operation, "target")
    node_named(workflow, source)
    node_named(workflow, target)
    kind = text_of(operation, "type") if "type" in operation else "main"
    end = {"node": target, "type": kind, "index": number_of(operation, "input")}
    return source, end, kind, number_of(operation, "output")


def _connect(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    source, target, kind, output = _ends(workflow, operation)
    outputs = workflow["connections"].setdefault(source, {})
    slots = outputs.setdefault(kind, []) if isinstance(outputs, dict) else None
    if not isinstance(slots, list):
        raise CannotError(f"the connections of {shown_value(source)} have the wrong shape.", "Repair them first.")
    slots.extend([] for _ in range(output + 1 - len(slots)))
    bucket = slots[output] if isinstance(slots[output], list) else []
    slots[output] = bucket if target in bucket else [*bucket, target]


def _disconnect(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    source, target, kind, output = _ends(workflow, operation)
    outputs = workflow["connections"].get(source)
    slots = outputs.get(kind) if isinstance(outputs, dict) else None
    bucket = slots[output] if isinstance(slots, list) and output < len(slots) else None
    if not isinstance(bucket, list) or target not in bucket:
        to = f"{shown_value(target['node'])} ({kind}, output {output}, input {target['index']})"
        there = listed(_connected(outputs), 8) or "nothing"
        raise CannotError(f"{shown_value(source)} is not connected to {to}.", f"It is connected to: {there}.")
    bucket.remove(target)


def _connected(outputs: Any) -> list[str]:  # noqa: ANN401
    """Return what a node is connected to, as ``disconnect`` takes it."""
    return [
        f"{target.get('node')}, type {kind}, output {output}, input {target.get('index', 0)}"
        for kind, slots in (outputs.items() if isinstance(outputs, dict) else ())
        for output, bucket in enumerate(slots if isinstance(slots, list) else ())
        for target in (bucket if isinstance(bucket, list) else ())
        if isinstance(target, dict)
    ]


def _duplicate(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    """Copy nodes with the connections among them; their references to each other name the copies."""
    names = node_operations.copy_nodes(workflow, operation)
    copies = set(names.values())
    for node in model.build(workflow).nodes:
        if node.name not in copies:
            continue
        for path, text in list(parameter_texts(node)):
            changed = text
            for old, new in names.items():
                changed = renamed(changed, old, new, is_code=path[-1] in _CODE_FIELDS)
            if changed != text:
                model.put_at(workflow["nodes"][node.index], path[2:], changed)


_OPERATIONS: Final[Mapping[str, Callable[[dict[str, Any], Mapping[str, Json]], None]]] = {
    "add_node": _add, "connect": _connect, "disconnect": _disconnect, "duplicate_nodes": _duplicate,
    "remove_node": _remove, "rename_node": _rename, "replace_node": node_operations.replace_node,
    "set_node": node_operations.set_node, "set_parameter": _set, "set_workflow": node_operations.set_workflow,
}  # fmt: skip
