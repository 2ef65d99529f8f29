"""Edits of a workflow by operation instead of by text.

Each is an object with an ``op`` and its class's members. All are done or none: the first that fails is a
:class:`~rails.core.errors.Refusal` that says what is there.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec

from rails.core.errors import Refusal
from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.javascript import expressions
from rails.n8n.model import NODE_VALUES, ON_ERROR, Names, listed, shown_value
from rails.n8n.rules.expressions import parameter_texts

#: More outputs than a person means.
_MOST: Final = 200
#: How far beside the last node a new one is put.
_STEP: Final = 240
_PART: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
#: Fields that hold code without a leading "=".
_CODE_FIELDS: Final = frozenset({"jsCode", "functionCode"})
#: What ``set_workflow`` may set, each with its type.
_WORKFLOW_VALUES: Final[Mapping[str, Any]] = {
    "name": Annotated[str, msgspec.Meta(min_length=1, max_length=128)],
    "settings": dict,
}

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Port = Annotated[int, msgspec.Meta(ge=0, lt=_MOST)]
_Workflow = dict[str, Any]


class _CannotError(Exception):
    """Message and hint of an operation's refusal."""


class _Operation(msgspec.Struct):
    def apply(self, workflow: _Workflow) -> None:
        raise NotImplementedError


class _NodeHead(msgspec.Struct):
    name: _Text
    type: _Text


class _Add(_Operation):
    node: _Workflow

    def apply(self, workflow: _Workflow) -> None:
        head = msgspec.convert(self.node, _NodeHead)
        _check_free(workflow, head.name)
        places = [node["position"] for node in _objects(workflow) if model.is_position(node.get("position"))]
        x, y = max(places, key=lambda place: place[0], default=(-_STEP, 0))
        workflow["nodes"].append({"parameters": {}, "position": [x + _STEP, y], **copy.deepcopy(self.node)})


class _Remove(_Operation):
    name: _Text

    def apply(self, workflow: _Workflow) -> None:
        found = _node_named(workflow, self.name)
        workflow["nodes"] = [node for node in workflow["nodes"] if node is not found]
        workflow["connections"].pop(self.name, None)
        for bucket in _buckets(workflow["connections"]):
            bucket[:] = [target for target in bucket if _node_of(target) != self.name]
        if isinstance(workflow.get("pinData"), dict):
            workflow["pinData"].pop(self.name, None)


class _Rename(_Operation):
    """Renames also in connections, pinned data, expressions, code."""

    name: _Text
    new_name: _Text

    def apply(self, workflow: _Workflow) -> None:
        old = self.name
        new = self.new_name
        found = _node_named(workflow, old)
        if new == old:
            return
        if "}}" in new:
            raise _CannotError(f'{shown_value(new)} holds "}}}}", which ends an expression.', "Leave the braces out.")
        _check_free(workflow, new)
        found["name"] = new
        for part in ("connections", "pinData"):
            if isinstance(workflow.get(part), dict):
                workflow[part] = {new if key == old else key: value for key, value in workflow[part].items()}
        for bucket in _buckets(workflow["connections"]):
            for target in bucket:
                if _node_of(target) == old:
                    target["node"] = new
        _rename_references(workflow, old, new)


class _Replace(_Operation):
    """Another node takes a node's name, id, position and connections."""

    name: _Text
    node: _Workflow

    def apply(self, workflow: _Workflow) -> None:
        node = _node_named(workflow, self.name)
        head = msgspec.convert({"name": self.name, **self.node}, _NodeHead)
        if head.name != self.name:
            raise _CannotError("`node` has another name.", "Leave the name out; rename_node changes it.")
        kept = {key: node[key] for key in ("id", "name", "position") if key in node}
        node.clear()
        node.update({"parameters": {}} | copy.deepcopy(self.node) | kept)


class _SetNode(_Operation):
    """Sets members besides parameters; ``null`` removes one; credentials one by one."""

    name: _Text
    values: _Workflow

    def apply(self, workflow: _Workflow) -> None:
        node = _node_named(workflow, self.name)
        _set_values(node, self.values, NODE_VALUES, "use set_parameter for parameters, rename_node for the name")


