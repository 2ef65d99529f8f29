"""A workflow drawn as n8n shows it: an SVG without scripts, styles or anything from elsewhere.

Colours are classes of ``picture.css``, for pages that forbid style attributes. Texts are escaped; of ``scene``'s JSON,
maybe logged, what is malformed is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final

from rails.core.events.reading import read_typed
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.n8n.draw.boxes import NodeBox, boxes_of
from rails.n8n.draw.icons import icon_of
from rails.n8n.draw.scene import MOST_WIRES, Drawing, DrawnWire
from rails.n8n.draw.texts import LINE, cut, note_lines, rows, wrapped
from rails.n8n.nodes.ports import AI_PORTS

_MARGIN: Final = 60
#: Space below a box for its name, and how low a wire that leads back runs below the boxes.
_BELOW: Final = 64
_BACK: Final = 76
#: Pixels for one unit of the canvas, and the widest and least picture that is scaled to fit a page.
_SCALE: Final = 0.8
_PAGE: Final = 1_080
_LEAST: Final = 0.55
_BADGES: Final = {
    "add": ("added", "M-5 0h10M0-5v10"),
    "change": ("changed", "M-6 2c3-6 5 4 12-3"),
    "remove": ("removed", "M-5 0h10"),
}


def stylesheet() -> str:
    """Return the style sheet of the pictures."""
    return Path(__file__).with_name("picture.css").read_text("utf-8")


def svg(value: Json, label: str = "Workflow", *, alone: bool = False) -> str:
    """Return the picture of ``value`` (:func:`drawing`), ``alone`` with its styles; "" if nothing is to draw."""
    drawn = read_typed(Drawing, value)
    boxes = boxes_of(drawn)
    wires = drawn.wires[:MOST_WIRES]
    if not boxes:
        return ""
    canvas = _Canvas(boxes, wires, compared=drawn.compared)
    left = min(box.x for box in boxes) - _MARGIN
    top = min(box.y for box in boxes) - _MARGIN
    width = max(max(box.x + box.width for box in boxes) + _MARGIN - left, 420)
    height = canvas.bottom() + _MARGIN - top
    missing = f"{len(boxes):,} of {drawn.total:,} nodes are drawn" if drawn.total > len(boxes) else ""
    shown = max(min(width * _SCALE, _PAGE), width * _LEAST)
    name = escape(one_line(label, 200))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" aria-label="{name}" '
        f'viewBox="{left} {top} {width} {height}" width="{shown:.0f}" height="{height * shown / width:.0f}">'
    )
    style = f"<style>{stylesheet()}</style>" if alone else ""
    ground = f'<rect class="flow-ground" x="{left}" y="{top}" width="{width}" height="{height}"/>'
    body = [*canvas.notes(), *canvas.wires(), *canvas.boxes(), *canvas.remarks(left + 24, top + height - 22, missing)]
    return "".join([head, style, f"<title>{name}</title>", ground, *body, "</svg>"])


class _Canvas:
    def __init__(self, boxes: list[NodeBox], wires: Iterable[DrawnWire], *, compared: bool) -> None:
        self._boxes = boxes
        self._compared = compared
        self._wires = [wire for wire in wires if wire.source < len(boxes) and wire.target < len(boxes)]

    def _mark(self, kind: str) -> str:
        return f" flow-is-{kind}" if self._compared and kind != "same" else ""

    def bottom(self) -> int:
        ends = [(self._boxes[wire.source], self._boxes[wire.target]) for wire in self._wires if wire.type == "main"]
        back = [_lowest(a, b) for a, b in ends if b.x < a.x + a.width + 24]
        return max([*back, *(box.y + box.height + (0 if box.is_note else _BELOW) for box in self._boxes)])

    def notes(self) -> Iterator[str]:
        for box in sorted((box for box in self._boxes if box.is_note), key=lambda box: -box.width * box.height):
            kind = f"flow-note flow-note-{max(1, min(box.node.colour, 7))}{self._mark(box.node.kind)}"
            yield f'<g class="{kind}" transform="translate({box.x} {box.y})">'
            yield f'<rect class="flow-box" width="{box.width}" height="{box.height}" rx="8"/>'
            yield from note_lines(box.node.note or "", box.width, box.height)
            yield "</g>"

    def wires(self) -> Iterator[str]:
        for wire in sorted(self._wires, key=lambda wire: wire.kind != "same"):
            kind = self._mark(wire.kind) or (" flow-error" if wire.label == "error" else "")
            source = self._boxes[wire.source]
            target = self._boxes[wire.target]
            if wire.type != "main":
                yield f'<path class="flow-wire flow-sub{kind}" d="{_sub_curve(source, target, wire.type)}"/>'
                continue
            (x, y), (u, v) = source.output(wire.output), target.input(wire.input)
            yield f'<path class="flow-wire{kind}" d="{_curve((x, y), (u, v), _lowest(source, target))}"/>'
            yield f'<path class="flow-head{kind}" d="M{u} {v}l-11-6v12z"/>'
            if wire.label:
                yield from rows(f"flow-label{kind}", x + 10, y - 6, [one_line(wire.label, 24)])

    def boxes(self) -> Iterator[str]:
        for box in self._boxes:
            if not box.is_note:
                yield from self._box(box)

    def _box(self, box: NodeBox) -> Iterator[str]:
        node = box.node
        mark = self._mark(box.node.kind)
        icon = icon_of(node.type, trigger=node.trigger)
        off = " flow-off" if node.off else ""
        yield f'<g class="flow-{icon.group}{off}{mark}" transform="translate({box.x} {box.y})">'
        words = [node.name, f"was: {node.was}" if node.was else "", node.type]
        words += ["disabled" if node.off else "", node.kind if mark else ""]
        yield f"<title>{escape(chr(10).join(one_line(word, 200) for word in words if word))}</title>"
        radius = box.width // 2 if box.is_sub else 36 if node.trigger else 10
        yield f'<rect class="flow-box" width="{box.width}" height="{box.height}" rx="{radius}"/>'
        x = 48 if box.below else box.width // 2
        y = box.height // 2
        if icon.path:
            full = " flow-full" if icon.filled else ""
            place = f"translate({x - 21} {y - 21}) scale(1.75)"
            yield f'<path class="flow-glyph{full}" transform="{place}" d="{icon.path}"/>'
        else:
            yield from rows("flow-letters", x, y + 11, [one_line(icon.letters, 2)])
        yield from _pins(box)
        yield from _labels(box)
        if mark:
            yield _badge(node.kind, box.width, 2)
        yield "</g>"

    def remarks(self, x: int, y: int, missing: str) -> Iterator[str]:
        drawn = {box.node.kind for box in self._boxes} | {wire.kind for wire in self._wires}
        for kind, (word, _) in _BADGES.items():
            if self._compared and kind in drawn:
                yield _badge(kind, x + 8, y - 5)
                yield from rows("flow-more", x + 26, y, [word])
                x += 120
        yield from rows("flow-more", x, y, [missing] if missing else [])


def _badge(kind: str, x: int, y: int) -> str:
    mark = f'<circle r="13"/><path d="{_BADGES[kind][1]}"/>'
    return f'<g class="flow-badge flow-is-{kind}" transform="translate({x} {y})">{mark}</g>'


def _pins(box: NodeBox) -> Iterator[str]:
    for number in range(box.outputs):
        x, y = box.output(number)
        yield f'<circle class="flow-pin" cx="{x - box.x}" cy="{y - box.y}" r="5"/>'
    for kind in box.below:
        x, y = box.port(kind)
        yield f'<path class="flow-pin" d="M{x - box.x} {y - box.y - 7}l7 7-7 7-7-7z"/>'
        name = one_line(AI_PORTS.get(kind, kind.removeprefix("ai_")), 12)
        yield from rows("flow-port", x - box.x, y - box.y - 12, [name])


def _labels(box: NodeBox) -> Iterator[str]:
    node = box.node
    name = one_line(node.name, 200)
    if box.below:
        yield from rows("flow-name flow-in", 84, box.height // 2 - 6, wrapped(name, (box.width - 92) // 9, 2))
        return
    lines = wrapped(name, 14 if box.is_sub else 19, 2)
    yield from rows("flow-name", box.width // 2, box.height + 22, lines)
    short = f"→ {one_line(node.calls, 40)}" if node.calls else one_line(node.type.rpartition(".")[2], 200)
    if node.calls or not box.is_sub:
        words = cut(f"{short} · off" if node.off else short, 26)
        yield from rows("flow-type", box.width // 2, box.height + 20 + LINE * len(lines), [words])


def _curve(start: tuple[int, int], end: tuple[int, int], low: int) -> str:
    """Return a wire's path: to the right, or around below at ``low`` if it leads back."""
    (x, y), (u, v) = start, end
    if u >= x + 24:
        bend = max(36, min((u - x) // 2, 160))
        return f"M{x} {y}C{x + bend} {y} {u - bend} {v} {u - 10} {v}"
    return f"M{x} {y}C{x + 80} {y} {x + 60} {low} {x} {low}H{u}C{u - 60} {low} {u - 80} {v} {u - 10} {v}"


def _lowest(source: NodeBox, target: NodeBox) -> int:
    if target.y - (source.y + source.height) > _BACK + 24:
        return target.y - 22
    return max(source.y + source.height, target.y + target.height) + _BACK


def _sub_curve(source: NodeBox, target: NodeBox, kind: str) -> str:
    x = source.x + source.width // 2
    y = source.y + (source.height if source.y < target.y else 0)
    u, v = target.port(kind)
    bend = max(30, abs(y - v) // 2)
    return f"M{x} {y}C{x} {y - bend} {u} {v + 7 + bend} {u} {v + 7}"
