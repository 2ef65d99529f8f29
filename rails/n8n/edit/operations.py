"""Structural edits of a workflow: nodes and connections by operation instead of by text.

Each operation is an object with an ``op``. All of them are done, or none: the first that cannot be done
comes back as a :class:`~rails.core.errors.Refusal` that says what is there instead.

    {"op": "add_node", "node": {"name", "type", …}}
    {"op": "remove_node", "name"}                      its connections go too
    {"op": "rename_node", "name", "new_name"}          connections, pinned data, expressions, code follow
    {"op": "set_parameter", "name", "path", "value"}   path "options.timeout" or "rules.values[0].key"
    {"op": "connect", "source", "target", "type"?, "output"?, "input"?}
    {"op": "disconnect", "source", "target", "type"?, "output"?, "input"?}
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rails.core.errors import Refusal
from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.javascript import expressions
from rails.n8n.model import Names, listed, shown_value
from rails.n8n.rules.expressions import parameter_texts

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
#: Fields that hold code without a leading "=".
_CODE_FIELDS: Final = frozenset({"jsCode", "functionCode"})
#: More outputs or list entries than a person means.
_MOST: Final = 200


class _Cannot(Exception):
    """An operation that cannot be done: message and hint of the refusal to be."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def apply_operations(
    workflow: Mapping[str, Json], operations: Sequence[Mapping[str, Json]]
) -> dict[str, Json] | Refusal:
    """Return the workflow after all operations, or why one of them cannot be done. ``workflow`` is not changed."""
    made: dict[str, Any] = copy.deepcopy(dict(workflow))
    if not isinstance(made.setdefault("nodes", []), list) or not isinstance(made.setdefault("connections", {}), dict):
        return Refusal(
            "workflow", "The file is no workflow: `nodes` or `connections` has the wrong type.", "Repair it first."
        )
    for number, operation in enumerate(operations):
        try:
            _one(made, operation)
        except _Cannot as cannot:
            return Refusal("workflow", f"Operation {number}: {cannot.message}", cannot.hint)
    return made


