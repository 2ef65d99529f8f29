"""A workflow drawn as n8n shows it: an SVG without scripts, styles or anything from elsewhere.

Colours are classes of ``picture.css``, for pages that forbid style attributes. Texts are escaped; of ``scene``'s JSON,
maybe logged, what is malformed is left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from rails.core.events.reading import read_typed
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.n8n.draw.scene import MOST_NODES, MOST_WIRES, Drawing, DrawnNode, DrawnWire

#: Units of the canvas: a box, the space around all, and between two lines of text.
SIDE: Final = 96
_MARGIN: Final = 60
_LINE: Final = 20
#: How far apart the ends of two wires are, and how low a wire that leads back runs below the boxes.
_PORT: Final = 18
_BACK: Final = 76
_FARTHEST: Final = 50_000
#: Pixels for one unit of the canvas, and the widest and least picture that is scaled to fit a page.
_SCALE: Final = 0.8
_PAGE: Final = 1_080
_LEAST: Final = 0.55
_BADGES: Final = {"add": ("added", "+"), "change": ("changed", "~"), "remove": ("removed", "\u2212")}


class NodeBox(NamedTuple):
    """A node on the canvas."""

    node: DrawnNode
    x: int
    y: int


def stylesheet() -> str:
    """Return the style sheet of the pictures."""
    return Path(__file__).with_name("picture.css").read_text("utf-8")


def svg(value: Json, label: str = "Workflow", *, alone: bool = False) -> str:
    """Return the picture of ``value`` (:func:`drawing`), ``alone`` with its styles; "" if nothing is to draw."""
    drawn = read_typed(Drawing, value)
    boxes = boxes_of(drawn)
    if not boxes:
        return ""
    known = range(len(boxes))
    wires = [wire for wire in drawn.wires[:MOST_WIRES] if wire.source in known and wire.target in known]
    left, top = min(box.x for box in boxes) - _MARGIN, min(box.y for box in boxes) - _MARGIN
    width = max(max(box.x for box in boxes) + SIDE + _MARGIN - left, 420)
    height = max(box.y for box in boxes) + SIDE + _BACK + _MARGIN - top
    shown = max(min(width * _SCALE, _PAGE), width * _LEAST)
    name = escape(one_line(label, 200))
    size = f'width="{shown:.0f}" height="{height * shown / width:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" aria-label="{name}" '
        f'viewBox="{left} {top} {width} {height}" {size}><title>{name}</title>'
    )
    style = f"<style>{stylesheet()}</style>" if alone else ""
    ground = f'<rect class="flow-ground" x="{left}" y="{top}" width="{width}" height="{height}"/>'
    kinds = {box.node.kind for box in boxes} | {wire.kind for wire in wires}
    words = [f"{mark} {word}" for kind, (word, mark) in _BADGES.items() if drawn.compared and kind in kinds]
    if drawn.total > len(boxes):
        words.append(f"{len(boxes):,} of {drawn.total:,} nodes are drawn")
    legend = _rows("flow-more", left + 24, top + height - 22, ["   ".join(words)])
    return "".join([head, style, ground, *_body(boxes, wires, compared=drawn.compared), *legend, "</svg>"])


def boxes_of(drawing: Drawing) -> list[NodeBox]:
    """Return a drawing's boxes."""
    return [_box(node) for node in drawing.nodes[:MOST_NODES]]


def _box(node: DrawnNode) -> NodeBox:
    x, y, *_ = (*(max(-_FARTHEST, min(_FARTHEST, at)) for at in node.at), 0, 0)
    return NodeBox(node, x, y)


def _body(boxes: list[NodeBox], wires: list[DrawnWire], *, compared: bool) -> Iterator[str]:
    for wire in sorted(wires, key=lambda wire: wire.kind != "same"):
        kind = _mark(wire.kind, compared=compared) or (" flow-error" if wire.label == "error" else "")
        yield from _wire(wire, boxes[wire.source], boxes[wire.target], kind)
    for box in boxes:
        yield from _node(box, "flow-start" if box.node.trigger else "flow-app", compared=compared)


def _mark(kind: str, *, compared: bool) -> str:
    return f" flow-is-{kind}" if compared and kind != "same" else ""


def _node(box: NodeBox, look: str, *, compared: bool) -> Iterator[str]:
    node = box.node
    mark = _mark(node.kind, compared=compared)
    off = " flow-off" if node.off else ""
    yield f'<g class="{look}{off}{mark}" transform="translate({box.x} {box.y})">'
    words = [node.name, node.was and f"was: {node.was}", node.type, node.off and "disabled", mark and node.kind]
    yield f"<title>{escape(chr(10).join(one_line(word, 200) for word in words if word))}</title>"
    radius = 36 if node.trigger else 10
    yield f'<rect class="flow-box" width="{SIDE}" height="{SIDE}" rx="{radius}"/>'
    yield from _texts(node)
    if mark:
        yield from _rows("flow-badge", SIDE - 14, 22, [_BADGES[node.kind][1]])
    yield "</g>"


def _texts(node: DrawnNode) -> Iterator[str]:
    short = one_line(node.type.rpartition(".")[2], 200)
    yield from _rows("flow-letters", SIDE // 2, SIDE // 2 + 11, [short[:2].title()])
    lines = textwrap.wrap(one_line(node.name, 200), 19, max_lines=2, placeholder="…")
    yield from _rows("flow-name", SIDE // 2, SIDE + 22, lines)
    kind = textwrap.shorten(f"{short} · off" if node.off else short, 26, placeholder="…")
    yield from _rows("flow-type", SIDE // 2, SIDE + 20 + _LINE * len(lines), [kind])


def _rows(kind: str, x: int, y: int, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if line:
            yield f'<text class="{kind}" x="{x}" y="{y + _LINE * number}">{escape(line)}</text>'


def _wire(wire: DrawnWire, source: NodeBox, target: NodeBox, kind: str) -> Iterator[str]:
    if wire.type != "main":
        x, y, u, v = source.x + SIDE // 2, source.y, target.x + SIDE // 2, target.y + SIDE
        bend = max(30, abs(y - v) // 2)
        yield f'<path class="flow-wire flow-sub{kind}" d="M{x} {y}C{x} {y - bend} {u} {v + bend} {u} {v}"/>'
        return
    x, y, u, v = source.x + SIDE, _port(source, wire.output), target.x, _port(target, wire.input)
    bend = max(36, min((u - x) // 2, 160))
    path = f"M{x} {y}C{x + bend} {y} {u - bend} {v} {u - 10} {v}"
    if u < x + 24:
        low = max(source.y, target.y) + SIDE + _BACK
        path = f"M{x} {y}C{x + 80} {y} {x + 60} {low} {x} {low}H{u}C{u - 60} {low} {u - 80} {v} {u - 10} {v}"
    yield f'<path class="flow-wire{kind}" d="{path}"/><path class="flow-head{kind}" d="M{u} {v}l-11-6v12z"/>'
    yield from _rows(f"flow-label{kind}", x + 10, y - 6, [one_line(wire.label, 24)])


def _port(box: NodeBox, number: int) -> int:
    return box.y + SIDE // 2 + _PORT * max(0, min(number, 40))
