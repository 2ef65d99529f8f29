"""A workflow's picture as plain JSON: boxes and wires on a canvas. Pure and bounded.

Made from a comparison, so one form serves workflows and changes; kept in the log. ``layout`` gives missing places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from rails.core.json_text import json_object
from rails.core.tool_request import Json
from rails.n8n.comparison import NodeChange, WireChange, WorkflowComparison
from rails.n8n.edit import layout
from rails.n8n.model import Node, is_position
from rails.n8n.rules.graph import is_trigger

#: Nodes and wires that are drawn; of more, those that changed come first.
MOST_NODES: Final = 1_000
MOST_WIRES: Final = 2_500
_NAME_CHARS: Final = 120
#: What n8n's outputs are called where their number says little.
_OUTPUT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "if": ("true", "false"),
    "filter": ("kept", "discarded"),
    "splitInBatches": ("done", "loop"),
    "compareDatasets": ("in A only", "same", "different", "in B only"),
}

DrawnKind = Literal["same", "add", "remove", "change"]


class DrawnNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A placed node. ``was``: its former name."""

    name: str
    type: str
    at: tuple[int, ...]
    kind: DrawnKind = "same"
    was: str = ""
    off: bool = False
    trigger: bool = False


class DrawnWire(msgspec.Struct, frozen=True, omit_defaults=True):
    """A wire between nodes by number."""

    source: int
    target: int
    type: str = "main"
    output: int = 0
    input: int = 0
    kind: DrawnKind = "same"
    label: str = ""


class Drawing(msgspec.Struct, frozen=True):
    """A logged picture; ``total`` counts nodes, drawn or not."""

    compared: bool
    total: int
    nodes: tuple[DrawnNode, ...]
    wires: tuple[DrawnWire, ...]


def drawing(comparison: WorkflowComparison) -> Json:
    """Return what :func:`~rails.n8n.draw.picture.svg` draws: all but the notes. Never raises."""
    everything = [change for change in comparison.nodes if not change.node.is_sticky]
    changes = everything
    if len(changes) > MOST_NODES:
        changes = sorted(changes, key=lambda node: node.kind == "same")[:MOST_NODES]
    gone, here = (layout.node_places(one) for one in (comparison.before, comparison.after))
    below = max((y for _, y in here.values()), default=0) + 200
    gone = {
        node.index: (x, y if is_position(node.raw.get("position")) else y + below)
        for node in comparison.before.nodes
        for x, y in [gone[node.index]]
    }
    nodes = tuple(_node(change, here if change.after else gone) for change in changes)
    return json_object(Drawing(not comparison.is_new, len(everything), nodes, _wires(changes, comparison)))


def _node(change: NodeChange, places: Mapping[int, tuple[int, int]]) -> DrawnNode:
    node = change.node
    return DrawnNode(
        name=node.name[:_NAME_CHARS],
        type=node.type[:_NAME_CHARS],
        at=places[node.index],
        kind=change.kind,
        was=change.before.name[:_NAME_CHARS] if change.before and change.renamed else "",
        off=node.disabled,
        trigger=is_trigger(node),
    )


def _wires(changes: Sequence[NodeChange], comparison: WorkflowComparison) -> tuple[DrawnWire, ...]:
    # Of a node that is gone and one that is there under the same name, wires mean the one that is there.
    numbered = sorted(enumerate(changes), key=lambda pair: pair[1].kind != "remove")
    numbers = {change.node.name: number for number, change in numbered}
    wires = [wire for wire in comparison.wires if wire.source in numbers and wire.target in numbers]
    wires.sort(key=lambda wire: wire.kind == "same")
    return tuple(_drawn(wire, numbers, changes) for wire in wires[:MOST_WIRES])


def _drawn(wire: WireChange, numbers: Mapping[str, int], changes: Sequence[NodeChange]) -> DrawnWire:
    source = numbers[wire.source]
    label = _label(wire.output, changes[source].node) if wire.type == "main" else ""
    ends = (source, numbers[wire.target], wire.type[:40], wire.output, wire.input)
    return DrawnWire(*ends, wire.kind, label)


def _label(output: int, source: Node) -> str:
    short = source.type.rpartition(".")[2]
    names = _OUTPUT_NAMES.get(short, ())
    if short == "splitInBatches" and (source.version or 3) < 3:
        names = names[::-1]  # until version 3 the loop came first
    if output < len(names):
        return names[output]
    is_error = source.raw.get("onError") == "continueErrorOutput" and output == max(len(names), 1)
    return "error" if is_error else ""
