"""A workflow repaired: what n8n would drop without a word is where n8n reads it.

A repair is made where exactly one form is valid; with ``unsafe`` also where one is likely. The result is judged by
the rules for parameters: what leaves more errors than before is not made. Nothing else of the workflow changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.dataclass import NamedTuple, replace
from rails.core.tool_request import Json
from rails.n8n import model
from rails.n8n.model import ON_ERROR, SETTINGS_OF_NODES, Issue, Node
from rails.n8n.nodes.catalogue import Catalogue
from rails.n8n.repair import misplaced, old_shapes
from rails.n8n.rules import parameters as rule

#: Repairs of one node, and tries for it.
_MOST: Final = 60
#: What n8n says of parameters of another version: unknown, an unknown group, another shape.
_LACKS: Final = frozenset({"N8N051", "N8N053", "N8N055"})


class WorkflowRepair(NamedTuple):
    """What was repaired in which node, in words, and whether it is only likely to be what was meant."""

    node: str
    what: str
    likely: bool = False


def repaired(
    workflow: Mapping[str, Json], known: Catalogue | None = None, *, unsafe: bool = False
) -> tuple[dict[str, Json], list[WorkflowRepair]]:
    """Return the workflow with what can be repaired, and what was done. Equal to ``workflow`` if nothing was."""
    nodes, made = workflow.get("nodes"), list[WorkflowRepair]()
    if not isinstance(nodes, list):
        return dict(workflow), made
    changed: dict[int, dict[str, Json]] = {}
    for node in model.build(workflow).nodes:
        if node.disabled:
            continue
        lifted, settings = _lifted(node)
        sound, done = _node(lifted, known, unsafe=unsafe)
        done = settings + done
        if done:
            made += done
            changed[node.index] = dict(sound.raw)
    return {**workflow, "nodes": [changed.get(index, node) for index, node in enumerate(nodes)]}, made


def _lifted(node: Node) -> tuple[Node, list[WorkflowRepair]]:
    """Return a node whose own settings stand beside its parameters, where they can be its settings."""
    raw = dict(node.raw)
    found = [name for name in SETTINGS_OF_NODES if name in node.parameters and name not in raw]
    found = [name for name in found if _is_setting(node, name, node.parameters[name])]
    if not found:
        return node, []
    rest = {name: value for name, value in node.parameters.items() if name not in found}
    raw.update({"parameters": rest} | {name: node.parameters[name] for name in found})
    done = [WorkflowRepair(node.name, f"`{name}` beside the parameters") for name in found]
    return replace(node, raw=raw, parameters=rest), done


def _is_setting(node: Node, name: str, value: Json) -> bool:
    """Say whether a value can be a setting. A node is never disabled by a repair."""
    if name == "onError":
        return value in ON_ERROR
    if name == "notes":
        return isinstance(value, str)
    if name in {"maxTries", "waitBetweenTries"}:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, bool) and name != "disabled" and not (name == "executeOnce" and "Command" in node.type)


def _node(node: Node, known: Catalogue | None, *, unsafe: bool) -> tuple[Node, list[WorkflowRepair]]:
    """Return a node repaired: surely, and what is left then by another version or by what is likely."""
    sound, made = _mended(node, known, unsafe=False)
    left = _faults(sound, known)
    if not unsafe or not left:
        return sound, made
    version = _other_version(node, known) if any(issue.severity == "error" for issue in left) else None
    if version is not None:
        what = f"`typeVersion` {version:g}, which has these parameters"
        return _with(node, dict(node.parameters), version), [WorkflowRepair(node.name, what, likely=True)]
    better, more = _mended(sound, known, unsafe=True)
    return better, made + more


def _mended(node: Node, known: Catalogue | None, *, unsafe: bool) -> tuple[Node, list[WorkflowRepair]]:
    """Return a node after all repairs. One may show faults that the next one mends, so all are tried at first."""
    sound, made = _stepped(node, known, unsafe=unsafe, strict=unsafe)
    if made and not _is_better(_faults(sound, known), _faults(node, known)):
        return _stepped(node, known, unsafe=unsafe, strict=True)
    return sound, made


def _stepped(node: Node, known: Catalogue | None, *, unsafe: bool, strict: bool) -> tuple[Node, list[WorkflowRepair]]:
    made: list[WorkflowRepair] = []
    seen, faults = [node.raw], _faults(node, known)
    for _ in range(_MOST):
        for sound, what in _repairs(node, known, unsafe=unsafe):
            left = _faults(sound, known)
            if sound.raw not in seen and (not strict or _is_better(left, faults, needs=unsafe)):
                node, faults = sound, left
                seen.append(sound.raw)
                made.append(WorkflowRepair(node.name, what, unsafe))
                break
        else:
            break
    return node, made


def _repairs(node: Node, known: Catalogue | None, *, unsafe: bool) -> Iterator[tuple[Node, str]]:
    """Yield the node after each sure repair that is possible, or each likely one, and what it is."""
    for given, what in () if unsafe else old_shapes.repairs(node, dict(node.parameters)):
        yield _with(node, given, node.version), what
    for found in misplaced.repairs(node, known, unsafe=unsafe) if known is not None and known.is_full else ():
        yield _with(node, found.parameters, node.version), found.what


def _with(node: Node, parameters: dict[str, Json], version: float | None) -> Node:
    raw: dict[str, Json] = {**node.raw, "parameters": parameters}
    if version is not None and version != node.version:
        raw["typeVersion"] = int(version) if version.is_integer() else version
    return replace(node, raw=raw, parameters=parameters, version=version)


def _other_version(node: Node, known: Catalogue | None) -> float | None:
    """Return the newest version by which nothing is wrong with the parameters, where this one lacks some of them."""
    if known is None or not any(issue.rule in _LACKS for issue in _faults(node, known) or ()):
        return None
    others = (version for version in reversed(known.known_versions(node.type) or ()) if version != node.version)
    return next((version for version in others if _faults(replace(node, version=version), known) == []), None)


def _faults(node: Node, known: Catalogue | None) -> list[Issue] | None:
    """Return the issues of a node's parameters, ``None`` where they are not known."""
    description = known.describe(node.type, node.version) if known is not None else None
    if description is None or not description.is_full:
        return None
    return [issue for issue in rule.check(node, description)[1] if issue.severity != "info"]


def _is_better(left: list[Issue] | None, before: list[Issue] | None, *, needs: bool = False) -> bool:
    """Whether there is no error more than before; where a repair ``needs`` that, one issue less."""
    if left is None or before is None:
        return left is None and before is None
    errors, were = (sum(issue.severity == "error" for issue in found) for found in (left, before))
    return (errors, len(left)) < (were, len(before)) if needs else (errors, len(left)) <= (were, len(before))