class _SetWorkflow(_Operation):
    values: _Workflow

    def apply(self, workflow: _Workflow) -> None:
        if self.values.get("name", "") is None:
            raise _CannotError("a workflow needs its `name`.", 'Write "name": "…".')
        _set_values(workflow, self.values, _WORKFLOW_VALUES, "use the other operations for nodes and connections")


class _SetParameter(_Operation):
    """Sets the value at a path (``rules.values[0].key``); makes missing objects."""

    name: _Text
    path: _Text
    value: Any

    def apply(self, workflow: _Workflow) -> None:
        here: Any = _node_named(workflow, self.name).setdefault("parameters", {})
        steps = [int(number) if number else name for number, name in _PART.findall(self.path)]
        if not steps:
            raise _CannotError(f"{shown_value(self.path)} is not a path.", 'Write "url" or "rules.values[0].key".')
        parent = here
        for step, following in zip(steps, [*steps[1:], ""], strict=True):
            parent = here
            here = self._entered(parent, step, [] if isinstance(following, int) else {})
        parent[steps[-1]] = copy.deepcopy(self.value)

    def _entered(self, here: Any, step: str | int, empty: Any) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(here, dict) and isinstance(step, str):
            return here.setdefault(step, empty)
        if not isinstance(here, list) or not isinstance(step, int) or step > len(here):
            message = f"{shown_value(self.path)}: there is no list entry or object to set {step} in."
            raise _CannotError(message, "List entries start at 0; the next is added. Or set the whole value.")
        if step == len(here):
            here.append(empty)
        return here[step]


class _Wire(_Operation):
    source: _Text
    target: _Text
    type: _Text = "main"
    output: _Port = 0
    input: _Port = 0

    @property
    def end(self) -> dict[str, Json]:
        return {"node": self.target, "type": self.type, "index": self.input}

    def check(self, workflow: _Workflow) -> None:
        _node_named(workflow, self.source)
        _node_named(workflow, self.target)


class _Connect(_Wire):
    def apply(self, workflow: _Workflow) -> None:
        self.check(workflow)
        outputs = workflow["connections"].setdefault(self.source, {})
        slots = outputs.setdefault(self.type, []) if isinstance(outputs, dict) else None
        if not isinstance(slots, list):
            message = f"the connections of {shown_value(self.source)} have the wrong shape."
            raise _CannotError(message, "Repair them first.")
        slots.extend([] for _ in range(self.output + 1 - len(slots)))
        bucket = slots[self.output] or []
        if self.end not in bucket:
            slots[self.output] = [*bucket, self.end]


class _Disconnect(_Wire):
    def apply(self, workflow: _Workflow) -> None:
        self.check(workflow)
        wires = [wire for wire in model.build(workflow).wires if wire.source.name == self.source]
        mine = (self.type, self.output, self.target, self.input)
        for wire in wires:
            if (wire.source_type, wire.output, wire.target.name, wire.input) == mine:
                del workflow["connections"][self.source][self.type][self.output][wire.position]
                return
        there = [
            f"{wire.target.name}, type {wire.source_type}, output {wire.output}, input {wire.input}" for wire in wires
        ]
        to = f"{shown_value(self.target)} ({self.type}, output {self.output}, input {self.input})"
        hint = f"It is connected to: {listed(there, 8) or 'nothing'}."
        raise _CannotError(f"{shown_value(self.source)} is not connected to {to}.", hint)


_OPERATIONS: Final[Mapping[str, type[_Operation]]] = {
    "add_node": _Add,
    "remove_node": _Remove,
    "rename_node": _Rename,
    "replace_node": _Replace,
    "set_node": _SetNode,
    "set_parameter": _SetParameter,
    "set_workflow": _SetWorkflow,
    "connect": _Connect,
    "disconnect": _Disconnect,
}


def apply_operations(
    workflow: Mapping[str, Json], operations: Sequence[Mapping[str, Json]]
) -> dict[str, Json] | Refusal:
    """Return a changed copy of ``workflow``, or the first refusal."""
    made: _Workflow = copy.deepcopy(dict(workflow))
    if not isinstance(made.setdefault("nodes", []), list) or not isinstance(made.setdefault("connections", {}), dict):
        message = "The file is not a workflow: `nodes` or `connections` has the wrong type."
        return Refusal("workflow", message, "Repair it first.")
    for number, operation in enumerate(operations):
        try:
            _do(made, operation)
        except _CannotError as cannot:
            return Refusal("workflow", f"Operation {number}{cannot.args[0]}", cannot.args[1])
    return made


