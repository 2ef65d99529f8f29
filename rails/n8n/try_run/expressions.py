"""n8n's expressions evaluated on the items of a dry run: ``$json``, ``$('X')``, ``$input``, ``$now`` and the rest."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from rails.n8n.javascript.expressions import segments
from rails.n8n.model import Node, Workflow, shown_value
from rails.n8n.try_run import builtins, extensions, methods, values
from rails.n8n.try_run.dates import DateTime
from rails.n8n.try_run.durations import Duration
from rails.n8n.try_run.interpreter import Interpreter
from rails.n8n.try_run.items import Item, NodeRun, ancestors
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Thrown, Value


class RunSoFar(Protocol):
    """What expressions may ask of the run so far."""

    @property
    def workflow(self) -> Workflow:
        """The workflow."""

    @property
    def runs(self) -> Mapping[str, list[NodeRun]]:
        """The runs of every node that ran, by its name."""

    def stands_in(self, name: str) -> list[Item] | None:
        """Return the pinned or sample data of a node that did not run."""

    @property
    def contexts(self) -> Mapping[str, dict[str, Value]]:
        """What nodes keep between their runs."""


class _Parts:
    """An object whose properties are computed when they are read."""

    kind = "object"

    def __init__(self, what: str, parts: Mapping[str, Callable[[], Value]]) -> None:
        self._what, self._parts = what, parts

    def property(self, key: str) -> Value:
        """Return one of the properties. Raises NotModelled for another."""
        part = self._parts.get(key)
        if part is None:
            raise NotModelled(f"{self._what}.{key}")
        return part()

    def in_json(self) -> Value:
        """Return nothing: no part is a value of its own."""
        return {}


class _Nodes:
    """``$node``: any name is a property."""

    kind = "object"

    def __init__(self, of: Callable[[str], Value]) -> None:
        self.property = of


class Evaluator:
    """Evaluates the parameters of one dry run's nodes."""

    def __init__(self, history: RunSoFar, now: DateTime, steps: int, until: float) -> None:
        self._history, self._now = history, now
        names = builtins.global_names(lambda: now) | dict(extensions.FUNCTIONS)
        self._engine = Interpreter(
            names, methods.member, methods.called_in_expression, extensions.absent, steps=steps, until=until
        )

    def resolve(self, value: Value, names: Mapping[str, Value]) -> Value:
        """Return a parameter with the expressions in it evaluated, and dates as texts."""
        if isinstance(value, str):
            return _clean(self.evaluate(value, names)) if value.startswith("=") else value
        if isinstance(value, dict):
            return {key: self.resolve(one, names) for key, one in value.items()}
        return [self.resolve(one, names) for one in value] if isinstance(value, list) else value

    def evaluate(self, text: str, names: Mapping[str, Value]) -> Value:
        """Return the value of an expression; of several parts it is a text."""
        made, position = list[Value](), 1
        for segment in segments(text):
            made += [text[position : segment.start - 2], self._segment(segment.code, names)]
            position = segment.end + 2
        made.append(text[position:])
        if len(made) == 3 and made[0] == made[2] == "":
            if values.kind(made[1]) == "function" and made[1] not in values.NOTHING:
                raise NodeFault("this is a function, please add ()")
            return made[1]
        return "".join(values.to_text(one) if _is_shown(one) else "" for one in made)

    def _segment(self, code: str, names: Mapping[str, Value]) -> Value:
        try:
            return self._engine.expression(code, names)
        except Thrown:
            return UNDEFINED  # n8n keeps an error of JavaScript's to itself, and goes on with nothing

    def all_items(self) -> dict[str, Value]:
        """Return what every node put out at its first output, by its name, as JSON."""
        runs = self._history.runs.items()
        return {name: [item.view() for item in (some[-1].outputs or [[]])[0]] for name, some in runs}

    def run_code(self, code: str, names: Mapping[str, Value]) -> Value:
        """Return what a Code node's JavaScript gives back. Raises Thrown."""
        return self._engine.program(code, names)

    def names(self, node: Node, run: NodeRun, index: int, code: object = "") -> dict[str, Value]:
        """Return the names that ``code`` of ``node`` has for the item ``index`` of its input.

        Code that might change what it reads gets a copy: no node can change what another has put out.
        """
        items = next((one for one in run.inputs if one), [])
        item = items[index] if index < len(items) else Item({})
        owned = _CHANGES.search(str(code)) is not None
        where = _Where(self._history, node, item, index, owned=owned)
        source = run.source[0] if run.source else None
        workflow = self._history.workflow.raw
        return {
            "$json": copy.deepcopy(item.json) if owned else item.json,
            "$binary": item.binary or {},
            "$input": _Parts("$input", _listed(items, lambda: item.view(owned=owned), node, owned=owned)),
            "$": where.node,
            "$node": _Nodes(where.old_node),
            "$items": where.items,
            "$itemIndex": index,
            "$position": index,
            "$runIndex": run.index,
            "$now": self._now,
            "$today": self._now.start("day"),
            "$workflow": {"id": workflow.get("id", ""), "name": workflow.get("name", ""), "active": False},
            "$prevNode": {"name": source[0], "outputIndex": source[1], "runIndex": source[2]} if source else {},
            "$parameter": node.parameters,
            "$nodeVersion": node.version,
            "$nodeId": node.raw.get("id", ""),
            "$mode": "manual",
        }  # fmt: skip


#: What changes a value in place.
_CHANGES: Final = re.compile(
    r"\.(?:push|pop|shift|unshift|splice|sort|reverse|fill|assign|set)\b|(?<![=!<>])=(?![=>])|\+\+|--|\bdelete\b"
)


