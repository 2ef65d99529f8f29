"""Connections against ports: n8n's editor silently drops wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rails.n8n.model import Issue, JsonPath, Node, Wire, Workflow, issue, listed, shown_value
from rails.n8n.nodes import ports
from rails.n8n.nodes.catalogue import Catalogue, Port
from rails.n8n.nodes.parameters import context_of

_Ports = tuple[Port, ...]
#: A node's inputs and outputs; ``None``: not known.
_Sides = tuple[_Ports | None, _Ports | None]


def check(workflow: Workflow, known: Catalogue, held: Mapping[int, Mapping[str, Any]]) -> Iterator[Issue]:
    """Yield the issues of wires and required inputs. ``held``: filled parameters by index."""
    sides = {node.name: _sides(node, known, held) for node in reversed(workflow.nodes)}
    told: dict[JsonPath, Issue] = {}
    for wire in workflow.wires:
        if wire.source_type == wire.target_type and not (wire.source.is_sticky or wire.target.is_sticky):
            for issue in _wire(wire, sides[wire.source.name], sides[wire.target.name]):
                told.setdefault(issue.path, issue)
    yield from told.values()
    for node in workflow.nodes:
        if not node.disabled:
            yield from _inputs(node, sides[node.name][0] or (), workflow.incoming.get(node.name, ()))


def _sides(node: Node, known: Catalogue, held: Mapping[int, Mapping[str, Any]]) -> _Sides:
    description = known.describe(node.type, node.version)
    values = held.get(node.index)
    if description is None or values is None:
        return None, None
    version = context_of(description, node.version).version
    error_output = node.raw.get("onError") == "continueErrorOutput"
    outputs = ports.outputs(description, values, version, error_output=error_output)
    return ports.inputs(description, values, version), outputs


def _wire(wire: Wire, source: _Sides, target: _Sides) -> Iterator[Issue]:
    kind = wire.source_type
    inputs, outputs = _of(target[0], kind), _of(source[1], kind)
    if outputs is not None and wire.output >= len(outputs):
        yield _no_output(wire, outputs, source, target)
    elif inputs is not None and wire.input >= len(inputs):
        yield _no_input(wire, inputs, target)
    elif inputs is not None:
        yield from _filtered(wire, inputs[wire.input])


def _of(found: _Ports | None, kind: str) -> _Ports | None:
    return None if found is None else tuple(port for port in found if port.type == kind)


def _no_output(wire: Wire, outputs: _Ports, source: _Sides, target: _Sides) -> Issue:
    ends = f"from {wire.source} to {wire.target}"
    if outputs:
        may_be_error = wire.output == len(outputs) and wire.source.raw.get("onError") != "continueErrorOutput"
        text = "N8N032b" if may_be_error else "N8N032"
        return issue(text, wire.path, wire=wire, numbered=_numbered(outputs, "output"), ends=ends)
    text = "N8N032e" if source[1] else "N8N032c"
    if _of(target[1], wire.source_type) and _of(source[0], wire.source_type):
        text = "N8N032d"
    return issue(text, wire.path[:3], on_key=True, wire=wire, ends=ends, kinds=_kinds(source[1]))


def _kinds(found: _Ports | None) -> list[str]:
    return list(dict.fromkeys(port.type for port in found or ()))


def _numbered(found: _Ports, what: str) -> str:
    kind = shown_value(found[0].type)
    return f"only the {kind} {what} 0" if len(found) == 1 else f"only the {kind} {what}s 0 to {len(found) - 1}"


def _no_input(wire: Wire, inputs: _Ports, target: _Sides) -> Issue:
    if inputs:
        return issue("N8N033b", (*wire.path, "index"), wire=wire, numbered=_numbered(inputs, "input"))
    kinds = _kinds(target[0])
    return issue("N8N033" if kinds else "N8N033c", (*wire.path, "node"), wire=wire, kinds=kinds)


def _filtered(wire: Wire, port: Port) -> Iterator[Issue]:
    if (port.only and wire.source.type not in port.only) or wire.source.type in port.never:
        remedy = f"It takes {listed(port.only)}." if port.only else "Use another node, such as a chat model."
        yield issue("N8N034", (*wire.path, "node"), wire=wire, port=port, remedy=remedy)


def _inputs(node: Node, inputs: _Ports, wires: tuple[Wire, ...]) -> Iterator[Issue]:
    kinds = {wire.target_type for wire in wires if not wire.source.disabled}
    for kind in dict.fromkeys(port.type for port in inputs if port.required):
        if kind not in kinds:
            message = f"{node.title} needs a node at its {shown_value(kind)} input: it cannot run without"
            target = f'{{"node": {shown_value(node.name)}, "type": "{kind}", "index": 0}}'
            usual = ports.USUAL_SUB_NODES.get(kind)
            example = f", such as {usual}," if usual else ""
            remedy = f'Add one{example} and connect it: "connections": {{"Its name": {{"{kind}": [[{target}]]}}}}.'
            yield Issue("N8N039", node.path, message, remedy)
