"""n8n's structural validator, rule for rule.

Anchor: n8n-workflow 2.41, ``safeParseWorkflowStructure`` (n8n pull request 29699, ids by 35129). Paths, codes and
verdicts are n8n's, words ours. Unlike n8n, graph faults come beside wrong shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.tool_request import Json
from rails.n8n.facts import FACTS
from rails.n8n.model import STICKY, Issue, JsonPath, Names, issue, json_kind, shown_value

_TARGET: Final = '{"node": "Next node", "type": "main", "index": 0}'
_BUCKETS: Final = f"a list of outputs, each a list of targets: [[{_TARGET}]]"


#: Of the workflow, a node and a target: their members, each with its rule, type, remedy, and whether it must be there.
_MEMBERS: Final[Mapping[str, list[tuple[str, str, str, str, bool]]]] = FACTS["members"]
_POSITION: Final = _MEMBERS["node"][2][3]
#: Texts that may not be empty.
_NOT_EMPTY: Final = frozenset({"N8N011", "N8N012", "N8N022"})


def validate_structure(value: Json) -> Iterator[Issue]:
    """Yield what n8n's validator refuses in any JSON."""
    if not isinstance(value, dict):
        remedy = 'A workflow is {"nodes": […], "connections": {…}}.'
        yield _wrong_type("N8N002", (), ("The document", remedy), "object", value)
        return
    yield from _members(value, (), "the workflow", "workflow")
    nodes = value.get("nodes")
    connections = value.get("connections")
    node_list = nodes if isinstance(nodes, list) else []
    yield from _nodes(node_list)
    graph = _Graph(node_list) if isinstance(nodes, list) else None
    for source, outputs in connections.items() if isinstance(connections, dict) else ():
        yield from _source(source, outputs, graph)


def _members(owner: Mapping[str, Json], path: JsonPath, name: str, kind: str) -> Iterator[Issue]:
    for rule, member, wanted, remedy, required in _MEMBERS[kind]:
        place = (*path, member)
        if member not in owner:
            if required:
                message = f"{name[0].upper()}{name[1:]} has no `{member}`"
                yield Issue(rule, place, message, remedy, code="invalid_type")
        elif json_kind(owner[member]) != wanted:
            yield _wrong_type(rule, place, (f"`{member}` of {name}", remedy), wanted, owner[member])
        elif owner[member] == "" and rule in _NOT_EMPTY:
            yield Issue(rule, place, f"`{member}` of {name} is empty", remedy, code="too_small")


def _wrong_type(rule: str, path: JsonPath, words: tuple[str, str], wanted: str, value: Json) -> Issue:
    article = "an" if wanted[0] in "aeio" else "a"
    message = f"{words[0]} must be {article} {wanted}, not {json_kind(value)}"
    return Issue(rule, path, message, words[1], code="invalid_type")


def _nodes(nodes: list[Json]) -> Iterator[Issue]:
    seen: dict[tuple[str, str], int] = {}
    for index, node in enumerate(nodes):
        path: JsonPath = ("nodes", index)
        if not isinstance(node, dict):
            remedy = "Write the node as an object with name, type, position and parameters, or remove it."
            yield _wrong_type("N8N010", path, (f"Node {index}", remedy), "object", node)
            continue
        given = node.get("name")
        name = f"Node {shown_value(given)}" if isinstance(given, str) and given else f"Node {index}"
        yield from _members(node, path, name, "node")
        yield from _position(node.get("position"), path, name)
        for field in ("id", "name"):
            value = node.get(field)
            if isinstance(value, str) and value and seen.setdefault((field, value), index) != index:
                yield _duplicate(field, value, name, index, seen[field, value])


def _position(position: Json, path: JsonPath, name: str) -> Iterator[Issue]:
    place = (*path, "position")
    if not isinstance(position, list):
        return
    if len(position) != 2:
        yield issue(
            "N8N013",
            place,
            code="too_small" if len(position) < 2 else "too_big",
            name=name,
            len=len(position),
            remedy=_POSITION,
        )
        return
    for index, number in enumerate(position):
        if json_kind(number) != "number":
            words = (f"`position[{index}]` of {name}", _POSITION)
            yield _wrong_type("N8N013", (*place, index), words, "number", number)