def _listed(items: list[Item], item: Callable[[], Value], node: Node, *, owned: bool) -> dict[str, Callable[[], Value]]:
    return {
        "item": item,
        "all": lambda: lambda: [one.view(owned=owned) for one in items],
        "first": lambda: lambda: items[0].view(owned=owned) if items else UNDEFINED,
        "last": lambda: lambda: items[-1].view(owned=owned) if items else UNDEFINED,
        "params": lambda: dict(node.parameters),
    }


class _Where:
    """The place from which an expression looks back at other nodes."""

    def __init__(self, history: RunSoFar, node: Node, item: Item, index: int, *, owned: bool) -> None:
        self._history, self._node, self._item, self._index, self._owned = history, node, item, index, owned

    def node(self, name: Value) -> Value:
        """Return ``$('name')``."""
        other = self._history.workflow.by_name.get(values.to_text(name))
        if other is None:
            raise NodeFault(f"Referenced node doesn't exist: {shown_value(name)}")
        here = _listed([], lambda: self._paired(other), other, owned=self._owned)
        parts: dict[str, Callable[[], Value]] = {
            **here,
            "all": lambda: lambda output=UNDEFINED, run=UNDEFINED: self._views(other, output, run),
            "first": lambda: lambda output=UNDEFINED, run=UNDEFINED: _one(self._views(other, output, run), 0),
            "last": lambda: lambda output=UNDEFINED, run=UNDEFINED: _one(self._views(other, output, run), -1),
            "itemMatching": lambda: lambda index: self._matching(other, index),
            "pairedItem": lambda: lambda: self._paired(other),
            "isExecuted": lambda: other.name in self._history.runs,
            "context": lambda: self._history.contexts.get(other.name, {}),
        }
        return _Parts(f"$({shown_value(name)})", parts)

    def old_node(self, name: str) -> Value:
        """Return ``$node["name"]``, which takes the item of the same place."""
        other = self._history.workflow.by_name.get(name)
        if other is None:
            raise NodeFault(f"Referenced node doesn't exist: {shown_value(name)}")
        parts: dict[str, Callable[[], Value]] = {
            "json": lambda: self._same_place(other).json,
            "binary": lambda: self._same_place(other).binary or {},
            "data": lambda: self._same_place(other).json,
            "parameter": lambda: dict(other.parameters),
            "context": lambda: self._history.contexts.get(other.name, {}),
            "runIndex": lambda: len(self._history.runs.get(other.name, ())) - 1,
        }
        return _Parts(f"$node[{shown_value(name)}]", parts)

    def items(self, name: Value = UNDEFINED, output: Value = UNDEFINED, run: Value = UNDEFINED) -> Value:
        """Return ``$items(…)``."""
        other = self._history.workflow.by_name.get(values.to_text(name)) if name is not UNDEFINED else None
        if other is None:
            raise NotModelled("$items() without the name of a node")
        return self._views(other, output, run)

    def _views(self, other: Node, output: Value, run: Value) -> list[Value]:
        return [one.view(owned=self._owned) for one in self._of(other, output, run)]

    def _of(self, other: Node, output: Value, run: Value) -> list[Item]:
        runs = self._history.runs.get(other.name)
        pinned = None if runs else self._history.stands_in(other.name)
        if pinned is not None:
            return pinned
        if not runs:
            raise NodeFault(f"Node {shown_value(other.name)} hasn't been executed")
        found = runs[int(run) if run is not UNDEFINED and int(run) < len(runs) else -1]
        number = self._output_to_here(other) if output is UNDEFINED else int(output)
        return found.outputs[number] if number < len(found.outputs) else []

    def _output_to_here(self, other: Node) -> int:
        """Return the output of a node that leads to this one, 0 where none does."""
        history, seen, layer = self._history.workflow, {self._node.name}, [self._node.name]
        while layer:
            wires = [wire for name in layer for wire in history.incoming.get(name, ()) if wire.source_type == "main"]
            leading = [wire.output for wire in wires if wire.source.name == other.name]
            if leading:
                return leading[0]
            layer = [name for name in dict.fromkeys(wire.source.name for wire in wires) if name not in seen]
            seen.update(layer)
        return 0

    def _same_place(self, other: Node) -> Item:
        items = self._of(other, UNDEFINED, UNDEFINED)
        if self._index >= len(items):
            raise NodeFault(f"Can't get data for expression: {shown_value(other.name)} has no item {self._index}")
        return items[self._index]

    def _paired(self, other: Node) -> Value:
        if other.name not in self._history.runs:
            raise NodeFault(f"Node {shown_value(other.name)} hasn't been executed")
        return _only(ancestors(self._item, other.name), other).view(owned=self._owned)

    def _matching(self, other: Node, index: Value) -> Value:
        inputs = self._history.runs.get(self._node.name, ())
        del inputs
        if index != self._index:
            raise NotModelled(".itemMatching() of another item")
        return self._paired(other)


def _is_shown(value: Value) -> bool:
    """Whether a value stands in a text beside others: what is nothing does not."""
    return values.truthy(value) or value is False or (values.is_numeric(value) and value == 0)


def _one(views: list[Value], place: int) -> Value:
    return views[place] if views else UNDEFINED


def _only(found: list[Item], other: Node) -> Item:
    if not found:
        raise NodeFault(f"Paired item data is unavailable: no item of {shown_value(other.name)} leads to this one")
    if len(found) > 1:
        raise NodeFault(f"Multiple matches: several items of {shown_value(other.name)} lead to this one")
    return found[0]


def _clean(value: Value) -> Value:
    """Return a value as a node gets it: dates as texts, nothing shared with the item that it came from."""
    if isinstance(value, DateTime | Duration):
        return str(value)
    if isinstance(value, list | dict):
        return copy.deepcopy(value) if values.json_value(value) == value else values.json_value(value)
    return value
