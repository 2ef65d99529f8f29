"""A workflow as the rules see it: the nodes and wires that ``structure`` found well-formed."""

from __future__ import annotations

import re
import string
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from rails.core.similarity import most_alike
from rails.core.text import one_line
from rails.core.tool_request import Json, json_type
from rails.core.verdict import Severity
from rails.n8n.facts import FACTS, RULE_TEXTS, RULES

JsonPath: TypeAlias = "tuple[str | int, ...]"

#: Similar names are looked for this often in one document, among this many names: comparing every
#: wrong name with every right one would make a hostile workflow quadratic.
_OURS: Final = uuid.UUID("6f2b7c1e-0c55-5b52-9c0e-8a3f1d1f6b90")
_NEAREST_LOOKUPS: Final = 25
_NEAREST_NAMES: Final = 800
_SHOWN_CHARS: Final = 80
_SEPARATORS: Final = re.compile(r"[\W_]+")


class Issue(Struct, frozen=True):
    """One fault. ``code`` is n8n's own, if any.

    ``on_key``: place it on the last segment's key. ``start`` and ``end`` are character offsets in the string value
    (``-1``: all of it).
    """

    rule: str
    path: JsonPath
    message: str
    remedy: str = ""
    severity: Severity = "error"
    code: str = ""
    on_key: bool = False
    start: int = -1
    end: int = -1


class _Words(string.Formatter):
    """Fills in a text: ``!q`` quotes, ``!l`` lists names."""

    def convert_field(self, value: Any, conversion: Any) -> Any:  # noqa: ANN401 - any value
        how: Any = {"q": shown_value, "l": listed}.get(conversion)
        return super().convert_field(value, conversion) if how is None else how(value)


_FORMATTER: Final = _Words()


def issue(
    text: str,
    path: JsonPath,
    /,
    *,
    severity: Severity | None = None,
    code: str = "",
    on_key: bool = False,
    start: int = -1,
    end: int = -1,
    **words: object,
) -> Issue:
    """Return a rule's issue, ``words`` filled in, and the path's end as ``last``.

    ``text``: the rule's id, and a letter if it has several (``texts.json``). ``severity``: by default the rule's on
    import.
    """
    rule = text[:6]
    told = {"last": path[-1] if path else "", **words}
    message, remedy = (_FORMATTER.vformat(one, (), told) for one in RULE_TEXTS[text])
    return Issue(rule, path, message, remedy, severity or RULES[rule].severity, code, on_key, start, end)


def format_path(path: JsonPath) -> str:
    """Return ``path`` as n8n prints it: ``a[0].b``."""
    parts: list[str] = []
    for segment in path:
        if isinstance(segment, int):
            parts.append(f"[{segment}]")
        else:
            parts.append(f".{segment}" if parts else segment)
    # A lone surrogate can be in a JSON text, but in no file that a finding is written to.
    return "".join(parts).encode("utf-8", "backslashreplace").decode() or "workflow"


def shown_value(value: object) -> str:
    """Return a value quoted, printable and short."""
    return f'"{one_line(value if isinstance(value, str) else str(value), _SHOWN_CHARS)}"'


def is_expression(value: object) -> bool:
    """Return whether n8n evaluates a parameter's value."""
    return isinstance(value, str) and value.startswith("=")


def json_kind(value: object) -> str:
    """Return a value's JSON type, such as "array"."""
    name = json_type(value)
    return "number" if name == "integer" else name


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Return names as ``"a", "b" and 3 more``."""
    items = names if isinstance(names, list | tuple) else list(names)
    text = ", ".join(shown_value(name) for name in items[:limit])
    return f"{text} and {len(items) - limit} more" if len(items) > limit else text


def plain_name(name: str) -> str:
    """Return a name without case and separators."""
    return _SEPARATORS.sub("", name.casefold())


class Names:
    """Names, to find what a wrong one meant."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._left = _NEAREST_LOOKUPS

    @cached_property
    def _plain(self) -> dict[str, str]:
        return {plain_name(name): name for name in reversed(self._names)}

    def nearest(self, name: str) -> str | None:
        """Return the most similar name; ``None`` if none or the budget is used up."""
        same = self._plain.get(plain_name(name))
        if same is not None and same != name:
            return same
        if self._left <= 0 or len(name) > 4 * _SHOWN_CHARS:
            return None
        self._left -= 1
        close = most_alike(plain_name(name), islice(self._plain, _NEAREST_NAMES), 0.66)
        return None if close is None else self._plain[close]

    def hint(self, name: str, what: str) -> str:
        """Return a wrong name's remedy: the nearest, or all."""
        nearest = self.nearest(name)
        if nearest is not None:
            return f"Did you mean {shown_value(nearest)}?"
        return f"The {what} are: {listed(self._names)}." if self._names else f"There are no {what}."


STICKY: Final = "n8n-nodes-base.stickyNote"
#: What n8n reads beside a node's parameters, and other programs and models write into them.
SETTINGS_OF_NODES: Final[list[str]] = FACTS["node_settings"]
#: What a node may do where it fails.
ON_ERROR: Final = ("stopWorkflow", "continueRegularOutput", "continueErrorOutput")
#: What a node is besides its name, type and parameters, each with its type.
NODE_VALUES: Final[Mapping[str, Any]] = {
    "alwaysOutputData": bool,
    "continueOnFail": bool,
    "credentials": dict,
    "disabled": bool,
    "executeOnce": bool,
    "maxTries": float,
    "notes": str,
    "notesInFlow": bool,
    "onError": Literal[ON_ERROR],
    "position": tuple[float, float],
    "retryOnFail": bool,
    "typeVersion": float,
    "waitBetweenTries": float,
    "webhookId": str,
}


