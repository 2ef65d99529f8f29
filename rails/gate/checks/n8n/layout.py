"""Positions for nodes that have none: columns from the triggers to the right, sub-nodes below their root."""

from __future__ import annotations

from collections.abc import Mapping

from rails.gate.checks.n8n.model import Node, Workflow

#: The editor's own spacing, in canvas units.
_COLUMN, _ROW = 240, 200


def positions(workflow: Workflow) -> dict[int, tuple[int, int]]:
    """Return a position for each node by its index: no two the same, the flow from left to right."""
    columns = _columns(workflow)
    rows: dict[int, int] = {}
    places: dict[int, tuple[int, int]] = {}
    for node in workflow.nodes:
        if node.name in columns and node.index not in places:
            column = columns[node.name]
            row = rows.get(column, 0)
            rows[column] = row + 1
            places[node.index] = (column * _COLUMN, row * _ROW)
    depth = max(rows.values(), default=0)
    _below(workflow, places, depth)
    return places


def _columns(workflow: Workflow) -> dict[str, int]:
    """Return each node's column: its distance along main connections from a node that nothing leads to."""
    roots = [node for node in workflow.nodes if not _is_below(workflow, node)]
    fed = {wire.target.name for wire in workflow.wires if wire.source_type == "main"}
    columns: dict[str, int] = {}
    layer = [node.name for node in roots if node.name not in fed] or [node.name for node in roots[:1]]
    column = 0
    while layer:
        columns.update(dict.fromkeys(layer, column))
        following = [
            wire.target.name
            for name in layer
            for wire in workflow.outgoing.get(name, ())
            if wire.source_type == "main" and wire.target.name not in columns
        ]
        layer, column = list(dict.fromkeys(following)), column + 1
        if not layer:
            layer = [node.name for node in roots if node.name not in columns][:1]
    return columns


def _is_below(workflow: Workflow, node: Node) -> bool:
    wires = workflow.outgoing.get(node.name, ())
    return node.is_sticky or (bool(wires) and all(wire.source_type != "main" for wire in wires))


def _below(workflow: Workflow, places: dict[int, tuple[int, int]], depth: int) -> None:
    """Place sub-nodes and notes under everything else, each as near its root's column as is free."""
    taken: set[tuple[int, int]] = set()
    for node in workflow.nodes:
        if node.index in places:
            continue
        wires = workflow.outgoing.get(node.name, ())
        root = places.get(wires[0].target.index) if wires else None
        column, row = (root[0] if root else 0), depth + 1
        while (column, row) in taken:
            column += _COLUMN // 2
        taken.add((column, row))
        places[node.index] = (column, row * _ROW)


def has_position(raw: Mapping[str, object]) -> bool:
    """Say whether a node has a position that n8n accepts."""
    position = raw.get("position")
    return (
        isinstance(position, list)
        and len(position) == 2
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in position)
    )
