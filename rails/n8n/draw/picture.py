"""A workflow drawn as n8n shows it: an SVG without scripts, styles of its own or anything from elsewhere.

Colours come from the classes of ``picture.css``, by which light and dark follow the reader's system; a page
whose policy forbids style attributes can show it. Every text is escaped. What is drawn is plain JSON from
``sketch``, possibly read back from a log: what is malformed in it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources
from typing import Final

from rails.core.events.reading import read_typed
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.n8n.draw.geometry import NodeBox, WireLine, boxes_and_wires
from rails.n8n.draw.icons import icon_of
from rails.n8n.draw.scene import Drawing
from rails.n8n.draw.svg import box_outline, curve, labels, lowest, note_text, pins, sub_curve, symbol

_MARGIN: Final = 60
#: Space below a box for its name.
_BELOW: Final = 64
#: Pixels for one unit of the canvas, and the widest and least picture that is scaled to fit a page.
_SCALE: Final = 0.8
_PAGE: Final = 1_080
_LEAST: Final = 0.55
_PROPERTY: Final = re.compile(r"(--flow-[a-z-]+): (#[0-9a-f]+)")
_USE: Final = re.compile(r"var\((--flow-[a-z-]+)\)")
_RULE: Final = re.compile(r"[^{}]+\{[^{}]*\}")
_BADGES: Final = {"add": "M-5 0h10M0-5v10", "remove": "M-5 0h10", "change": "M-6 2c3-6 5 4 12-3"}


def stylesheet() -> str:
    """Return the style sheet of the pictures."""
    return resources.files("rails.n8n.draw").joinpath("picture.css").read_text("utf-8")


@cache
def _plain_sheet() -> str:
    """Return the style sheet with its colours written out, light and dark: not all programs read custom properties."""
    sheet = stylesheet()
    light, dark = (dict(_PROPERTY.findall(part)) for part in sheet.split("@media", 1))
    rules = sheet[sheet.index(".flow-ground {") :]
    plain = _USE.sub(lambda use: str(light[use[1]]), rules)
    darker = "".join(f"{rule}\n" for rule in _RULE.findall(rules) if _USE.search(rule))
    darker = _USE.sub(lambda use: str(dark.get(use[1], light[use[1]])), darker)
    return (
        f".flow {{ font-family: sans-serif; }}\n{plain}\n@media screen and (prefers-color-scheme: dark) {{\n{darker}}}"
    )


def svg(value: Json, label: str = "Workflow", *, alone: bool = False) -> str:
    """Return the picture of ``value`` (from :func:`drawing`), or "" where there is nothing to draw.

    ``alone`` makes a file of its own: with the style sheet inside. Without it the page has the style sheet.
    """
    drawn = read_typed(Drawing, value)
    boxes, lines = boxes_and_wires(drawn)
    if not boxes:
        return ""
    canvas = _Canvas(boxes, lines, compared=drawn.compared, total=max(drawn.total, len(boxes)))
    left, top, width, height = canvas.bounds()
    shown = max(min(width * _SCALE, _PAGE), width * _LEAST)
    body = [*canvas.notes(), *canvas.wires(), *canvas.boxes(), *canvas.remarks(left, top + height)]
    name = escape(one_line(label, 200))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" aria-label="{name}" '
        f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" '
        f'width="{shown:.0f}" height="{height * shown / width:.0f}">'
    )
    style = f"<style>{_plain_sheet()}</style>" if alone else ""
    ground = _rect("flow-ground", (left, top, width, height))
    return "".join([head, style, f"<title>{name}</title>", ground, *body, "</svg>"])


def _rect(kind: str, place: tuple[float, float, float, float], round_: int = 0) -> str:
    x, y, width, height = place
    return f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="{round_}"/>'


class _Canvas:
    """Everything that is drawn, in the canvas's own units."""

    def __init__(self, boxes: list[NodeBox], lines: list[WireLine], *, compared: bool, total: int) -> None:
        self._boxes, self._lines = boxes, lines
        self._compared, self._total = compared, total

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, width and height of everything."""
        lefts, tops = (min(getattr(box, side) for box in self._boxes) for side in ("x", "y"))
        right = max(box.x + box.width for box in self._boxes)
        bottom = max(box.y + box.height + (0 if box.is_note else _BELOW) for box in self._boxes)
        back = [(self._boxes[line.source], self._boxes[line.target]) for line in self._lines if line.type == "main"]
        bottom = max([bottom, *(lowest(a, b) for a, b in back if b.x < a.x + a.width + 24)])
        left, top = lefts - _MARGIN, tops - _MARGIN
        has_remark = self._compared or self._total > len(self._boxes)
        return left, top, max(right + _MARGIN - left, 420), bottom + (_MARGIN if has_remark else _MARGIN / 2) - top

    # -- notes ---------------------------------------------------------------------------------------

    def notes(self) -> Iterator[str]:
        """Yield the sticky notes, which lie under everything else; the largest first."""
        for box in sorted((box for box in self._boxes if box.is_note), key=lambda box: -box.width * box.height):
            colour = max(1, min(box.node.colour, 7))
            kind = f" flow-is-{box.kind}" if self._compared and box.kind != "same" else ""
            yield f'<g class="flow-note flow-note-{colour}{kind}">'
            yield _rect("flow-box", (box.x, box.y, box.width, box.height), 8)
            yield from note_text(box)
            yield "</g>"

    # -- wires ---------------------------------------------------------------------------------------

    def wires(self) -> Iterator[str]:
        """Yield the wires, what changed over what did not."""
        for line in sorted(self._lines, key=lambda line: line.kind != "same"):
            kind = f" flow-is-{line.kind}" if self._compared and line.kind != "same" else ""
            kind = kind or (" flow-error" if line.label == "error" else "")
            source, target = self._boxes[line.source], self._boxes[line.target]
            if line.type != "main":
                yield f'<path class="flow-wire flow-sub{kind}" d="{sub_curve(source, target, line.type)}"/>'
                continue
            start, end = source.output(line.output), target.input(line.input)
            yield f'<path class="flow-wire{kind}" d="{curve(start, end, source, target)}"/>'
            x, y = end
            yield f'<path class="flow-head{kind}" d="M{x:.0f} {y:.0f}l-11-6v12z"/>'
            if line.label:
                shown = escape(one_line(line.label, 24))
                yield f'<text class="flow-label{kind}" x="{start[0] + 10:.0f}" y="{start[1] - 6:.0f}">{shown}</text>'

    # -- nodes ---------------------------------------------------------------------------------------

    def boxes(self) -> Iterator[str]:
        """Yield the nodes."""
        for box in self._boxes:
            if not box.is_note:
                yield from self._node(box)

    def _node(self, box: NodeBox) -> Iterator[str]:
        node = box.node
        name, node_type, was = (one_line(text, 200) for text in (node.name, node.type, node.was))
        found = icon_of(node.type, trigger=node.trigger)
        states = [f"flow-{found.group}", *(["flow-off"] if node.off else [])]
        states += [f"flow-is-{box.kind}"] if self._compared and box.kind != "same" else []
        yield f'<g class="{" ".join(states)}">'
        words = [name, f"was: {was}" if was else "", node_type, "disabled" if node.off else ""]
        words += [box.kind if self._compared and box.kind != "same" else ""]
        yield f"<title>{escape(chr(10).join(word for word in words if word))}</title>"
        yield box_outline(box, trigger=node.trigger)
        yield symbol(box, found)
        yield from pins(box)
        yield from labels(box, name, f"→ {one_line(node.calls, 40)}" if node.calls else node_type)
        yield "</g>"
        if self._compared and box.kind in _BADGES:
            x = box.x + box.width - (12 if box.is_sub else 0)
            yield (
                f'<g class="flow-badge flow-is-{box.kind}" transform="translate({x:.0f} {box.y + 2:.0f})">'
                f'<circle r="13"/><path d="{_BADGES[box.kind]}"/></g>'
            )

    # -- remarks -------------------------------------------------------------------------------------

    def remarks(self, left: float, bottom: float) -> Iterator[str]:
        """Yield what the colours mean, and how much was left out."""
        x, y = left + 24, bottom - 22
        for kind, said in (("add", "added"), ("change", "changed"), ("remove", "removed")):
            if self._compared and any(kind in (one.kind for one in group) for group in (self._boxes, self._lines)):
                yield f'<g class="flow-badge flow-is-{kind}" transform="translate({x + 8:.0f} {y - 5:.0f}) scale(.8)">'
                yield f'<circle r="13"/><path d="{_BADGES[kind]}"/></g>'
                yield f'<text class="flow-more" x="{x + 26:.0f}" y="{y:.0f}">{said}</text>'
                x += 120
        if self._total > len(self._boxes):
            said = f"{len(self._boxes):,} of {self._total:,} nodes are drawn"
            yield f'<text class="flow-more" x="{x:.0f}" y="{y:.0f}">{said}</text>'
