"""Loops: which end by themselves and which cannot.

A loop is normal in n8n (every fifth sound workflow has one). Only a loop in which no node can ever send
its items elsewhere or hold them back is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rails.n8n.issues import Issue, listed
from rails.n8n.model import Workflow
from rails.n8n.nodes.catalogue import CORE_PACKAGES

#: Core types that can send items elsewhere or hold them back. A community node may do so too.
_CAN_STOP: Final = frozenset(
    f"n8n-nodes-base.{name}"
    for name in (
        "code",
        "compareDatasets",
        "evaluation",
        "filter",
        "function",
        "functionItem",
        "if",
        "limit",
        "removeDuplicates",
        "splitInBatches",
        "splitOut",
        "stopAndError",
        "switch",
    )
) | frozenset(
    f"@n8n/n8n-nodes-langchain.{name}" for name in ("code", "guardrails", "sentimentAnalysis", "textClassifier")
)


def check(workflow: Workflow) -> Iterator[Issue]:
    """Yield a warning for each self-connection and each cycle without an exit."""
    for wire in workflow.wires:
        if wire.source is wire.target and wire.source_type == "main" and not wire.source.disabled:
            message = f"{wire.source.title} is connected to itself"
            remedy = "Remove the connection, or put a node with an exit between (If, Loop Over Items)."
            yield Issue("N8N036", wire.path, message, remedy, "warning")
    following = {
        name: [wire.target.name for wire in wires if wire.source_type == "main"]
        for name, wires in workflow.outgoing.items()
    }
    for cycle in components(following):
        if not _has_exit(workflow, cycle):
            first = min((workflow.by_name[name] for name in cycle), key=lambda node: node.index)
            message = f"The cycle of {listed(sorted(cycle), 5)} has no exit: it runs until the time-out"
            remedy = "Let one node of the cycle choose between two outputs (If, Switch, Loop Over Items)."
            yield Issue("N8N038", first.path, message, remedy, "warning")


def _has_exit(workflow: Workflow, cycle: set[str]) -> bool:
    """Whether a node of the cycle uses several outputs, or is of a type that can hold items back."""
    for name in cycle:
        node = workflow.by_name[name]
        outputs = [wire.output for wire in workflow.outgoing.get(name, ()) if wire.source_type == "main"]
        is_core = node.type.rpartition(".")[0] in CORE_PACKAGES
        if max(outputs, default=0) > 0 or node.disabled or node.type in _CAN_STOP or not is_core:
            return True
    return False


def components(following: Mapping[str, Iterable[str]]) -> Iterator[set[str]]:
    """Yield the strongly connected components of two or more names.

    Tarjan's algorithm (1972) with an explicit stack: linear, and safe on a chain of any length.
    """
    search = _Tarjan(following)
    for start in following:
        if start not in search.order:
            yield from search.run(start)


class _Tarjan:
    def __init__(self, following: Mapping[str, Iterable[str]]) -> None:
        self._following = following
        self.order: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._open: dict[str, None] = {}
        self._work: list[tuple[str, Iterator[str]]] = []

    def run(self, start: str) -> Iterator[set[str]]:
        self._visit(start)
        while self._work:
            name, rest = self._work[-1]
            new = self._advance(name, rest)
            if new is not None:
                self._visit(new)
                continue
            self._work.pop()
            if self._work:
                above = self._work[-1][0]
                self._low[above] = min(self._low[above], self._low[name])
            if self._low[name] == self.order[name]:
                component = self._close(name)
                if len(component) > 1:
                    yield component

    def _visit(self, name: str) -> None:
        self.order[name] = self._low[name] = len(self.order)
        self._open[name] = None
        self._work.append((name, iter(self._following.get(name, ()))))

    def _advance(self, name: str, rest: Iterator[str]) -> str | None:
        """Look at the next targets of ``name``; return the first that was not seen before."""
        for target in rest:
            if target not in self.order:
                return target
            if target in self._open:
                self._low[name] = min(self._low[name], self.order[target])
        return None

    def _close(self, name: str) -> set[str]:
        taken = set()
        while name not in taken:
            taken.add(self._open.popitem()[0])
        return taken
