"""Two versions of a workflow, node by node and wire by wire. Pure, linear, for any JSON.

Nodes match by name and type, else id and type, else name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.model import Node, Workflow

DifferenceKind = Literal["add", "remove", "change", "same"]
#: Where a value is: keys and list indexes.
_Path = tuple[str | int, ...]

#: Keys of a node that are reported otherwise (name, place) or are no facts of its own.
_TOLD_APART: Final = frozenset({"name", "position", "id", "webhookId"})
#: Keys of a workflow that are reported otherwise, or that n8n writes by itself.
_NOT_TOLD: Final = frozenset({"nodes", "connections", "versionId", "updatedAt", "createdAt", "id", "meta"})


class Detail(Struct, frozen=True):
    """A value that differs, as JSON (``None``: it is not there); ``path``: from its node or workflow."""

    kind: DifferenceKind
    path: _Path
    before: str | None
    after: str | None


class NodeChange(Struct, frozen=True):
    """A node before and after, or ``None``."""

    kind: DifferenceKind
    before: Node | None
    after: Node | None
    details: tuple[Detail, ...] = ()
    moved: bool = False

    @property
    def node(self) -> Node:
        """The node as it is, or was."""
        found = self.after or self.before
        assert found is not None, "a change has a node"
        return found

    @property
    def renamed(self) -> bool:
        """Whether the node's name changed."""
        return self.before is not None and self.after is not None and self.before.name != self.after.name


class WireChange(Struct, frozen=True, order=True):
    """A wire, by its ends' present (or last) names."""

    source: str
    type: str
    output: int
    target: str
    target_type: str
    input: int
    kind: DifferenceKind = "same"


class WorkflowComparison(Struct, frozen=True):
    """All differences; ``settings``: the workflow's own values."""

    nodes: tuple[NodeChange, ...]
    wires: tuple[WireChange, ...]
    settings: tuple[Detail, ...]
    is_new: bool
    before: Workflow
    after: Workflow

    @property
    def is_same(self) -> bool:
        """Whether nothing differs that n8n looks at."""
        nodes = any(node.kind != "same" or node.moved for node in self.nodes)
        return not (nodes or self.settings or any(wire.kind != "same" for wire in self.wires))


def compare_workflows(before: Json, after: Json) -> WorkflowComparison:
    """Compare two workflows; ``None``: no file. Leaves out what is malformed. Never raises."""
    old, new = (model.build(value if isinstance(value, dict) else {}) for value in (before, after))
    pairs = _pairs(old.nodes, new.nodes)
    kept = {id(now): then for then, now in pairs}
    nodes = [_node_change(kept.get(id(node)), node) for node in new.nodes]
    gone = {id(then) for then, _ in pairs}
    nodes += [NodeChange("remove", node, None) for node in old.nodes if id(node) not in gone]
    renamed = {then.name: now.name for then, now in pairs}
    around = tuple(_values(_own(old.raw), _own(new.raw))) if isinstance(before, dict) else ()
    return WorkflowComparison(
        tuple(nodes), tuple(_wires(old, new, renamed)), around, not isinstance(before, dict), old, new
    )


def _own(raw: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in raw.items() if name not in _NOT_TOLD}


# -- which nodes are the same -------------------------------------------------------------------------


def _pairs(old: Iterable[Node], new: Iterable[Node]) -> list[tuple[Node, Node]]:
    left = list(old)
    right = list(new)
    pairs: list[tuple[Node, Node]] = []
    for key in _KEYS:
        found = _by_key(left, right, key)
        pairs += found
        done = {id(node) for pair in found for node in pair}
        left = [node for node in left if id(node) not in done]
        right = [node for node in right if id(node) not in done]
    return pairs


def _by_key(old: list[Node], new: list[Node], key: Callable[[Node], Hashable]) -> list[tuple[Node, Node]]:
    waiting: dict[Hashable, list[Node]] = {}
    for node in reversed(new):
        if (value := key(node)) is not None:
            waiting.setdefault(value, []).append(node)
    pairs = []
    for node in old:
        same = waiting.get(key(node))
        if same:
            pairs.append((node, same.pop()))
    return pairs


def _node_id(node: Node) -> Hashable:
    found = node.raw.get("id")
    return (found, node.type) if isinstance(found, str) and found else None


_KEYS: Final[tuple[Callable[[Node], Hashable], ...]] = (
    lambda node: (node.name, node.type),
    _node_id,
    lambda node: node.name,
)


# -- what differs in them -----------------------------------------------------------------------------


def _node_change(then: Node | None, now: Node) -> NodeChange:
    if then is None:
        given: dict[str, Json] = {"parameters": dict(now.parameters)} if now.parameters else {}
        return NodeChange("add", None, now, tuple(_values({}, given)))
    old, new = ({k: v for k, v in node.raw.items() if k not in _TOLD_APART} for node in (then, now))
    details = tuple(_values(old, new))
    kind: DifferenceKind = "change" if details or then.name != now.name else "same"
    return NodeChange(kind, then, now, details, then.raw.get("position") != now.raw.get("position"))


def _values(old: Json, new: Json) -> Iterator[Detail]:
    before, after = dict(_leaves(old, ())), dict(_leaves(new, ()))
    paths = dict.fromkeys((*before, *after))
    filled = {path[:length] for path in paths for length in range(len(path))}
    for path in paths:
        then, now = before.get(path), after.get(path)
        was_empty = path in filled and (then or now) in ("{}", "[]")
        if then != now and not was_empty:
            kind: DifferenceKind = "add" if then is None else "remove" if now is None else "change"
            yield Detail(kind, path, then, now)


def _leaves(value: Json, path: _Path) -> Iterator[tuple[_Path, str]]:
    if not isinstance(value, dict | list) or not value:
        yield path, json.dumps(value, ensure_ascii=False)
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(one, (*path, key))


def _wires(old: Workflow, new: Workflow, renamed: Mapping[str, str]) -> Iterator[WireChange]:
    then = {_wire(wire, renamed) for wire in old.wires}
    now = dict.fromkeys(_wire(wire, {}) for wire in new.wires)
    for wire in now:
        yield wire if wire in then else replace(wire, kind="add")
    yield from (replace(wire, kind="remove") for wire in sorted(then) if wire not in now)


def _wire(wire: model.Wire, renamed: Mapping[str, str]) -> WireChange:
    source, target = (renamed.get(node.name, node.name) for node in (wire.source, wire.target))
    return WireChange(source, wire.source_type, wire.output, target, wire.target_type, wire.input)
