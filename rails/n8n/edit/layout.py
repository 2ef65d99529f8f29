"""Positions for nodes that have none: the nearest free place beside a connected node.

Flow goes right, sub-nodes below their root, unconnected nodes to the bottom.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from rails.n8n.model import Node, Workflow, is_position
from rails.n8n.nodes.ports import AI_PORTS

#: The editor's own spacing, in canvas units.
_COLUMN = 240
_ROW = 200
#: How wide a plain node and one with sub-nodes are, and the room between columns.
_BOX = 96
_WIDE = 250
_GAP = 140
#: Canvas units; what is farther out counts as there.
_FARTHEST: Final = 1_000_000
#: Places that are tried below each other before two nodes may overlap.
_TRIES: Final = 200
#: The order in which AI inputs are drawn.
_ORDER: Final = {kind: number for number, kind in enumerate(AI_PORTS)}

_Place = tuple[int, int]


def missing(workflow: Workflow) -> dict[int, _Place]:
    """Return positions, by index, for nodes without a valid one."""
    known = {node.index: _place(node) for node in workflow.nodes if is_position(node.raw.get("position"))}
    if len(known) == len(workflow.nodes):
        return {}
    places = dict(known)
    grid = _Grid()
    for node in workflow.nodes:
        if node.index in known:
            grid.take(known[node.index], _width(workflow, node))
    left = min((x for x, _ in known.values()), default=0)
    waiting = deque(node for node in workflow.nodes if node.index in known)
    for start in _in_order(workflow):
        while waiting:
            node = waiting.popleft()
            for other, wanted in _beside(workflow, node, places[node.index]):
                if other.index not in places:
                    places[other.index] = grid.free(wanted, _width(workflow, other))
                    waiting.append(other)
        if start.index not in places:
            places[start.index] = grid.free((left, grid.bottom), _width(workflow, start))
            waiting.append(start)
    return {index: place for index, place in places.items() if index not in known}


def _in_order(workflow: Workflow) -> Iterator[Node]:
    """Yield nodes that nothing leads to, the rest of the flow, then sub-nodes and notes."""
    fed = {wire.target.name for wire in workflow.wires if wire.source_type == "main"}
    below = {wire.source.name for wire in workflow.wires if wire.source_type != "main"}
    return iter(
        sorted(workflow.nodes, key=lambda node: (node.is_sticky or node.name in below, node.name in fed, node.index))
    )


class _Grid:
    """Taken places, in cells of half a column and row."""

    def __init__(self) -> None:
        self._taken: set[_Place] = set()
        self._next: dict[_Place, int] = {}
        #: The first row below everything.
        self.bottom = 0

    def take(self, place: _Place, width: int) -> None:
        self._taken |= _cells(place, width)
        self.bottom = max(self.bottom, place[1] + _ROW)

    def free(self, wanted: _Place, width: int) -> _Place:
        first = self._next.get(wanted, 0)
        for row in range(first, first + _TRIES):
            place = wanted[0], wanted[1] + row * _ROW
            if not self._taken & _cells(place, width):
                break
        self._next[wanted] = row + 1
        self.take(place, width)
        return place


def _cells(place: _Place, width: int) -> set[_Place]:
    half = _COLUMN // 2
    row = place[1] // (_ROW // 2)
    return {(cell, row) for cell in range(place[0] // half, (place[0] + width) // half + 1)}


def _beside(workflow: Workflow, node: Node, place: _Place) -> Iterator[tuple[Node, _Place]]:
    x, y = place
    subs = x
    for wire in workflow.outgoing.get(node.name, ()):
        is_main = wire.source_type == "main"
        yield wire.target, (x + _step(workflow, node), y) if is_main else (x, y - _ROW)
    for wire in sorted(workflow.incoming.get(node.name, ()), key=lambda wire: _ORDER.get(wire.target_type, 0)):
        step = _step(workflow, wire.source)
        if wire.source_type == "main":
            yield wire.source, (x - step, y)
        else:
            yield wire.source, (subs, y + _ROW)
            subs += step


def _step(workflow: Workflow, node: Node) -> int:
    return max(_COLUMN, _width(workflow, node) + _GAP)


def _width(workflow: Workflow, node: Node) -> int:
    below = {wire.target_type for wire in workflow.incoming.get(node.name, ()) if wire.source_type != "main"}
    return max(_WIDE, 62 * len(below) + 20) if below else _BOX


def _place(node: Node) -> _Place:
    position: Any = node.raw["position"]
    x, y = (round(max(-_FARTHEST, min(_FARTHEST, one))) for one in position)
    return x, y
