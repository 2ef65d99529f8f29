"""A workflow as the rules see it: its nodes and wires, as far as they are well-formed.

Built after ``structure`` has said what is not well-formed, so a malformed node or wire is left out here
and never reported twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rails.core.dataclass import dataclass, field
from rails.core.tool_request import Json
from rails.n8n.issues import JsonPath, Names, shown

STICKY = "n8n-nodes-base.stickyNote"


@dataclass(frozen=True, slots=True)
class Node:
    """One node. ``version`` is ``None`` where the file leaves it to n8n."""

    index: int
    name: str
    type: str
    version: float | None
    parameters: Mapping[str, Json]
    disabled: bool
    raw: Mapping[str, Json]

    @property
    def path(self) -> JsonPath:
        """The node's JSON path."""
        return ("nodes", self.index)

    @property
    def is_sticky(self) -> bool:
        """Whether the node is a note on the canvas, which has no inputs, outputs or run."""
        return self.type == STICKY

    @property
    def title(self) -> str:
        """The node for the start of a sentence; ``str(node)`` is for its middle."""
        return f"Node {shown(self.name)}"

    def __str__(self) -> str:
        return f"node {shown(self.name)}"


@dataclass(frozen=True, slots=True)
class Wire:
    """One connection between two existing nodes. ``position`` is its place in its output's list."""

    source: Node
    source_type: str
    output: int
    position: int
    target: Node
    target_type: str
    input: int

    @property
    def path(self) -> JsonPath:
        """The JSON path of the connection's target object."""
        return ("connections", self.source.name, self.source_type, self.output, self.position)


@dataclass(frozen=True, slots=True)
class Workflow:
    """Nodes, wires, and both indexed. Where two nodes have one name, wires mean the first."""

    raw: Mapping[str, Json]
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    by_name: Mapping[str, Node]
    outgoing: Mapping[str, tuple[Wire, ...]] = field(repr=False)
    incoming: Mapping[str, tuple[Wire, ...]] = field(repr=False)

    def names(self) -> Names:
        """Return the names that code and connections may use: all but those of sticky notes."""
        return Names(node.name for node in self.nodes if not node.is_sticky)


def build(value: Mapping[str, Json]) -> Workflow:
    """Return the well-formed part of a workflow object. Never raises."""
    nodes = tuple(_nodes(value.get("nodes")))
    by_name: dict[str, Node] = {}
    for node in nodes:
        by_name.setdefault(node.name, node)
    wires = tuple(_wires(value.get("connections"), by_name))
    return Workflow(value, nodes, wires, by_name, _index(wires, outgoing=True), _index(wires, outgoing=False))


def _nodes(nodes: Json) -> Iterator[Node]:
    for index, raw in enumerate(nodes if isinstance(nodes, list) else ()):
        if not isinstance(raw, dict):
            continue
        name, node_type, version, parameters = (raw.get(k) for k in ("name", "type", "typeVersion", "parameters"))
        if not (isinstance(name, str) and name and isinstance(node_type, str) and node_type):
            continue
        number = None if isinstance(version, bool) or not isinstance(version, int | float) else float(version)
        given = parameters if isinstance(parameters, dict) else {}
        yield Node(index, name, node_type, number, given, raw.get("disabled") is True, raw)


def _wires(connections: Json, by_name: Mapping[str, Node]) -> Iterator[Wire]:
    for name, outputs in _items(connections):
        source = by_name.get(name)
        if source is None:
            continue
        for source_type, buckets in _items(outputs):
            for output, bucket in enumerate(buckets if isinstance(buckets, list) else ()):
                for position, target in enumerate(bucket if isinstance(bucket, list) else ()):
                    wire = _wire(source, source_type, (output, position), target, by_name)
                    if wire is not None:
                        yield wire


def _wire(
    source: Node, source_type: str, place: tuple[int, int], target: Json, by_name: Mapping[str, Node]
) -> Wire | None:
    if not isinstance(target, dict):
        return None
    name, target_type, number = target.get("node"), target.get("type"), target.get("index")
    node = by_name.get(name) if isinstance(name, str) else None
    if node is None or not isinstance(target_type, str) or not target_type or isinstance(number, bool):
        return None
    if not isinstance(number, int | float) or not 0 <= number < 1e9 or number != int(number):
        return None
    return Wire(source, source_type, *place, node, target_type, int(number))


def _items(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from value.items()


def _index(wires: tuple[Wire, ...], *, outgoing: bool) -> dict[str, tuple[Wire, ...]]:
    found: dict[str, list[Wire]] = {}
    for wire in wires:
        found.setdefault(wire.source.name if outgoing else wire.target.name, []).append(wire)
    return {name: tuple(group) for name, group in found.items()}
