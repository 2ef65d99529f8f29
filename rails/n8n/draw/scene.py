"""What a picture of a workflow is made of: boxes and wires on a canvas, as plain JSON. Pure and bounded.

Made from a comparison, so that one form serves a single workflow and a change; kept in the session log and
drawn by ``picture``. Places are those of n8n's canvas; where a node has none, ``layout`` gives one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from rails.core.events.values import object_to_json
from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.comparison import NodeChange, WireChange, WorkflowComparison
from rails.n8n.edit import layout
from rails.n8n.rules.graph import is_trigger
from rails.n8n.rules.project import calls_of

#: Nodes and wires that are drawn; of more, those that changed come first.
MOST_NODES: Final = 1_000
MOST_WIRES: Final = 2_500
#: A place farther out would make everything else a dot.
_FARTHEST: Final = 40_000
_NAME_CHARS: Final = 120
_NOTE_CHARS: Final = 1_200
#: What n8n's outputs are called where their number says little.
_OUTPUT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "if": ("true", "false"),
    "filter": ("kept", "discarded"),
    "splitInBatches": ("done", "loop"),
    "compareDatasets": ("in A only", "same", "different", "in B only"),
}

_Place = tuple[float, float]
DrawnKind = Literal["same", "add", "remove", "change"]


class DrawnNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node with its place. ``was`` is its name before, ``calls`` the workflow that it calls.

    A sticky note has ``note``, ``size`` and ``colour``.
    """

    name: str
    type: str
    at: tuple[int, ...]
    kind: DrawnKind
    was: str = ""
    off: bool = False
    note: str | None = None
    size: tuple[int, ...] = ()
    colour: int = 0
    trigger: bool = False
    calls: str = ""


class Drawing(msgspec.Struct, frozen=True):
    """A picture as the log keeps it. A wire is source, type, output, target, input, kind and label, by position."""

    compared: bool
    total: int
    nodes: tuple[DrawnNode, ...]
    wires: tuple[Json, ...]


def drawing(comparison: WorkflowComparison) -> Json:
    """Return what :func:`~rails.n8n.draw.picture.svg` draws. Never raises."""
    changes = _chosen(comparison.nodes)
    places = _places(changes, comparison.wires)
    numbers = {change.node.name: n for n, change in reversed(list(enumerate(changes))) if change.kind != "remove"}
    gone = {change.node.name: n for n, change in enumerate(changes) if change.kind == "remove"}
    chosen = sorted(comparison.wires, key=lambda wire: wire.kind == "same")[:MOST_WIRES]
    wires = tuple(row for wire in chosen if (row := _wire(wire, changes, {**gone, **numbers})) is not None)
    nodes = tuple(_node(change, place) for change, place in zip(changes, places, strict=True))
    return object_to_json(Drawing(not comparison.is_new, len(comparison.nodes), nodes, wires))


def _chosen(nodes: tuple[NodeChange, ...]) -> list[NodeChange]:
    if len(nodes) <= MOST_NODES:
        return list(nodes)
    return sorted(nodes, key=lambda node: node.kind == "same")[:MOST_NODES]


def _node(change: NodeChange, place: _Place) -> DrawnNode:
    node, before = change.node, change.before if change.renamed else None
    content, colour = node.parameters.get("content"), node.parameters.get("color")
    sizes = (("width", 240), ("height", 160)) if node.is_sticky else ()
    coloured = node.is_sticky and isinstance(colour, int) and not isinstance(colour, bool) and 1 <= colour <= 7
    return DrawnNode(
        name=node.name[:_NAME_CHARS],
        type=node.type[:_NAME_CHARS],
        at=(round(place[0]), round(place[1])),
        kind=change.kind,
        was=before.name[:_NAME_CHARS] if before else "",
        off=node.disabled,
        note=(content[:_NOTE_CHARS] if isinstance(content, str) else "") if node.is_sticky else None,
        size=tuple(_size(node.parameters.get(name), usual) for name, usual in sizes),
        colour=colour if coloured and isinstance(colour, int) else 0,
        trigger=not node.is_sticky and is_trigger(node),
        calls=next((call.named or call.target for call in calls_of(node)), "")[:_NAME_CHARS],
    )


def _size(value: Json, otherwise: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 4_000:
        return otherwise
    return round(value)


def _wire(wire: WireChange, changes: list[NodeChange], numbers: Mapping[str, int]) -> list[Json] | None:
    source, target = numbers.get(wire.source), numbers.get(wire.target)
    if source is None or target is None:
        return None
    label = _label(wire, changes[source].node)
    return [source, wire.type[:40], wire.output, target, wire.input, wire.kind, label]


def _label(wire: WireChange, source: model.Node) -> str:
    if wire.type != "main":
        return ""
    names = _OUTPUT_NAMES.get(source.type.rpartition(".")[2], ())
    if names == _OUTPUT_NAMES["splitInBatches"] and (source.version or 3) < 3:
        names = names[::-1]  # until version 3 the loop came first
    if wire.output < len(names):
        return names[wire.output]
    if source.raw.get("onError") == "continueErrorOutput" and wire.output == max(len(names), 1):
        return "error"
    return _rule_name(source, wire.output)


def _rule_name(source: model.Node, output: int) -> str:
    """Return the name that a Switch gives to its output."""
    rules = source.parameters.get("rules")
    rows = rules.get("values") if isinstance(rules, dict) else None
    row = rows[output] if isinstance(rows, list) and output < len(rows) else None
    key = row.get("outputKey") if isinstance(row, dict) else None
    return key[:24] if isinstance(key, str) and not key.startswith("=") else ""


# -- places ------------------------------------------------------------------------------------------


def _places(changes: list[NodeChange], wires: Iterable[WireChange]) -> list[_Place]:
    """Return a place for each node: its own, or where there is none one beside those it is connected to."""
    found = [_own(change.node.raw.get("position")) for change in changes]
    if all(found):
        return [place for place in found if place is not None]
    raw: list[Json] = [
        {**change.node.raw, "name": f"{n}", "position": [*place] if place else None}
        for n, (change, place) in enumerate(zip(changes, found, strict=True))
    ]
    made = layout.missing(model.build({"nodes": raw, "connections": _between_places(changes, wires)}))
    return [place or made[n] for n, place in enumerate(found)]


def _between_places(changes: list[NodeChange], wires: Iterable[WireChange]) -> dict[str, Json]:
    """Return the wires as connections between the numbers of the nodes."""
    numbers = {change.node.name: f"{n}" for n, change in reversed(list(enumerate(changes)))}
    made: dict[str, Json] = {}
    rows: dict[str, dict[str, list[Json]]] = {}
    for wire in wires:
        if wire.source in numbers and wire.target in numbers:
            target: Json = {"node": numbers[wire.target], "type": wire.type, "index": 0}
            rows.setdefault(numbers[wire.source], {}).setdefault(wire.type, []).append(target)
    for source, outputs in rows.items():
        made[source] = {kind: [targets] for kind, targets in outputs.items()}
    return made


def _own(position: Json) -> _Place | None:
    if not isinstance(position, list) or not model.is_position(position):
        return None
    x, y = (one for one in position if isinstance(one, int | float))
    return (x, y) if abs(x) <= _FARTHEST and abs(y) <= _FARTHEST else None