class Node(Struct, frozen=True):
    """One node; ``version``: ``None`` if left to n8n."""

    index: int
    name: str
    type: str
    version: float | None
    parameters: Mapping[str, Json]
    disabled: bool
    raw: Mapping[str, Json]

    @property
    def path(self) -> JsonPath:
        """The node's JSON path."""
        return ("nodes", self.index)

    @property
    def is_sticky(self) -> bool:
        """Whether it is a note, without ports or run."""
        return self.type == STICKY

    @property
    def title(self) -> str:
        """The node at a sentence's start; in its middle ``str(node)``."""
        return f"Node {shown_value(self.name)}"

    def __str__(self) -> str:
        return f"node {shown_value(self.name)}"


class Wire(Struct, frozen=True):
    """A connection of existing nodes. ``position``: its index in the output's list."""

    source: Node
    source_type: str
    output: int
    position: int
    target: Node
    target_type: str
    input: int

    @property
    def path(self) -> JsonPath:
        """The JSON path of the connection's target object."""
        return ("connections", self.source.name, self.source_type, self.output, self.position)


class Workflow(Struct, frozen=True):
    """Nodes and wires, indexed. Of nodes with one name, wires mean the first."""

    raw: Mapping[str, Json]
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    by_name: Mapping[str, Node]
    outgoing: Mapping[str, tuple[Wire, ...]]
    incoming: Mapping[str, tuple[Wire, ...]]

    def names(self) -> Names:
        """Return the names that code and connections may use: no sticky notes."""
        return Names(node.name for node in self.nodes if not node.is_sticky)


def parameter_issue(node: Node, text: str, path: JsonPath, **words: Any) -> Issue:  # noqa: ANN401 - as ``issue``
    """Return a rule's issue in a node's parameter."""
    return issue(text, (*node.path, "parameters", *path), node=node, **words)


def build(value: Mapping[str, Json]) -> Workflow:
    """Return a workflow's well-formed part. Never raises."""
    nodes = tuple(_nodes(value.get("nodes")))
    by_name: dict[str, Node] = {}
    for node in nodes:
        by_name.setdefault(node.name, node)
    wires = tuple(_wires(value.get("connections"), by_name))
    return Workflow(value, nodes, wires, by_name, _index(wires, outgoing=True), _index(wires, outgoing=False))


def _nodes(nodes: Json) -> Iterator[Node]:
    for index, raw in enumerate(nodes if isinstance(nodes, list) else ()):
        if not isinstance(raw, dict):
            continue
        name, node_type, version, parameters = (raw.get(k) for k in ("name", "type", "typeVersion", "parameters"))
        if not (isinstance(name, str) and name and isinstance(node_type, str) and node_type):
            continue
        number = None if isinstance(version, bool) or not isinstance(version, int | float) else float(version)
        given = parameters if isinstance(parameters, dict) else {}
        yield Node(index, name, node_type, number, given, raw.get("disabled") is True, raw)


def _wires(connections: Json, by_name: Mapping[str, Node]) -> Iterator[Wire]:
    for name, outputs in _items(connections):
        source = by_name.get(name)
        if source is None:
            continue
        for source_type, buckets in _items(outputs):
            for output, bucket in enumerate(buckets if isinstance(buckets, list) else ()):
                for position, target in enumerate(bucket if isinstance(bucket, list) else ()):
                    wire = _wire(source, source_type, (output, position), target, by_name)
                    if wire is not None:
                        yield wire


def _wire(
    source: Node, source_type: str, place: tuple[int, int], target: Json, by_name: Mapping[str, Node]
) -> Wire | None:
    if not isinstance(target, dict):
        return None
    name = target.get("node")
    target_type = target.get("type")
    number = target.get("index")
    node = by_name.get(name) if isinstance(name, str) else None
    if node is None or not isinstance(target_type, str) or not target_type or isinstance(number, bool):
        return None
    if not isinstance(number, int | float) or not 0 <= number < 1e9 or number != int(number):
        return None
    return Wire(source, source_type, *place, node, target_type, int(number))


def _items(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from value.items()


def _index(wires: tuple[Wire, ...], *, outgoing: bool) -> dict[str, tuple[Wire, ...]]:
    found: dict[str, list[Wire]] = {}
    for wire in wires:
        found.setdefault(wire.source.name if outgoing else wire.target.name, []).append(wire)
    return {name: tuple(group) for name, group in found.items()}


def reachable(start: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    """Return ``start`` and all reached from it."""
    todo = list(start)
    found = set(todo)
    while todo:
        new = {*following(todo.pop())} - found
        found |= new
        todo += new
    return found


def is_position(value: object) -> bool:
    """Return whether n8n accepts a position."""
    return isinstance(value, list) and len(value) == 2 and all(json_kind(one) == "number" for one in value)


def own_id(text: str) -> str:
    """Return a text's id, always the same."""
    return str(uuid.uuid5(_OURS, text))


def put_at(value: Any, path: JsonPath, new: Json) -> None:  # noqa: ANN401 - any JSON value
    """Set the value at a path; makes missing objects."""
    for part in path[:-1]:
        value = value.setdefault(part, {}) if isinstance(value, dict) else value[part]
    value[path[-1]] = new
