"""Positions for nodes that have none.

Where no node has one: columns from the triggers to the right, sub-nodes below their root. Where others have
theirs: beside the node that they are connected to, in the nearest free place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from rails.n8n.model import Node, Workflow, is_position
from rails.n8n.nodes.ports import AI_PORTS

#: The editor's own spacing, in canvas units.
_COLUMN, _ROW = 240, 200
#: How wide a plain node, one with sub-nodes, and the name of a sub-node are; the room between sub-nodes and columns.
_BOX, _WIDE, _NAMED, _BETWEEN, _GAP = 96, 250, 160, 20, 140
#: The order in which AI inputs are drawn.
_PORTS: Final = {kind: number for number, kind in enumerate(AI_PORTS)}
#: Sub-nodes of sub-nodes are followed this deep.
_DEEPEST: Final = 20
#: Canvas units; what is farther out counts as there.
_FARTHEST: Final = 1_000_000


#: Places that are tried below each other before two nodes may overlap.
_TRIES: Final = 200


def missing(workflow: Workflow) -> dict[int, tuple[int, int]]:
    """Return a position for each node that has none that n8n accepts, by its index."""
    known = {node.index: _place(node) for node in workflow.nodes if is_position(node.raw.get("position"))}
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
    subs = 0
    for wire in workflow.outgoing.get(node.name, ()):
        ahead = x + max(_COLUMN, _width(workflow, node) + _GAP)
        yield wire.target, (ahead, y) if wire.source_type == "main" else (x, y - _ROW)
    for wire in workflow.incoming.get(node.name, ()):
        if wire.source_type == "main":
            yield wire.source, (x - max(_COLUMN, _width(workflow, wire.source) + _GAP), y)
        else:
            yield wire.source, (x + subs, y + _ROW)
            subs += max(_COLUMN, _width(workflow, wire.source) + _BETWEEN)


def _place(node: Node) -> tuple[int, int]:
    position = node.raw["position"]
    x, y = (one for one in (position if isinstance(position, list) else []) if isinstance(one, int | float))
    return tuple(round(max(-_FARTHEST, min(_FARTHEST, one))) for one in (x, y))  # type: ignore[return-value]


def positions(workflow: Workflow) -> dict[int, tuple[int, int]]:
    """Return a position for each node by its index: no two boxes over each other, the flow from left to right.

    A node's sub-nodes stand below it, those of a sub-node below that, and its column is as wide as all of them.
    """
    columns = _columns(workflow)
    places: dict[int, tuple[int, int]] = {}
    left = lowest = 0
    by_column: list[list[Node]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for node in workflow.nodes:
        if node.name in columns:
            by_column[columns[node.name]].append(node)
    for nodes in by_column:
        top, widest = 0, 0
        for node in nodes:
            if node.index not in places:
                width, height = _put_tree(workflow, node, (left, top), places)
                top, widest = top + height, max(widest, width)
        left, lowest = left + max(_COLUMN, widest + _GAP), max(lowest, top)
    left = 0
    for node in workflow.nodes:
        if node.index not in places:
            width, _ = _put_tree(workflow, node, (left, lowest), places)
            left += max(_COLUMN, width + _GAP)
    return places


def _put_tree(
    workflow: Workflow, node: Node, at: tuple[int, int], places: dict[int, tuple[int, int]], depth: int = 0
) -> tuple[int, int]:
    """Put a node at a place and its sub-nodes below it. Returns how wide and how high they are together.

    A sub-node that serves several nodes stands below the first.
    """
    places[node.index] = at
    right, lowest = at[0], 0
    wires = sorted(workflow.incoming.get(node.name, ()), key=lambda wire: _PORTS.get(wire.target_type, 99))
    for wire in wires if depth < _DEEPEST else ():
        if wire.source_type != "main" and wire.source.index not in places and not wire.source.is_sticky:
            width, height = _put_tree(workflow, wire.source, (right, at[1] + _ROW), places, depth + 1)
            right, lowest = right + width + _BETWEEN, max(lowest, height)
    return max(_width(workflow, node), right - _BETWEEN - at[0]), _ROW + lowest


def _width(workflow: Workflow, node: Node) -> int:
    """Return how wide a node is drawn, with its name: wide where sub-nodes are connected below it."""
    below = {wire.target_type for wire in workflow.incoming.get(node.name, ()) if wire.source_type != "main"}
    return max(_WIDE, 62 * len(below) + 20) if below else _NAMED if _is_below(workflow, node) else _BOX


def _columns(workflow: Workflow) -> dict[str, int]:
    """Return each node's column: its distance along main connections from a node that nothing leads to."""
    roots = [node for node in workflow.nodes if not _is_below(workflow, node)]
    fed = {wire.target.name for wire in workflow.wires if wire.source_type == "main"}
    columns: dict[str, int] = {}
    layer = [node.name for node in roots if node.name not in fed] or [node.name for node in roots[:1]]
    column = 0
    while layer:
        columns.update(dict.fromkeys(layer, column))
        wires = (wire for name in layer for wire in workflow.outgoing.get(name, ()) if wire.source_type == "main")
        following = dict.fromkeys(wire.target.name for wire in wires if wire.target.name not in columns)
        layer, column = list(following), column + 1
        if not layer:
            layer = [node.name for node in roots if node.name not in columns][:1]
    return columns


def _is_below(workflow: Workflow, node: Node) -> bool:
    wires = workflow.outgoing.get(node.name, ())
    return node.is_sticky or (bool(wires) and all(wire.source_type != "main" for wire in wires))