def _duplicate(field: str, value: str, name: str, index: int, first: int) -> Issue:
    rule = "N8N019"
    remedy = "Give each node an id of its own (a UUID), or leave the id out."
    of = f" of {name}"
    if field == "name":
        example = shown_value(f"{value}1")
        rule = "N8N018"
        of = ""
        remedy = f"Rename one of them, for example to {example}, and its connections with it."
    message = f"Duplicate node {field} {shown_value(value)}{of}: nodes[{first}] has it already"
    return Issue(rule, ("nodes", index, field), message, remedy, code=f"duplicate_node_{field}")


class _Graph:
    """Names that connections may use, and ids confused with them."""

    def __init__(self, nodes: list[Json]) -> None:
        objects = [node for node in nodes if isinstance(node, dict)]
        named = [(name, node.get("type")) for node in objects if isinstance(name := node.get("name"), str)]
        notes = {name for name, kind in named if kind == STICKY}
        self.names = dict(named)
        self._nearest = Names(name for name in self.names if name not in notes)
        pairs = ((node.get("id"), node.get("name")) for node in objects)
        self._by_id = {key: name for key, name in pairs if isinstance(key, str) and isinstance(name, str)}

    def remedy(self, wrong: str) -> str:
        if wrong in self._by_id:
            return f"That is a node id. Connections use names: write {shown_value(self._by_id[wrong])}."
        return self._nearest.hint(wrong, "nodes")


def _source(source: str, outputs: Json, graph: _Graph | None) -> Iterator[Issue]:
    path: JsonPath = ("connections", source)
    shown = shown_value(source)
    if graph is not None and source not in graph.names:
        yield issue(
            "N8N024", path, code="unknown_connection_source", on_key=True, shown=shown, remedy=graph.remedy(source)
        )
    if not isinstance(outputs, dict):
        remedy = f'Write {{"main": [[{_TARGET}]]}}, or remove the key.'
        yield _wrong_type("N8N020", path, (f"The connections of {shown}", remedy), "object", outputs)
        return
    for kind, buckets in outputs.items():
        what = f"`{kind}` of {shown}"
        if not isinstance(buckets, list):
            yield _wrong_type("N8N020", (*path, kind), (what, f"Write {_BUCKETS}."), "array", buckets)
            continue
        for index, bucket in enumerate(buckets):
            yield from _bucket(bucket, (*path, kind, index), what, graph)


def _bucket(bucket: Json, path: JsonPath, what: str, graph: _Graph | None) -> Iterator[Issue]:
    if bucket is not None and not isinstance(bucket, list):
        remedy = f"Write {_BUCKETS}. The outer list is the node's outputs, the inner one each output's targets."
        yield _wrong_type("N8N021", path, (f"Output {path[-1]} of {what}", remedy), "array", bucket)
        return
    for position, target in enumerate(bucket or ()):
        yield from _target(target, (*path, position), graph)


def _target(target: Json, path: JsonPath, graph: _Graph | None) -> Iterator[Issue]:
    name = f"a target of {shown_value(path[1])}"
    if not isinstance(target, dict):
        yield _wrong_type("N8N022", path, (f"A{name[1:]}", f"Write {_TARGET}."), "object", target)
        return
    yield from _members(target, path, name, "target")
    index = target.get("index")
    node = target.get("node")
    if isinstance(index, int | float) and not isinstance(index, bool) and (index != index // 1 or index < 0):
        is_whole = index == index // 1
        code = "too_small" if is_whole else "invalid_type"
        yield issue(
            "N8N023",
            (*path, "index"),
            code=code,
            name=name,
            value="0 or more" if is_whole else "a whole number",
            index=index,
            remedy=_MEMBERS["target"][2][3],
        )
    if graph is not None and isinstance(node, str) and node and node not in graph.names:
        yield issue(
            "N8N025",
            (*path, "node"),
            code="unknown_connection_target",
            node=node,
            source=path[1],
            remedy=graph.remedy(node),
        )
