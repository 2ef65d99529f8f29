"""The geometry of a picture: how large the boxes are, and where wires leave and enter. Pure.

Read from the plain JSON of ``sketch``, possibly out of a log: what is malformed in it is left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from rails.core.dataclass import dataclass, field
from rails.core.tool_request import Json
from rails.n8n.draw.scene import MOST_NODES, MOST_WIRES, Drawing, DrawnKind, DrawnNode
from rails.n8n.nodes.ports import AI_PORTS

_SIDE: Final = 96
_WIDE: Final = 250
_ROUND: Final = 80
_PORT_STEP: Final = 26
_MOST_PORTS: Final = 40
_MOST_KINDS: Final = 16
_FARTHEST: Final = 50_000
_KINDS: Final = frozenset({"add", "remove", "change", "same"})

Point = tuple[float, float]


@dataclass(slots=True)
class NodeBox:
    """A node on the canvas. ``inputs`` and ``outputs`` are how many main ports are drawn, ``below`` its AI inputs."""

    node: DrawnNode
    x: float
    y: float
    inputs: int = 0
    outputs: int = 0
    below: list[str] = field(default_factory=list)
    above: bool = False

    @property
    def is_note(self) -> bool:
        """Whether it is a sticky note."""
        return self.node.note is not None

    @property
    def kind(self) -> DrawnKind:
        """What became of the node."""
        return self.node.kind

    @property
    def width(self) -> float:
        """How wide it is drawn."""
        if self.is_note:
            return self._size(0, 240)
        if self.below:
            return max(_WIDE, 62 * len(self.below) + 20)
        return _ROUND if self.is_sub else _SIDE

    @property
    def height(self) -> float:
        """How high it is drawn, without the text below."""
        if self.is_note:
            return self._size(1, 160)
        return _ROUND if self.is_sub else max(_SIDE, _PORT_STEP * (max(self.inputs, self.outputs) + 1))

    @property
    def is_sub(self) -> bool:
        """Whether it only serves another node: n8n draws it round."""
        return self.above and not (self.inputs or self.outputs or self.below)

    def _size(self, place: int, otherwise: float) -> float:
        size = self.node.size
        return size[place] if len(size) > place and 0 < size[place] <= 4_000 else otherwise

    def output(self, number: int) -> Point:
        """Return where wires of this output leave."""
        return self.x + self.width, self.y + self.height * (number + 1) / (self.outputs + 1)

    def input(self, number: int) -> Point:
        """Return where wires into this input end."""
        return self.x, self.y + self.height * (number + 1) / (self.inputs + 1)

    def port(self, kind: str) -> Point:
        """Return where a sub-node of this kind is connected."""
        place = self.below.index(kind) + 1
        return self.x + self.width * place / (len(self.below) + 1), self.y + self.height


@dataclass(frozen=True, slots=True)
class WireLine:
    """A wire between the boxes of these numbers."""

    source: int
    type: str
    output: int
    target: int
    input: int
    kind: str
    label: str


def boxes_and_wires(drawing: Drawing) -> tuple[list[NodeBox], list[WireLine]]:
    """Return the boxes and wires of a drawing, each box knowing its ports."""
    boxes = [_box(node) for node in drawing.nodes[:MOST_NODES]]
    found = [_line(row, len(boxes)) for row in drawing.wires[:MOST_WIRES]]
    lines = [line for line in found if line is not None]
    below: defaultdict[int, set[str]] = defaultdict(set)
    for line in lines:
        source, target = boxes[line.source], boxes[line.target]
        if line.type == "main":
            source.outputs = max(source.outputs, line.output + 1)
            target.inputs = max(target.inputs, line.input + 1)
        else:
            source.above = True
            below[line.target].add(line.type)
    order = {kind: number for number, kind in enumerate(AI_PORTS)}
    for number, kinds in below.items():
        boxes[number].below = sorted(kinds, key=lambda kind: (order.get(kind, 99), kind))[:_MOST_KINDS]
    return boxes, lines


def _box(node: DrawnNode) -> NodeBox:
    x, y, *_ = (*(max(-_FARTHEST, min(_FARTHEST, at)) for at in node.at), 0, 0)
    return NodeBox(node, x, y)


def _line(row: Json, count: int) -> WireLine | None:
    if not isinstance(row, list) or len(row) != 7:
        return None
    source, kind, output, target, number, change, label = row
    ends = [n for n in (source, target) if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < count]
    texts = [text for text in (kind, change, label) if isinstance(text, str)]
    ports = [min(n, _MOST_PORTS) for n in (output, number) if isinstance(n, int) and n >= 0]
    if len(ends) < 2 or len(texts) < 3 or len(ports) < 2:
        return None
    return WireLine(
        ends[0], texts[0], ports[0], ends[1], ports[1], texts[1] if texts[1] in _KINDS else "same", texts[2]
    )