def _one(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    name = operation.get("op") if isinstance(operation, Mapping) else None
    work = _OPERATIONS.get(name) if isinstance(name, str) else None
    if work is None:
        raise _Cannot(f"there is no operation {shown_value(name)}.", f"The operations are {listed(_OPERATIONS)}.")
    work(workflow, operation)


def _text(operation: Mapping[str, Json], key: str) -> str:
    value = operation.get(key)
    if not isinstance(value, str) or not value:
        raise _Cannot(f"`{key}` must be a non-empty text.", f'Write "{key}": "…".')
    return value


def _number(operation: Mapping[str, Json], key: str) -> int:
    value = operation.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise _Cannot(f"`{key}` must be a whole number from 0 to {_MOST - 1}.", f'Write "{key}": 0.')
    return value


def _find(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    objects = [node for node in workflow["nodes"] if isinstance(node, dict)]
    found = next((node for node in objects if node.get("name") == name), None)
    if found is None:
        names = Names(str(node.get("name")) for node in objects)
        raise _Cannot(f"there is no node {shown_value(name)}.", names.hint(name, "nodes"))
    return found


def _free(workflow: dict[str, Any], name: str) -> None:
    if any(isinstance(node, dict) and node.get("name") == name for node in workflow["nodes"]):
        raise _Cannot(f"there is a node {shown_value(name)} already.", "Choose another name.")


def _add(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    node = operation.get("node")
    if not isinstance(node, dict):
        raise _Cannot("`node` must be an object.", 'Write "node": {"name": "…", "type": "…", "parameters": {}}.')
    name = _text(node, "name")
    _text(node, "type")
    _free(workflow, name)
    positions = [n["position"] for n in workflow["nodes"] if isinstance(n, dict) and _has_position(n)]
    right = max((position[0] for position in positions), default=-240)
    level = next((position[1] for position in positions if position[0] == right), 0)
    workflow["nodes"].append({"parameters": {}, "position": [right + 240, level], **copy.deepcopy(node)})


def _has_position(node: Mapping[str, Any]) -> bool:
    from rails.n8n.edit.layout import has_position

    return has_position(node)


def _remove(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    name = _text(operation, "name")
    found = _find(workflow, name)
    workflow["nodes"] = [node for node in workflow["nodes"] if node is not found]
    workflow["connections"].pop(name, None)
    for bucket in _buckets(workflow):
        bucket[:] = [target for target in bucket if not (isinstance(target, dict) and target.get("node") == name)]
    if isinstance(workflow.get("pinData"), dict):
        workflow["pinData"].pop(name, None)


def _buckets(workflow: dict[str, Any]) -> Iterator[list[Any]]:
    for outputs in workflow["connections"].values():
        for slots in outputs.values() if isinstance(outputs, dict) else ():
            yield from (bucket for bucket in (slots if isinstance(slots, list) else ()) if isinstance(bucket, list))


def _rename(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    old, new = _text(operation, "name"), _text(operation, "new_name")
    found = _find(workflow, old)
    if new == old:
        return
    if "}}" in new:
        raise _Cannot(f'{shown_value(new)} holds "}}}}", which ends an expression.', "Choose a name without braces.")
    _free(workflow, new)
    found["name"] = new
    workflow["connections"] = {new if key == old else key: value for key, value in workflow["connections"].items()}
    if isinstance(workflow.get("pinData"), dict):
        workflow["pinData"] = {new if key == old else key: value for key, value in workflow["pinData"].items()}
    for bucket in _buckets(workflow):
        for target in bucket:
            if isinstance(target, dict) and target.get("node") == old:
                target["node"] = new
    for node in model.build(workflow).nodes:
        for path, text in list(parameter_texts(node)):
            changed = renamed(text, old, new, is_code=path[-1] in _CODE_FIELDS)
            if changed != text:
                _put(workflow["nodes"][node.index], path[2:], changed)


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


def _put(value: Any, path: Sequence[str | int], new: Json) -> None:  # noqa: ANN401
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


def _set(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    node, written = _find(workflow, _text(operation, "name")), _text(operation, "path")
    if "value" not in operation:
        raise _Cannot("`value` is missing.", 'Write "value": …; null is a value too.')
    steps = [int(number) if number else name for number, name in _STEP.findall(written)]
    if not steps or isinstance(steps[0], int):
        raise _Cannot(f"{shown_value(written)} is no path.", 'Write "url" or "rules.values[0].key".')
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
        raise _Cannot(f"{shown_value(written)}: there is no object to set `{step}` in.", "Set the whole value instead.")
    if isinstance(step, int) and (not isinstance(here, list) or step > min(len(here), _MOST)):
        raise _Cannot(
            f"{shown_value(written)}: there is no list entry {step}.", "List entries start at 0; the next is added."
        )


def _ends(workflow: dict[str, Any], operation: Mapping[str, Json]) -> tuple[str, dict[str, Any], str, int]:
    source, target = _text(operation, "source"), _text(operation, "target")
    _find(workflow, source)
    _find(workflow, target)
    kind = _text(operation, "type") if "type" in operation else "main"
    return (
        source,
        {"node": target, "type": kind, "index": _number(operation, "input")},
        kind,
        _number(operation, "output"),
    )


def _connect(workflow: dict[str, Any], operation: Mapping[str, Json]) -> None:
    source, target, kind, output = _ends(workflow, operation)
    outputs = workflow["connections"].setdefault(source, {})
    slots = outputs.setdefault(kind, []) if isinstance(outputs, dict) else None
    if not isinstance(slots, list):
        raise _Cannot(f"the connections of {shown_value(source)} have the wrong shape.", "Repair them first.")
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
        raise _Cannot(
            f"{shown_value(source)} is not connected to {to}.", "Look at `connections` for what is connected."
        )
    bucket.remove(target)


_OPERATIONS: Final[Mapping[str, Callable[[dict[str, Any], Mapping[str, Json]], None]]] = {
    "add_node": _add,
    "connect": _connect,
    "disconnect": _disconnect,
    "remove_node": _remove,
    "rename_node": _rename,
    "set_parameter": _set,
}
