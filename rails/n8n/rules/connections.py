"""Connections against ports: n8n's editor silently drops wrong ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from rails.n8n.model import Issue, Node, Wire, Workflow, issue, listed, shown_value
from rails.n8n.nodes import ports
from rails.n8n.nodes.catalogue import Catalogue, Port
from rails.n8n.nodes.parameters import context_of

_Ports = tuple[Port, ...]


class _Sides(Struct, frozen=True):
    inputs: _Ports | None
    outputs: _Ports | None


_NOT_KNOWN = _Sides(None, None)


def check(workflow: Workflow, known: Catalogue, held: Mapping[int, Mapping[str, Any]]) -> Iterator[Issue]:
    """Yield the issues of wires and required inputs. ``held``: filled parameters by index."""
    sides = {node.name: _sides(node, known, held) for node in reversed(workflow.nodes)}
    told: set[tuple[object, ...]] = set()
    for wire in workflow.wires:
        if wire.source_type == wire.target_type and not (wire.source.is_sticky or wire.target.is_sticky):
            for issue in _wire(wire, sides[wire.source.name], sides[wire.target.name]):
                if issue.path not in told:
                    told.add(issue.path)
                    yield issue
    for node in workflow.nodes:
        if not node.disabled:
            yield from _inputs(node, sides[node.name].inputs or (), workflow.incoming.get(node.name, ()))


def _sides(node: Node, known: Catalogue, held: Mapping[int, Mapping[str, Any]]) -> _Sides:
    description = known.describe(node.type, node.version)
    values = held.get(node.index)
    if description is None or values is None:
        return _NOT_KNOWN
    version = context_of(description, node.version).version
    error_output = node.raw.get("onError") == "continueErrorOutput"
    outputs = ports.outputs(description, values, version, error_output=error_output)
    return _Sides(ports.inputs(description, values, version), outputs)


def _wire(wire: Wire, source: _Sides, target: _Sides) -> Iterator[Issue]:
    kind = wire.source_type
    outputs = _of(source.outputs, kind)
    inputs = _of(target.inputs, kind)
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
        return issue(
            "N8N032",
            wire.path,
            wire=wire,
            numbered=_numbered(outputs, "output"),
            ends=ends,
            remedy=_output_remedy(wire, len(outputs)),
        )
    message = (
        f"{wire.source.title} ({wire.source.type}) has no {shown_value(wire.source_type)} output: "
        f"n8n drops the connection {ends}"
    )
    backwards = _of(target.outputs, wire.source_type) and _of(source.inputs, wire.source_type)
    if backwards:
        remedy = (
            f"It is the wrong way round: connect {shown_value(wire.target.name)} to {shown_value(wire.source.name)}."
        )
    elif source.outputs:
        remedy = f"Its outputs are {listed(dict.fromkeys(port.type for port in source.outputs))}."
    else:
        remedy = "It has no outputs: remove the connection."
    return Issue("N8N032", wire.path[:3], message, remedy, on_key=True)


def _numbered(found: _Ports, what: str) -> str:
    kind = shown_value(found[0].type)
    return f"only the {kind} {what} 0" if len(found) == 1 else f"only the {kind} {what}s 0 to {len(found) - 1}"


def _output_remedy(wire: Wire, count: int) -> str:
    if wire.output == count and wire.source.raw.get("onError") != "continueErrorOutput":
        return 'For an error output set "onError": "continueErrorOutput"; else add the rule or case, or remove it.'
    return "Add the rule, case or category that makes this output, or remove the connection."


def _no_input(wire: Wire, inputs: _Ports, target: _Sides) -> Issue:
    where = (*wire.path, "index") if inputs else (*wire.path, "node")
    if inputs:
        return issue("N8N033b", where, wire=wire, numbered=_numbered(inputs, "input"))
    kinds = dict.fromkeys(port.type for port in target.inputs or ())
    return issue(
        "N8N033", where, wire=wire, remedy=f"Its inputs are {listed(kinds)}." if kinds else "It has no inputs."
    )


def _filtered(wire: Wire, port: Port) -> Iterator[Issue]:
    if (port.only and wire.source.type not in port.only) or wire.source.type in port.never:
        remedy = f"It takes {listed(port.only)}." if port.only else "Use another node, such as a chat model."
        yield issue("N8N034", (*wire.path, "node"), wire=wire, port=port, remedy=remedy)


def _inputs(node: Node, inputs: _Ports, wires: tuple[Wire, ...]) -> Iterator[Issue]:
    connected = Counter((wire.target_type, wire.input) for wire in wires if not wire.source.disabled)
    kinds = {kind for kind, _ in connected}
    for kind in dict.fromkeys(port.type for port in inputs if port.required):
        if kind not in kinds:
            message = f"{node.title} needs a node at its {shown_value(kind)} input: it cannot run without"
            target = f'{{"node": {shown_value(node.name)}, "type": "{kind}", "index": 0}}'
            usual = ports.USUAL_SUB_NODES.get(kind)
            example = f", such as {usual}," if usual else ""
            remedy = f'Add one{example} and connect it: "connections": {{"Its name": {{"{kind}": [[{target}]]}}}}.'
            yield Issue("N8N039", node.path, message, remedy)
    numbers: Counter[str] = Counter()
    for port in inputs:
        number = numbers[port.type]
        numbers[port.type] += 1
        count = connected[port.type, number]
        if port.max_connections and count > port.max_connections:
            yield issue("N8N047", node.path, node=node, port=port, count=count)
