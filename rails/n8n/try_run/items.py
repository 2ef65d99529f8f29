"""The items that go through a dry run: what they hold, and which items they were made from."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rails.n8n import values
from rails.n8n.values import Value


class Item:
    """One item. ``parents`` are those that it was made from; its place is set where it is put out."""

    __slots__ = ("binary", "id", "index", "is_error", "json", "node", "output", "parents", "run")

    def __init__(self, json: dict[str, Value], parents: Iterable[Item] = (), binary: Value = None) -> None:
        self.json, self.parents, self.binary, self.id = json, tuple(parents), binary, next(_IDS)
        self.node, self.run, self.output, self.index, self.is_error = "", 0, 0, 0, False

    def again(self) -> Item:
        """Return the item as a node passes it on."""
        return Item(self.json, (self,), self.binary)

    def told(self) -> list[Value]:
        """Return the item as the JavaScript engine holds it: JSON texts, the items that it was made from, its place."""
        texts = [json.dumps(values.json_value(one)) if one else "" for one in (self.json or None, self.binary)]
        parents = [parent.id for parent in self.parents]
        return [self.id, texts[0] or "{}", texts[1], parents, self.node, self.run, self.output, self.index]


_IDS = itertools.count()
Outputs = list[list[Item]]


@dataclass
class NodeRun:
    """One run of a node: what went in and came out, or why nothing did.

    ``state`` is "done", "pinned", "sample", "disabled", "failed", "stop" (it reaches outside) or "not modelled".
    """

    node: str
    type: str
    index: int
    state: str
    inputs: list[list[Item]]
    outputs: Outputs = field(default_factory=list)
    said: str = ""
    parameters: list[Value] = field(default_factory=list)
    source: Sequence[tuple[str, int, int] | None] = ()


def given_items(given: Value) -> list[Item]:
    """Return sample or pinned data as items: a list of items or of objects, or one of them."""
    made = []
    for one in given if isinstance(given, list) else [given]:
        wrapped = isinstance(one, dict) and isinstance(one.get("json"), dict) and set(one) <= _OF_AN_ITEM
        held = one["json"] if wrapped else one
        made.append(
            Item(copy.deepcopy(held) if isinstance(held, dict) else {"value": held}, (), wrapped and one.get("binary"))
        )
    return made


_OF_AN_ITEM = {"json", "binary", "pairedItem", "error", "index"}
