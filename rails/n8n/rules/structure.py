"""Gate 1 of n8n: its own structural validator, rule for rule.

Anchor: n8n-workflow 2.41, ``safeParseWorkflowStructure`` (n8n pull request 29699, ids by 35129). Paths,
codes and what is accepted are n8n's; the words are ours, because they go to whoever must repair the
file. n8n reports the graph's faults only when every shape is right; we report both at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rails.core.tool_request import Json
from rails.n8n.model import Issue, JsonPath, Names, json_kind, shown_value

_BUCKETS = 'a list of outputs, each a list of targets: [[{"node": "Next node", "type": "main", "index": 0}]]'


def validate_structure(value: Json) -> Iterator[Issue]:
    """Yield what n8n's structural validator refuses in ``value``, which may be any JSON."""
    if not isinstance(value, dict):
        yield _wrong_type(
            "N8N002", (), "The document", "object", value, remedy='A workflow is {"nodes": […], "connections": {…}}.'
        )
        return
    nodes, connections = value.get("nodes"), value.get("connections")
    if not isinstance(nodes, list):
        yield _member("N8N002", ("nodes",), "nodes", "array", value, remedy="List the nodes: [{…}, {…}].")
    if not isinstance(connections, dict):
        remedy = 'Write {"Node name": {"main": [[{"node": "Next node", "type": "main", "index": 0}]]}}, or {}.'
        yield _member("N8N002", ("connections",), "connections", "object", value, remedy=remedy)
    node_list = nodes if isinstance(nodes, list) else []
    yield from _nodes(node_list)
    if isinstance(connections, dict):
        graph = _Graph(node_list) if isinstance(nodes, list) else None
        for source, outputs in connections.items():
            yield from _source(source, outputs, graph)


def _member(rule: str, path: JsonPath, name: str, wanted: str, owner: Mapping[str, Json], *, remedy: str) -> Issue:
    """Return the issue for a member that is missing or of the wrong type."""
    if name not in owner:
        return Issue(rule, path, f"{_owner(path[:-1], owner)} has no `{name}`", remedy, code="invalid_type")
    what = f"`{name}` of {_owner(path[:-1], owner).replace('A target', 'a target', 1)}"
    return _wrong_type(rule, path, what, wanted, owner[name], remedy=remedy)


def _wrong_type(rule: str, path: JsonPath, what: str, wanted: str, value: Json, *, remedy: str) -> Issue:
    article = "an" if wanted[0] in "aeio" else "a"
    return Issue(rule, path, f"{what} must be {article} {wanted}, not {json_kind(value)}", remedy, code="invalid_type")


def _owner(path: JsonPath, owner: Mapping[str, Json]) -> str:
    if not path:
        return "The workflow"
    if path[0] == "nodes" and len(path) == 2:
        name = owner.get("name")
        return f"Node {shown_value(name)}" if isinstance(name, str) and name else f"Node {path[1]}"
    return f"A target of {shown_value(path[1])}"


def _nodes(nodes: list[Json]) -> Iterator[Issue]:
    names: dict[str, int] = {}
    ids: dict[str, int] = {}
    for index, node in enumerate(nodes):
        path: JsonPath = ("nodes", index)
        if not isinstance(node, dict):
            remedy = "Write the node as an object with name, type, position and parameters, or remove it."
            yield _wrong_type("N8N010", path, f"Node {index}", "object", node, remedy=remedy)
            continue
        yield from _node(node, path)
        yield from _duplicates(node, index, names, ids)


def _node(node: Mapping[str, Json], path: JsonPath) -> Iterator[Issue]:
    remedies = {"name": "Give the node a unique name.", "type": 'Write the full type: "n8n-nodes-base.httpRequest".'}
    for rule, name in (("N8N011", "name"), ("N8N012", "type")):
        text = node.get(name)
        if not isinstance(text, str):
            yield _member(rule, (*path, name), name, "string", node, remedy=remedies[name])
        elif not text:
            message = f"`{name}` of {_owner(path, node)} is empty"
            yield Issue(rule, (*path, name), message, remedies[name], code="too_small")
    yield from _position(node, path)
    yield from _optional(node, path)


def _position(node: Mapping[str, Json], path: JsonPath) -> Iterator[Issue]:
    position, remedy = node.get("position"), "Write two numbers: [250, 300]."
    if not isinstance(position, list):
        yield _member("N8N013", (*path, "position"), "position", "array", node, remedy=remedy)
    elif len(position) != 2:
        message = f"`position` of {_owner(path, node)} must be exactly two numbers, not {len(position)}"
        code = "too_small" if len(position) < 2 else "too_big"
        yield Issue("N8N013", (*path, "position"), message, remedy, code=code)
    else:
        for index, number in enumerate(position):
            if json_kind(number) != "number":
                what = f"`position[{index}]` of {_owner(path, node)}"
                yield _wrong_type("N8N013", (*path, "position", index), what, "number", number, remedy=remedy)


_OPTIONAL = (
    ("N8N014", "parameters", "object", "Write an object, {} when there are none."),
    ("N8N015", "id", "string", "Write the id in double quotes, or leave it out: n8n makes one."),
    ("N8N016", "typeVersion", "number", "Write a number without quotes: 1 or 2.1."),
    ("N8N017", "disabled", "boolean", "Write true or false without quotes, or leave it out."),
)


def _optional(node: Mapping[str, Json], path: JsonPath) -> Iterator[Issue]:
    for rule, name, wanted, remedy in _OPTIONAL:
        if name in node and json_kind(node[name]) != wanted:
            yield _member(rule, (*path, name), name, wanted, node, remedy=remedy)


