"""Positions for nodes that have none.

Where no node has one: columns from the triggers to the right, sub-nodes below their root. Where others have
theirs: beside the node that they are connected to, in the nearest free place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from rails.n8n.model import Node, Workflow

#: The editor's own spacing, in canvas units.
_COLUMN, _ROW = 240, 200
#: Canvas units; what is farther out counts as there.
_FARTHEST: Final = 1_000_000


#: Places that are tried below each other before two nodes may overlap.
_TRIES: Final = 200


def missing(workflow: Workflow) -> dict[int, tuple[int, int]]:
    """Return a position for each node that has none that n8n accepts, by its index."""
    known = {node.index: _place(node) for node in workflow.nodes if has_position(node.raw)}
    if not known:
        return positions(workflow)
    places, grid = dict(known), _Grid()
    for place in known.values():
        grid.take(place)
    waiting = deque(node for node in workflow.nodes if node.index in known)
    while waiting:
        for other, wanted in _beside(workflow, waiting[0], places):
            if other.index not in places:
                places[other.index] = grid.free(wanted)
                waiting.append(other)
        waiting.popleft()
    left, below = min(x for x, _ in known.values()), max(y for _, y in known.values()) + _ROW
    for node in workflow.nodes:
        if node.index not in places:
            places[node.index] = grid.free((left, below))
    return {index: place for index, place in places.items() if index not in known}


class _Grid:
    """Which places are taken, in cells of half a column and half a row."""

    def __init__(self) -> None:
        self._taken: set[tuple[int, int]] = set()
        self._next: dict[tuple[int, int], int] = {}

    def take(self, place: tuple[int, int]) -> None:
        self._taken.add(self._cell(place))

    def free(self, wanted: tuple[int, int]) -> tuple[int, int]:
        """Return ``wanted`` or the nearest free place below it, and take it."""
        first = self._next.get(self._cell(wanted), 0)
        for row in range(first, first + _TRIES):
            place = wanted[0], wanted[1] + row * _ROW
            if self._cell(place) not in self._taken:
                break
        self._next[self._cell(wanted)] = row + 1
        self.take(place)
        return place

    @staticmethod
    def _cell(place: tuple[int, int]) -> tuple[int, int]:
        return place[0] // (_COLUMN // 2), place[1] // (_ROW // 2)


def _beside(
    workflow: Workflow, node: Node, places: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[Node, tuple[int, int]]]:
    """Yield the nodes that ``node`` is connected to, each with the place where a person would put it."""
    x, y = places[node.index]
    for wire in workflow.outgoing.get(node.name, ()):
        yield wire.target, (x + _COLUMN, y) if wire.source_type == "main" else (x, y - _ROW)
    for wire in workflow.incoming.get(node.name, ()):
        yield wire.source, (x - _COLUMN, y) if wire.source_type == "main" else (x, y + _ROW)


def _place(node: Node) -> tuple[int, int]:
    position = node.raw["position"]
    x, y = (one for one in (position if isinstance(position, list) else []) if isinstance(one, int | float))
    return tuple(round(max(-_FARTHEST, min(_FARTHEST, one))) for one in (x, y))  # type: ignore[return-value]


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
