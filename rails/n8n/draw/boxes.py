"""A picture's boxes, and where wires meet them. Pure; whole units of the canvas."""

from __future__ import annotations

from typing import Final

import msgspec

from rails.n8n.draw.scene import MOST_NODES, MOST_WIRES, Drawing, DrawnNode
from rails.n8n.nodes.ports import AI_PORTS

_SIDE: Final = 96
_WIDE: Final = 250
_ROUND: Final = 80
_PORT_STEP: Final = 26
_MOST_PORTS: Final = 40
_MOST_KINDS: Final = 16
_FARTHEST: Final = 50_000


class NodeBox(msgspec.Struct):
    """A node on the canvas. ``inputs`` and ``outputs`` count main ports; ``below``: its AI inputs."""

    node: DrawnNode
    x: int
    y: int
    inputs: int = 0
    outputs: int = 0
    below: tuple[str, ...] = ()
    serves: bool = False

    @property
    def is_note(self) -> bool:
        """Whether it is a sticky note."""
        return self.node.note is not None

    @property
    def is_sub(self) -> bool:
        """Whether it only serves another: drawn round."""
        return self.serves and not (self.inputs or self.outputs or self.below)

    @property
    def width(self) -> int:
        """The drawn width."""
        if self.is_note:
            return self._size(0)
        if self.below:
            return max(_WIDE, 62 * len(self.below) + 20)
        return _ROUND if self.is_sub else _SIDE

    @property
    def height(self) -> int:
        """The drawn height, without the text below."""
        if self.is_note:
            return self._size(1)
        return _ROUND if self.is_sub else max(_SIDE, _PORT_STEP * (max(self.inputs, self.outputs) + 1))

    def _size(self, side: int) -> int:
        size = (*self.node.size, 240, 160)[side]
        return size if 0 < size <= 4_000 else 160

    def output(self, number: int) -> tuple[int, int]:
        """Return where wires of this output leave."""
        return self.x + self.width, self.y + self.height * (min(number, _MOST_PORTS) + 1) // (self.outputs + 1)

    def input(self, number: int) -> tuple[int, int]:
        """Return where wires into this input end."""
        return self.x, self.y + self.height * (min(number, _MOST_PORTS) + 1) // (self.inputs + 1)

    def port(self, kind: str) -> tuple[int, int]:
        """Return where such a sub-node is connected."""
        place = self.below.index(kind) + 1 if kind in self.below else 0
        return self.x + self.width * place // (len(self.below) + 1), self.y + self.height


def boxes_of(drawing: Drawing) -> list[NodeBox]:
    """Return a drawing's boxes with their ports."""
    boxes = [_box(node) for node in drawing.nodes[:MOST_NODES]]
    order = list(AI_PORTS)
    for wire in drawing.wires[:MOST_WIRES]:
        if not (0 <= wire.source < len(boxes) and 0 <= wire.target < len(boxes)):
            continue
        source = boxes[wire.source]
        target = boxes[wire.target]
        if wire.type == "main":
            source.outputs = max(source.outputs, min(wire.output, _MOST_PORTS) + 1)
            target.inputs = max(target.inputs, min(wire.input, _MOST_PORTS) + 1)
        else:
            source.serves = True
            kinds = {*target.below, wire.type}
            known = [kind for kind in order if kind in kinds]
            target.below = (*known, *sorted(kinds.difference(known)))[:_MOST_KINDS]
    return boxes


def _box(node: DrawnNode) -> NodeBox:
    x, y, *_ = (*(max(-_FARTHEST, min(_FARTHEST, at)) for at in node.at), 0, 0)
    return NodeBox(node, x, y)
