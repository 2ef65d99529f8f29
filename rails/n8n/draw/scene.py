"""A workflow's picture as plain JSON: boxes and wires on a canvas. Pure and bounded.

Made from a comparison, so one form serves workflows and changes; kept in the log. ``layout`` gives missing places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from rails.core.events.values import object_to_json
from rails.core.tool_request import Json
from rails.n8n.comparison import NodeChange, WorkflowComparison
from rails.n8n.edit import layout
from rails.n8n.model import Node, is_position
from rails.n8n.rules.graph import is_trigger
from rails.n8n.values import is_numeric

#: Nodes and wires that are drawn; of more, those that changed come first.
MOST_NODES: Final = 1_000
MOST_WIRES: Final = 2_500
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

#: Nodes that call another workflow.
_CALLERS: Final = (
    "n8n-nodes-base.executeWorkflow",
    "@n8n/n8n-nodes-langchain.toolWorkflow",
    "@n8n/n8n-nodes-langchain.retrieverWorkflow",
)

Place = tuple[int, int]
DrawnKind = Literal["same", "add", "remove", "change"]


class DrawnNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A placed node. ``was``: its former name; ``calls``: a workflow.

    Only sticky notes have ``note``, ``size``, ``colour``.
    """

    name: str
    type: str
    at: tuple[int, ...]
    kind: DrawnKind = "same"
    was: str = ""
    off: bool = False
    note: str | None = None
    size: tuple[int, ...] = ()
    colour: int = 1
    trigger: bool = False
    calls: str = ""


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
    """Return what :func:`~rails.n8n.draw.picture.svg` draws. Never raises."""
    changes = sorted(comparison.nodes, key=lambda node: node.kind == "same")[:MOST_NODES]
    if len(comparison.nodes) <= MOST_NODES:
        changes = list(comparison.nodes)
    nodes = tuple(map(_node, changes, _places(changes, comparison)))
    return object_to_json(Drawing(not comparison.is_new, len(comparison.nodes), nodes, _wires(changes, comparison)))


def _node(change: NodeChange, place: Place) -> DrawnNode:
    node = change.node
    before = change.before
    given = change.node.parameters
    drawn = DrawnNode(
        name=node.name[:_NAME_CHARS],
        type=node.type[:_NAME_CHARS],
        at=place,
        kind=change.kind,
        was=before.name[:_NAME_CHARS] if before and change.renamed else "",
        off=node.disabled,
        trigger=is_trigger(node),
        calls=_called(node)[:_NAME_CHARS],
    )
    if not node.is_sticky:
        return drawn
    content = given.get("content")
    colour = given.get("color")
    note = content[:_NOTE_CHARS] if isinstance(content, str) else ""
    size = (_number(given.get("width"), 240, 4_000), _number(given.get("height"), 160, 4_000))
    return msgspec.structs.replace(drawn, note=note, size=size, colour=_number(colour, 1, 7))


def _called(node: Node) -> str:
    value = node.parameters.get("workflowId") if node.type in _CALLERS else None
    chosen = value if isinstance(value, dict) else {"value": value}
    named = chosen.get("cachedResultName") or chosen.get("value")
    return named if isinstance(named, str) and not named.startswith("=") else ""


def _number(value: Json, otherwise: int, most: int) -> int:
    return round(value) if is_numeric(value) and 1 <= value <= most else otherwise  # type: ignore[operator, arg-type]


def _wires(changes: list[NodeChange], comparison: WorkflowComparison) -> tuple[DrawnWire, ...]:
    numbers: dict[str, int] = {}
    # Of a node that is gone and one that is there under the same name, wires mean the one that is there.
    for number, change in sorted(enumerate(changes), key=lambda pair: pair[1].kind == "remove"):
        numbers.setdefault(change.node.name, number)
    made: list[DrawnWire] = []
    for wire in sorted(comparison.wires, key=lambda wire: wire.kind == "same")[:MOST_WIRES]:
        source = numbers.get(wire.source)
        target = numbers.get(wire.target)
        if source is not None and target is not None:
            label = _label(wire.output, changes[source].node) if wire.type == "main" else ""
            made.append(DrawnWire(source, target, wire.type[:40], wire.output, wire.input, wire.kind, label))
    return tuple(made)


def _label(output: int, source: Node) -> str:
    short = source.type.rpartition(".")[2]
    names = _OUTPUT_NAMES.get(short, ())
    if short == "splitInBatches" and (source.version or 3) < 3:
        names = names[::-1]  # until version 3 the loop came first
    if output < len(names):
        return names[output]
    if source.raw.get("onError") == "continueErrorOutput" and output == max(len(names), 1):
        return "error"
    return _rule_name(source, output)


def _rule_name(source: Node, output: int) -> str:
    rules = source.parameters.get("rules")
    rows = rules.get("values") if isinstance(rules, dict) else None
    row = rows[output] if isinstance(rows, list) and output < len(rows) else None
    key = row.get("outputKey") if isinstance(row, dict) else None
    return key[:24] if isinstance(key, str) and not key.startswith("=") else ""


def _places(changes: list[NodeChange], comparison: WorkflowComparison) -> list[Place]:
    """Return each node's place, or the layout's; removed ones go below."""
    made, gone = (layout.missing(one) for one in (comparison.after, comparison.before))
    below = max((y for _, y in made.values()), default=0) + 200
    found: list[Place] = []
    for change in changes:
        position = change.node.raw.get("position")
        if isinstance(position, list) and is_position(position):
            x, y = (round(max(-_FARTHEST, min(_FARTHEST, one))) for one in position)  # type: ignore[type-var, arg-type]
        elif change.after is not None:
            x, y = made[change.after.index]
        else:
            x, y = gone[change.node.index]
            y += below
        found.append((x, y))
    return found
