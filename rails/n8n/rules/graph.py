"""The graph without a catalogue: ports by name, triggers, reach, cycles, webhooks.

Normal: loops, fan-out, ``null`` outputs, sub-nodes on ``ai_*``, disabled nodes, lone notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, Names, Node, Wire, Workflow, issue, reachable, shown_value


def check_cycles(workflow: Workflow) -> Iterator[Issue]:
    """Yield a warning for each self-connection, and loop whose body does not lead back."""
    for wire in workflow.wires:
        if wire.source is wire.target and wire.source_type == "main" and not wire.source.disabled:
            yield issue("N8N036", wire.path, wire=wire)
    yield from _loops(workflow)


def _loops(workflow: Workflow) -> Iterator[Issue]:
    for node in workflow.nodes:
        if node.type != "n8n-nodes-base.splitInBatches" or node.disabled:
            continue
        done, loop = (0, 1) if (node.version or 3) >= 3 else (1, 0)
        wires = workflow.outgoing.get(node.name, ())
        outputs = {output: [wire for wire in wires if wire.output == output] for output in (done, loop)}
        back = [wire for wire in outputs[done] if node.name in _reached_along(workflow, wire)]
        looped = any(node.name in _reached_along(workflow, wire) for wire in outputs[loop])
        if outputs[loop] and not back and not looped:
            yield issue("N8N048", outputs[loop][0].path, node=node, loop=loop)
        if outputs[done] and not outputs[loop]:
            back = back or outputs[done]
        if back and not looped:
            yield issue("N8N048b", back[0].path, node=node, done=done, loop=loop)


def _reached_along(workflow: Workflow, wire: Wire) -> set[str]:
    def following(name: str) -> Iterator[str]:
        yield from (wire.target.name for wire in workflow.outgoing.get(name, ()) if wire.source_type == "main")

    return reachable([wire.target.name], following)


#: n8n's ``NodeConnectionTypes``.
PORT_TYPES: Final[list[str]] = FACTS["port_types"]

_CHAT: Final = "@n8n/n8n-nodes-langchain.chatTrigger"
#: Core triggers whose names do not end in "Trigger".
_TRIGGERS: Final = frozenset(
    f"n8n-nodes-base.{name}" for name in ("cron", "emailReadImap", "interval", "start", "webhook")
)


def is_trigger(node: Node) -> bool:
    """Return whether a node can start a workflow, by its type's name."""
    return node.type in _TRIGGERS or node.type.lower().endswith("trigger")


def check(workflow: Workflow, *, whole: bool, stuck: Severity = "warning") -> Iterator[Issue]:
    """Yield every issue of the graph. ``stuck``: the severity if nothing starts the workflow.

    ``whole``: the structure is sound; else reach is not judged, or every node behind a broken connection would count.
    """
    yield from _ports(workflow)
    yield from _sticky_notes(workflow.wires)
    yield from _starts(workflow, whole=whole, stuck=stuck)
    yield from check_cycles(workflow)
    yield from _webhooks(workflow.nodes)


def _ports(workflow: Workflow) -> Iterator[Issue]:
    names = Names(PORT_TYPES)
    told: set[tuple[str, str]] = set()
    for wire in workflow.wires:
        source = (wire.source.name, wire.source_type)
        if wire.source_type not in PORT_TYPES:
            if source not in told:
                yield _unknown_output(wire, names)
            told.add(source)
        elif wire.target_type != wire.source_type:
            yield _other_type(wire)


def _unknown_output(wire: Wire, names: Names) -> Issue:
    given = wire.source_type
    message = f"Output type {shown_value(given)} of {wire.source} is unknown to n8n, which drops these connections"
    nearest = names.nearest(given)
    remedy = 'All data outputs are elements of "main", the first at 0; an error output is the last one.'
    if nearest is not None:
        remedy = f"Did you mean {shown_value(nearest)}?"
    return Issue("N8N030", wire.path[:3], message, remedy, on_key=True)


def _other_type(wire: Wire) -> Issue:
    path = (*wire.path, "type")
    given = wire.target_type
    wanted = wire.source_type
    ends = f"from {wire.source} to {wire.target}"
    remedy = f'Write "type": {shown_value(wanted)}.'
    if given not in PORT_TYPES:
        return issue("N8N030", path, given=given, ends=ends, remedy=remedy)
    kinds = f"leaves a {shown_value(wanted)} output but enters a {shown_value(given)} input"
    return issue("N8N031", path, ends=ends, kinds=kinds, remedy=remedy)


def _sticky_notes(wires: Iterable[Wire]) -> Iterator[Issue]:
    for wire in wires:
        note = next((node for node in (wire.source, wire.target) if node.is_sticky), None)
        if note is not None:
            yield issue("N8N035", (*wire.path, "node"), note=note)


def _starts(workflow: Workflow, *, whole: bool, stuck: Severity) -> Iterator[Issue]:
    runnable = [node for node in workflow.nodes if not node.is_sticky]
    if not runnable:
        return
    triggers = [node for node in runnable if is_trigger(node) and not node.disabled]
    if not triggers:
        yield issue("N8N080", ("nodes",), severity=stuck)
        return
    if not whole:
        return
    reached = reached_from(workflow, triggers)
    for node in runnable:
        if node.name not in reached and not node.disabled and not is_trigger(node):
            yield issue("N8N037", node.path, node=node)


def never_runs(workflow: Workflow) -> set[int]:
    """Return nodes' indexes that no enabled trigger reaches; empty without triggers."""
    triggers = [node for node in workflow.nodes if is_trigger(node) and not node.disabled]
    reached = reached_from(workflow, triggers)
    return {node.index for node in workflow.nodes if triggers and node.name not in reached}


def reached_from(workflow: Workflow, triggers: Iterable[Node]) -> set[str]:
    """Return nodes that run: along main, and sub-nodes."""

    def following(name: str) -> Iterator[str]:
        yield from (wire.target.name for wire in workflow.outgoing.get(name, ()) if wire.source_type == "main")
        yield from (wire.source.name for wire in workflow.incoming.get(name, ()) if wire.source_type != "main")

    return reachable((node.name for node in triggers), following)


def _webhooks(nodes: Iterable[Node]) -> Iterator[Issue]:
    served: dict[tuple[str, str], Node] = {}
    for node in nodes:
        if node.disabled:
            continue
        for method, path in routes(node):
            first = served.setdefault((method, path), node)
            if first is not node:
                route = f"{method} {shown_value(path)}"
                yield issue("N8N081", (*node.path, "parameters", "path"), node=node, first=first, route=route)


def routes(node: Node) -> Iterator[tuple[str, str]]:
    """Yield constant webhooks' methods and paths."""
    is_chat = node.type == _CHAT and node.parameters.get("public") is True
    options = node.parameters.get("options")
    path = node.parameters.get("path") or (options.get("path") if isinstance(options, dict) else None)
    path = node.raw.get("webhookId") if is_chat or not path else path
    if not isinstance(path, str) or path.startswith("=") or ":" in path or not path.strip("/"):
        return
    if node.type == "n8n-nodes-base.webhook":
        usual = ["GET", "POST"] if node.parameters.get("multipleMethods") is True else "GET"
        methods = node.parameters.get("httpMethod", usual)
        for method in methods if isinstance(methods, list) else [methods]:
            if isinstance(method, str) and not method.startswith("="):
                yield method.upper(), path.strip("/")
    elif is_chat or node.type == "n8n-nodes-base.formTrigger":
        whole = f"{path.strip('/')}/chat" if is_chat else path.strip("/")
        yield from (("GET", whole), ("POST", whole))
