"""A workflow repaired where exactly one form is valid, so that n8n reads what it would drop.

No repair leaves more errors, by the rules for parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.model import NODE_VALUES, Node
from rails.n8n.nodes.catalogue import Catalogue, names_only
from rails.n8n.repair import misplaced, old_shapes
from rails.n8n.rules import parameters as rule
from rails.n8n.rules.shapes import misplaced_settings

#: Repairs of one node, and tries for it.
_MOST: Final = 60


class WorkflowRepair(NamedTuple):
    """A repair in words, and its node."""

    node: str
    what: str


def repaired(
    workflow: Mapping[str, Json], known: Catalogue | None = None
) -> tuple[dict[str, Json], list[WorkflowRepair]]:
    """Return the repaired workflow (or an equal), and what was done."""
    known = known or names_only()
    nodes = workflow.get("nodes")
    made = list[WorkflowRepair]()
    if not isinstance(nodes, list):
        return dict(workflow), made
    whole = list(nodes)
    for node in model.build(workflow).nodes:
        if not node.disabled:
            sound, done = _mended(node, known)
            whole[node.index] = dict(sound.raw)
            made += [WorkflowRepair(node.name, what) for what in done]
    return {**workflow, "nodes": whole}, made


def _lifted(node: Node, known: Catalogue) -> tuple[Node, list[str]]:
    possible = misplaced_settings(node, known.describe(node.type, node.version))
    versions = known.known_versions(node.type) or ()
    found = {name: node.parameters[name] for name in possible if name not in node.raw}
    found = {name: value for name, value in found.items() if _is_setting(name, value, versions)}
    rest = {name: value for name, value in node.parameters.items() if name not in found}
    (sound,) = model.build({"nodes": [{**node.raw, "parameters": rest, **found}]}).nodes
    lifted = replace(sound, index=node.index) if found else node
    return lifted, [f"`{name}` beside the parameters" for name in found]


def _is_setting(name: str, value: Json, versions: tuple[float, ...]) -> bool:
    if name == "disabled" or (name == "typeVersion" and value not in versions):
        return False
    try:
        msgspec.convert(value, NODE_VALUES[name])
    except msgspec.ValidationError:
        return False
    return True


def _mended(node: Node, known: Catalogue) -> tuple[Node, list[str]]:
    """Return a node after all repairs (one may show the next's faults), or lifted settings if more is wrong then."""
    lifted, done = _lifted(node, known)
    sound = lifted
    made: list[str] = []
    seen = [sound.raw]
    for _ in range(_MOST):
        new = ((one, what) for one, what in _repairs(sound, known) if one.raw not in seen)
        sound, what = next(new, (sound, ""))
        if not what:
            break
        seen.append(sound.raw)
        made.append(what)
    return (lifted, done) if _faults(sound, known) > _faults(lifted, known) else (sound, done + made)


def _repairs(node: Node, known: Catalogue) -> Iterator[tuple[Node, str]]:
    for given, what in old_shapes.repairs(node, dict(node.parameters)):
        yield _with(node, given), what
    for found in misplaced.repairs(node, known):
        yield _with(node, found.parameters), found.what


def _with(node: Node, parameters: dict[str, Json]) -> Node:
    return replace(node, raw={**node.raw, "parameters": parameters}, parameters=parameters)


def _faults(node: Node, known: Catalogue) -> tuple[int, int]:
    description = known.describe(node.type, node.version)
    if description is None or not description.is_full:
        return 0, 0
    found = [issue.severity for issue in rule.check(node, description)[1] if issue.severity != "info"]
    return found.count("error"), len(found)
