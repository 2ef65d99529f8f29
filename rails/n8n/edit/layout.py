"""Positions for nodes that have none: the nearest free place beside a connected node.

Flow goes right, sub-nodes below their root, unconnected nodes to the bottom.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from rails.n8n.model import Node, Workflow, is_position

#: The editor's own spacing, in canvas units.
_COLUMN: Final = 240
_ROW: Final = 200
#: Canvas units; what is farther out counts as there.
_FARTHEST: Final = 40_000
#: Places that are tried below each other before two nodes may overlap.
_TRIES: Final = 200

_Place = tuple[int, int]


def node_places(workflow: Workflow) -> dict[int, _Place]:
    """Return every node's position by index: its own if valid, else one that is free."""
    places = {node.index: _own(node) for node in workflow.nodes if is_position(node.raw.get("position"))}
    if len(places) == len(workflow.nodes):
        return places
    grid = _Grid(places)
    left = min((x for x, _ in places.values()), default=0)
    waiting = deque(node for node in workflow.nodes if node.index in places)
    for start in _in_order(workflow):
        while waiting:
            node = waiting.popleft()
            for other, wanted in _beside(workflow, node, places[node.index]):
                if other.index not in places:
                    places[other.index] = grid.free(wanted)
                    waiting.append(other)
        if start.index not in places:
            places[start.index] = grid.free((left, grid.bottom))
            waiting.append(start)
    return places


def _in_order(workflow: Workflow) -> list[Node]:
    """Return nodes that nothing leads to, the rest of the flow, then sub-nodes and notes."""
    fed = {wire.target.name for wire in workflow.wires if wire.source_type == "main"}
    below = {wire.source.name for wire in workflow.wires if wire.source_type != "main"}
    return sorted(workflow.nodes, key=lambda node: (node.is_sticky or node.name in below, node.name in fed, node.index))


class _Grid:
    """Taken places, in cells of half a column and row."""

    def __init__(self, places: dict[int, _Place]) -> None:
        self._taken = {cell for place in places.values() for cell in _cells(place)}
        self._next: dict[_Place, int] = {}
        #: The first row below everything.
        self.bottom = max((y + _ROW for _, y in places.values()), default=0)

    def free(self, wanted: _Place) -> _Place:
        first = self._next.get(wanted, 0)
        for row in range(first, first + _TRIES):
            place = wanted[0], wanted[1] + row * _ROW
            if not self._taken & _cells(place):
                break
        self._next[wanted] = row + 1
        self._taken |= _cells(place)
        self.bottom = max(self.bottom, place[1] + _ROW)
        return place


def _cells(place: _Place) -> set[_Place]:
    column, row = place[0] * 2 // _COLUMN, place[1] * 2 // _ROW
    return {(column, row), (column + 1, row)}


def _beside(workflow: Workflow, node: Node, place: _Place) -> Iterator[tuple[Node, _Place]]:
    x, y = place
    for wire in workflow.outgoing.get(node.name, ()):
        yield wire.target, (x + _COLUMN, y) if wire.source_type == "main" else (x, y - _ROW)
    subs = x
    for wire in workflow.incoming.get(node.name, ()):
        if wire.source_type == "main":
            yield wire.source, (x - _COLUMN, y)
        else:
            yield wire.source, (subs, y + _ROW)
            subs += _COLUMN


def _own(node: Node) -> _Place:
    position: Any = node.raw["position"]
    x, y = (round(max(-_FARTHEST, min(_FARTHEST, one))) for one in position)
    return x, y