def _duplicates(node: Mapping[str, Json], index: int, names: dict[str, int], ids: dict[str, int]) -> Iterator[Issue]:
    for field, seen in (("id", ids), ("name", names)):
        value = node.get(field)
        if not isinstance(value, str) or not value:
            continue
        first = seen.setdefault(value, index)
        if first != index:
            yield _duplicate(node, field, index, first)


def _duplicate(node: Mapping[str, Json], field: str, index: int, first: int) -> Issue:
    value = node.get(field)
    rule, remedy = (
        ("N8N018", f"Rename one of them, for example to {shown_value(f'{value}1')}, and its connections with it.")
        if field == "name"
        else ("N8N019", "Give each node an id of its own (a UUID), or leave the id out.")
    )
    of = "" if field == "name" else f" of {_owner(('nodes', index), node)}"
    message = f"Duplicate node {field} {shown_value(value)}{of}: nodes[{first}] has it already"
    return Issue(rule, ("nodes", index, field), message, remedy, code=f"duplicate_node_{field}")


class _Graph:
    """The node names that connections may use, and the ids that they are often confused with."""

    def __init__(self, nodes: list[Json]) -> None:
        objects = [node for node in nodes if isinstance(node, dict)]
        self.names = dict.fromkeys(name for node in objects if isinstance(name := node.get("name"), str))
        notes = [node.get("name") for node in objects if node.get("type") == "n8n-nodes-base.stickyNote"]
        spoken_of = dict.fromkeys(name for name in notes if isinstance(name, str))
        self._nearest = Names(name for name in self.names if name not in spoken_of)
        named = ((node.get("id"), node.get("name")) for node in objects)
        self._by_id = {id_: name for id_, name in named if isinstance(id_, str) and isinstance(name, str)}

    def remedy(self, wrong: str) -> str:
        """Say which node was probably meant by ``wrong``."""
        if wrong in self._by_id:
            return f"That is a node id. Connections use names: write {shown_value(self._by_id[wrong])}."
        return self._nearest.hint(wrong, "nodes")


def _source(source: str, outputs: Json, graph: _Graph | None) -> Iterator[Issue]:
    path: JsonPath = ("connections", source)
    if graph is not None and source not in graph.names:
        message = f"Connection source {shown_value(source)} does not reference an existing node"
        remedy = graph.remedy(source)
        yield Issue("N8N024", path, message, remedy, code="unknown_connection_source", on_key=True)
    if not isinstance(outputs, dict):
        remedy = 'Write {"main": [[{"node": "Next node", "type": "main", "index": 0}]]}, or remove the key.'
        yield _wrong_type("N8N020", path, f"The connections of {shown_value(source)}", "object", outputs, remedy=remedy)
        return
    for output_type, buckets in outputs.items():
        yield from _output(source, output_type, buckets, graph)


def _output(source: str, output_type: str, buckets: Json, graph: _Graph | None) -> Iterator[Issue]:
    path: JsonPath = ("connections", source, output_type)
    what = f"`{output_type}` of {shown_value(source)}"
    if not isinstance(buckets, list):
        yield _wrong_type("N8N020", path, what, "array", buckets, remedy=f"Write {_BUCKETS}.")
        return
    for index, bucket in enumerate(buckets):
        if bucket is None:
            continue
        if not isinstance(bucket, list):
            remedy = f"Write {_BUCKETS}. The outer list is the node's outputs, the inner one each output's targets."
            yield _wrong_type("N8N021", (*path, index), f"Output {index} of {what}", "array", bucket, remedy=remedy)
            continue
        for position, target in enumerate(bucket):
            yield from _target(target, (*path, index, position), graph)


def _target(target: Json, path: JsonPath, graph: _Graph | None) -> Iterator[Issue]:
    remedy = 'Write {"node": "Next node", "type": "main", "index": 0}.'
    source = shown_value(path[1])
    if not isinstance(target, dict):
        yield _wrong_type("N8N022", path, f"A target of {source}", "object", target, remedy=remedy)
        return
    for name in ("node", "type"):
        text = target.get(name)
        if not isinstance(text, str):
            yield _member("N8N022", (*path, name), name, "string", target, remedy=remedy)
        elif not text:
            yield Issue("N8N022", (*path, name), f"`{name}` of a target of {source} is empty", remedy, code="too_small")
    yield from _index(target, path)
    node = target.get("node")
    if graph is not None and isinstance(node, str) and node and node not in graph.names:
        message = f"Connection target {shown_value(node)} of {source} does not reference an existing node"
        yield Issue("N8N025", (*path, "node"), message, graph.remedy(node), code="unknown_connection_target")


def _index(target: Mapping[str, Json], path: JsonPath) -> Iterator[Issue]:
    index, remedy = target.get("index"), "Write the input's number without quotes; the first input is 0."
    if isinstance(index, bool) or not isinstance(index, int | float):
        yield _member("N8N023", (*path, "index"), "index", "number", target, remedy=remedy)
    elif index != index // 1:
        message = f"`index` of a target of {shown_value(path[1])} must be a whole number, not {index}"
        yield Issue("N8N023", (*path, "index"), message, remedy, code="invalid_type")
    elif index < 0:
        message = f"`index` of a target of {shown_value(path[1])} must be 0 or more, not {index}"
        yield Issue("N8N023", (*path, "index"), message, remedy, code="too_small")
