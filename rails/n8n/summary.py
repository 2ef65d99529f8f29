"""A comparison of two workflows in words, for a human.

Nodes, wires, settings. Bounded: values are shown around their difference, the rest counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from rails.core.change_summary import ChangeSummary, SummaryLine, SummaryStyle
from rails.core.changes import unified_diff
from rails.core.tool_request import Json
from rails.n8n import json_file
from rails.n8n.comparison import (
    Detail,
    DifferenceKind,
    NodeChange,
    WireChange,
    WorkflowComparison,
    compare_workflows,
)
from rails.n8n.draw import scene
from rails.n8n.model import format_path
from rails.n8n.recognise import looks_like_workflow

#: Lines of one outline, and of one node's details.
MOST_LINES: Final = 400
_MOST_DETAILS: Final = 40
_MOST_TEXT_LINES: Final = 24
#: Characters of one value, and of it before the place where it differs.
_VALUE_CHARS: Final = 160
_BEFORE_CHARS: Final = 30
_STYLES: Final[dict[DifferenceKind, SummaryStyle]] = {
    "add": "add",
    "remove": "remove",
    "change": "change",
    "same": "note",
}
_ROWS: Final[dict[str, SummaryStyle]] = {"+": "add", "-": "remove"}
_MARKS: Final[dict[DifferenceKind, str]] = {"add": "+ ", "remove": "- ", "change": "", "same": ""}


def workflow_summary(before: bytes | None, after: bytes | None, path: str) -> ChangeSummary | None:
    """Return what a change of a file (``None``: none) does; ``None`` if neither side is a workflow. Never raises.

    Each workflow of a list is reported, the first that differs drawn.
    """
    sides = [_workflows(data) for data in (before, after)]
    if not any(sides) or any(data is not None and not side for data, side in zip((before, after), sides, strict=True)):
        return None
    old, new = ([*side, *[None] * (max(map(len, sides)) - len(side))] for side in sides)
    compared = [compare_workflows(one, other) for one, other in zip(old, new, strict=True)]
    told = [one for one in compared if not one.is_same] or compared[:1]
    lines = list(_lines(told[0])) if len(told) == 1 else [line for one in told for line in _titled(one)]
    kept = lines[:MOST_LINES]
    return ChangeSummary(path, _title(told), tuple(kept), len(lines) - len(kept), scene.drawing(told[0]))


def _workflows(data: bytes | None) -> list[Json]:
    read = json_file.read_workflow_file(data) if data is not None else None
    if not isinstance(read, json_file.WorkflowFile) or not looks_like_workflow(read.value):
        return []
    return [item for item in (read.value if isinstance(read.value, list) else [read.value]) if isinstance(item, dict)]


def _titled(comparison: WorkflowComparison) -> Iterator[SummaryLine]:
    yield SummaryLine("note", _title([comparison]))
    yield from _lines(comparison)


def _title(compared: Iterable[WorkflowComparison]) -> str:
    nodes: Counter[str] = Counter()
    wires: Counter[str] = Counter()
    for one in compared:
        nodes.update(node.kind for node in one.nodes if node.kind != "change" or node.details)
        nodes["rename"] += sum(node.renamed for node in one.nodes)
        nodes["move"] += sum(node.moved and node.kind != "remove" for node in one.nodes)
        wires.update(wire.kind for wire in one.wires)
    groups = (_counted(nodes, "node", "add", "remove", "change"), _counted(nodes, "", "rename", "move"))
    words = [*groups, _counted(wires, "wire", "add", "remove")]
    return "; ".join(word for word in words if word) or "nothing that n8n looks at is changed"


def _counted(counts: Counter[str], noun: str, *kinds: str) -> str:
    parts = [f"{counts[kind]} {kind.removesuffix('e')}ed" for kind in kinds if counts[kind]]
    if parts and noun:
        number, _, word = parts[0].partition(" ")
        parts[0] = f"{number} {noun}{'' if number == '1' else 's'} {word}"
    return ", ".join(parts)


def _lines(comparison: WorkflowComparison) -> Iterator[SummaryLine]:
    for node in comparison.nodes:
        yield from _node(node, comparison.is_new)
    for wire in comparison.wires:
        if wire.kind != "same":
            yield SummaryLine(_STYLES[wire.kind], _wire(wire))
    if comparison.settings:
        yield SummaryLine("change", "the workflow's own values")
        yield from _details(comparison.settings)


def _node(change: NodeChange, is_new: bool) -> Iterator[SummaryLine]:
    if change.kind == "same":
        return
    node = change.node
    version = f" {node.version:g}" if node.version is not None else ""
    off = ", disabled" if node.disabled else ""
    words = f"node {_short(node.name)}"
    if change.renamed and change.before is not None:
        words = f"node {_short(change.before.name)} is now called {_short(node.name)}"
    yield SummaryLine(_STYLES[change.kind], f"{words} ({node.type}{version}{off})")
    if not is_new:
        yield from _details(change.details)


def _details(details: Sequence[Detail]) -> Iterator[SummaryLine]:
    for detail in details[:_MOST_DETAILS]:
        yield from _detail(detail)
    if len(details) > _MOST_DETAILS:
        yield SummaryLine("note", f"and {len(details) - _MOST_DETAILS} more values", 1)


def _detail(detail: Detail) -> Iterator[SummaryLine]:
    style = _STYLES[detail.kind]
    path = detail.path[1:] if detail.path[:1] == ("parameters",) else detail.path
    name = f"{_MARKS[detail.kind]}{format_path(path)}"
    sides = detail.before or "", detail.after or ""
    if any("\\n" in side for side in sides):
        yield SummaryLine(style, f"{name}:", 1)
        yield from _text_diff(*sides)
    else:
        shown = " → ".join(_cut(side, _start(*sides)) for side in sides if side)
        yield SummaryLine(style, f"{name}: {shown}", 1)


def _start(old: str, new: str) -> int:
    """Return where two long values begin to differ, with some of what is before."""
    if max(len(old), len(new)) <= _VALUE_CHARS:
        return 0
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    return max(0, len(list(same)) - _BEFORE_CHARS)


def _cut(text: str, start: int) -> str:
    end = start + _VALUE_CHARS
    more = f"… (+{len(text) - end} characters)" if len(text) > end else ""
    return f"{'…' if start else ''}{text[start:end]}{more}"


def _text_diff(old: str, new: str) -> Iterator[SummaryLine]:
    texts = (json.loads(side) if side else "" for side in (old, new))
    before, after = (str(text).encode("utf-8", "backslashreplace") for text in texts)
    rows = [row for row in unified_diff(before, after, "", 1)[2:] if not row.startswith("@@")]
    for row in rows[:_MOST_TEXT_LINES]:
        yield SummaryLine(_ROWS.get(row[:1], "note"), row[: _VALUE_CHARS + 1], 2)
    if len(rows) > _MOST_TEXT_LINES:
        yield SummaryLine("note", f"and {len(rows) - _MOST_TEXT_LINES} more lines of it", 2)


def _short(name: str) -> str:
    return f'"{name[:80]}{"…" * (len(name) > 80)}"'


def _wire(wire: WireChange) -> str:
    ends = f"wire {_short(wire.source)} → {_short(wire.target)}"
    if wire.type != "main" or wire.target_type != "main":
        kinds = wire.type if wire.type == wire.target_type else f"{wire.type} into {wire.target_type}"
        return f"{ends} ({kinds})"
    ports = [f"output {wire.output}"] * bool(wire.output) + [f"input {wire.input}"] * bool(wire.input)
    return f"{ends} ({', '.join(ports)})" if ports else ends