def _do(workflow: _Workflow, operation: Mapping[str, Json]) -> None:
    name = str(operation.get("op"))
    kind = _OPERATIONS.get(name)
    if kind is None:
        raise _CannotError(
            f": there is no operation {shown_value(name)}.", f"The operations are {listed(_OPERATIONS)}."
        )
    try:
        msgspec.convert(operation, kind).apply(workflow)
    except msgspec.ValidationError as error:
        raise _CannotError(f" ({name}): {error}.", f"It takes {listed(kind.__struct_fields__)}.") from None
    except _CannotError as cannot:
        raise _CannotError(f" ({name}): {cannot.args[0]}", cannot.args[1]) from None


def _objects(workflow: _Workflow) -> list[_Workflow]:
    return [node for node in workflow["nodes"] if isinstance(node, dict)]


def _node_named(workflow: _Workflow, name: str) -> _Workflow:
    for node in _objects(workflow):
        if node.get("name") == name:
            return node
    names = Names(str(node.get("name")) for node in _objects(workflow))
    raise _CannotError(f"there is no node {shown_value(name)}.", names.hint(name, "nodes"))


def _check_free(workflow: _Workflow, name: str) -> None:
    if any(node.get("name") == name for node in _objects(workflow)):
        raise _CannotError(f"there is a node {shown_value(name)} already.", "Choose another name.")


def _buckets(connections: Mapping[str, Any]) -> Iterator[list[Any]]:
    for outputs in connections.values():
        for slots in outputs.values() if isinstance(outputs, dict) else ():
            for bucket in slots if isinstance(slots, list) else ():
                if isinstance(bucket, list):
                    yield bucket


def _node_of(target: Any) -> object:  # noqa: ANN401 - any JSON value
    return target.get("node") if isinstance(target, dict) else None


def _set_values(owner: _Workflow, values: _Workflow, known: Mapping[str, Any], otherwise: str) -> None:
    if not values:
        raise _CannotError("`values` must be an object with what to set.", f"It may hold {listed(known, 20)}.")
    for key, value in values.items():
        if key not in known:
            raise _CannotError(f"`values` has no {shown_value(key)}; {otherwise}.", Names(known).hint(key, "values"))
        if value is None:
            owner.pop(key, None)
            continue
        try:
            msgspec.convert(value, known[key])
        except msgspec.ValidationError as error:
            message = f"`{key}` cannot be {shown_value(value)}: {error}."
            raise _CannotError(message, _VALUE_HINTS.get(key, "null takes it away.")) from None
        owner[key] = _merged(owner.get(key), value) if isinstance(value, dict) else copy.deepcopy(value)


def _merged(before: Json, given: Mapping[str, Json]) -> dict[str, Json]:
    together = {**before, **given} if isinstance(before, dict) else given
    return {name: copy.deepcopy(one) for name, one in together.items() if one is not None}


_VALUE_HINTS: Final = {"onError": f"Use one of {listed(ON_ERROR)}.", "position": "Write [x, y]."}


def _rename_references(workflow: _Workflow, old: str, new: str) -> None:
    for node in model.build(workflow).nodes:
        for path, text in list(parameter_texts(node)):
            changed = renamed(text, old, new, is_code=path[-1] in _CODE_FIELDS)
            if changed != text:
                model.put_at(workflow["nodes"][node.index], path[2:], changed)


def renamed(text: str, old: str, new: str, *, is_code: bool = False) -> str:
    """Return a text with references to ``old`` renamed: in expressions, or all as code."""
    if is_code:
        return _renamed_in(text, old, new)
    if not text.startswith("=") or old not in text:
        return text
    for segment in reversed(list(expressions.segments(text))):
        code = _renamed_in(text[segment.start : segment.end], old, new)
        text = f"{text[: segment.start]}{code}{text[segment.end :]}"
    return text


def _renamed_in(code: str, old: str, new: str) -> str:
    for found in reversed([one for one in expressions.node_references(code) if one.name == old]):
        before = code[: found.start]
        after = code[found.end :]
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
