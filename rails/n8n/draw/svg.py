"""The parts of a picture as SVG elements: boxes, glyphs, pins, labels, curves, notes. Every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from rails.core.text import one_line, printable
from rails.n8n.draw.geometry import NodeBox, Point
from rails.n8n.draw.icons import Icon
from rails.n8n.nodes.ports import AI_PORTS

_LABEL_CHARS: Final = 19
#: Sub-nodes stand close to each other; their drawing says what kind they are.
_SUB_CHARS: Final = 14
_LINE: Final = 20
#: How far below a box its name and type reach.
_NAME_ROOM: Final = 76
_HEADING: Final = re.compile(r"^#{1,6}\s+")
_MARKDOWN: Final = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)|(\*\*|__|`+)")


def box_outline(box: NodeBox, *, trigger: bool) -> str:
    """Return the shape of a node: round for a sub-node, with a round left side for a trigger."""
    x, y, w, h = box.x, box.y, box.width, box.height
    if box.is_sub:
        return f'<circle class="flow-box" cx="{x + w / 2:.0f}" cy="{y + h / 2:.0f}" r="{w / 2:.0f}"/>'
    if not trigger:
        return f'<rect class="flow-box" x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" rx="10"/>'
    r = min(36, h / 2)
    shape = f"M{x + r:.0f} {y:.0f}h{w - r - 10:.0f}q10 0 10 10v{h - 20:.0f}q0 10-10 10h{10 + r - w:.0f}"
    return f'<path class="flow-box" d="{shape}q-{r:.0f} 0-{r:.0f}-{r:.0f}v{2 * r - h:.0f}q0-{r:.0f} {r:.0f}-{r:.0f}z"/>'


def symbol(box: NodeBox, found: Icon) -> str:
    """Return the glyph or letters of a node."""
    x = box.x + (48 if box.below else box.width / 2)
    y = box.y + box.height / 2
    if not found.path:
        return f'<text class="flow-letters" x="{x:.0f}" y="{y + 11:.0f}">{escape(one_line(found.letters, 2))}</text>'
    size = 1.5 if box.is_sub else 1.8
    place = f"translate({x - 12 * size:.1f} {y - 12 * size:.1f}) scale({size})"
    full = " flow-full" if found.filled else ""
    return f'<path class="flow-glyph{full}" transform="{place}" d="{found.path}"/>'


def pins(box: NodeBox) -> Iterator[str]:
    """Yield where wires leave at the right, and AI inputs below with their names."""
    for number in range(box.outputs):
        x, y = box.output(number)
        yield f'<circle class="flow-pin" cx="{x:.0f}" cy="{y:.0f}" r="5"/>'
    for kind in box.below:
        x, y = box.port(kind)
        yield f'<path class="flow-pin" d="M{x:.0f} {y - 7:.0f}l7 7-7 7-7-7z"/>'
        name = escape(one_line(AI_PORTS.get(kind, kind.removeprefix("ai_")), 12))
        yield f'<text class="flow-port" x="{x:.0f}" y="{y - 12:.0f}">{name}</text>'


def labels(box: NodeBox, name: str, node_type: str) -> Iterator[str]:
    """Yield a node's name and type: inside a wide one, else below."""
    short = (node_type if node_type.startswith("→") else node_type.rpartition(".")[2]) + (
        " · off" if box.node.off else ""
    )
    if box.below:
        width = int((box.width - 92) / 9)
        y = box.y + box.height / 2 - (14 if len(name) > width else 6)
        yield from rows("flow-name flow-in", box.x + 84, y, wrapped(name, width, 2))
        return
    middle, y = box.x + box.width / 2, box.y + box.height + 22
    lines = wrapped(name, _SUB_CHARS if box.is_sub else _LABEL_CHARS, 2)
    yield from rows("flow-name", middle, y, lines)
    is_told = short.lower() == name.replace(" ", "").lower() or (box.is_sub and not node_type.startswith("→"))
    if not is_told:
        yield from rows("flow-type", middle, y + _LINE * len(lines) - 2, [cut(short, 26)])


def rows(kind: str, x: float, y: float, lines: list[str]) -> Iterator[str]:
    """Yield lines of text below each other."""
    for number, line in enumerate(lines):
        yield f'<text class="{kind}" x="{x:.0f}" y="{y + _LINE * number:.0f}">{escape(line)}</text>'


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Cut printable ``text`` into at most ``most`` lines of up to ``width`` characters, at blanks where it can."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        if len(rest) <= width:
            lines.append(rest)
            break
        if len(lines) == most - 1:
            lines.append(cut(rest, width))
            break
        blank = rest.rfind(" ", width // 2, width + 1)
        at = blank if blank > 0 else width
        lines.append(rest[:at])
        rest = rest[at:].lstrip()
    return lines


def cut(text: str, width: int) -> str:
    """Return ``text``, its end replaced by "…" where it is too long."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def note_text(box: NodeBox) -> Iterator[str]:
    """Yield the text of a sticky note, headings large, as much as fits."""
    text = printable(box.node.note or "")
    y, bottom = box.y + 28, box.y + box.height - 8
    for line in text.expandtabs(2).split("\n"):
        is_heading = bool(_HEADING.match(line))
        plain = _MARKDOWN.sub(lambda match: match[1] or "", _HEADING.sub("", line)).strip()
        wide = max(8, int((box.width - 28) / (9.2 if is_heading else 7.3)))
        for part in wrapped(plain, wide, 8) or [""]:
            if y > bottom:
                return
            if part:
                yield from rows("flow-h" if is_heading else "flow-t", box.x + 14, y, [part])
            y += 24 if is_heading else 19 if part else 10


def curve(start: Point, end: Point, source: NodeBox, target: NodeBox) -> str:
    """Return the path of a wire: a soft curve to the right, or around below when it leads back."""
    (x, y), (u, v) = start, end
    if u >= x + 24:
        bend = max(36, min((u - x) / 2, 160))
        return f"M{x:.0f} {y:.0f}C{x + bend:.0f} {y:.0f} {u - bend:.0f} {v:.0f} {u - 10:.0f} {v:.0f}"
    low = lowest(source, target)
    out, back = x + 34, u - 40
    turn = 1 if v < low else -1
    return (
        f"M{x:.0f} {y:.0f}H{out - 14:.0f}q14 0 14 14V{low - 14:.0f}q0 14-14 14H{back + 14:.0f}q-14 0-14{-14 * turn:+d}"
        f"V{v + 14 * turn:.0f}q0{-14 * turn:+d} 14{-14 * turn:+d}H{u - 10:.0f}"
    )


def lowest(source: NodeBox, target: NodeBox) -> float:
    """Return how low a wire that leads back runs: between two rows, or below both boxes and their names."""
    gap = target.y - (source.y + source.height)
    if gap > _NAME_ROOM + 24:
        return target.y - 22
    return max(source.y + source.height, target.y + target.height) + _NAME_ROOM


def sub_curve(source: NodeBox, target: NodeBox, kind: str) -> str:
    """Return the path of a wire from a sub-node up to the AI input that it serves."""
    x, y = source.x + source.width / 2, source.y + (source.height if source.y < target.y else 0)
    u, v = target.port(kind) if kind in target.below else (target.x, target.y)
    v += 7
    bend = max(30, abs(y - v) / 2)
    return f"M{x:.0f} {y:.0f}C{x:.0f} {y - bend:.0f} {u:.0f} {v + bend:.0f} {u:.0f} {v:.0f}"
