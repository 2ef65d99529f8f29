"""How the workflows of a project call each other and where their errors go, as a workflow that can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rails.core.tool_request import Json
from rails.n8n.account import N8nAccount
from rails.n8n.compare.compare import compare_workflows
from rails.n8n.draw import scene
from rails.n8n.rules.project import WorkflowFacts

_WORKFLOW: Final = "n8n-nodes-base.executeWorkflow"
_WEBHOOK: Final = "n8n-nodes-base.webhook"
_CATCHES: Final = "n8n-nodes-base.errorTrigger"


def project_drawing(files: Iterable[WorkflowFacts], account: N8nAccount | None = None) -> Json:
    """Return the drawing of a project: a box for each workflow, a wire for each call, one for each error workflow."""
    facts = list(files)
    named = {one.id: _name(one) for one in reversed(facts) if one.id}
    elsewhere = (account.workflows or {}) if account else {}
    nodes: dict[str, dict[str, Json]] = {_name(one): _box(one) for one in facts}
    wires: dict[str, Json] = {}
    for one in facts:
        calls = [call.target for call in one.calls]
        handler = [one.error_workflow] if one.error_workflow not in ("", "DEFAULT") else []
        for target in (*calls, *handler):
            if target not in named:
                named[target] = f"{elsewhere.get(target, 'not here:')} {target}".strip()
                nodes[named[target]] = {"type": _WORKFLOW, "disabled": target not in elsewhere}
        ends = [list(_ends(group, named)) for group in (calls, handler)]
        wires[_name(one)] = {"main": list[Json](ends)}
    flow: dict[str, Json] = {"nodes": [{"name": name, **node} for name, node in nodes.items()], "connections": wires}
    return scene.drawing(compare_workflows(None, flow))


def _name(one: WorkflowFacts) -> str:
    return one.path.removesuffix(".json") if one.path else one.name


def _box(one: WorkflowFacts) -> dict[str, Json]:
    kind = _CATCHES if one.catches else _WEBHOOK if one.routes else _WORKFLOW
    return {"type": kind, "onError": "continueErrorOutput", "parameters": {}}


def _ends(targets: Iterable[str], named: Mapping[str, str]) -> Iterator[Json]:
    for target in dict.fromkeys(targets):
        yield {"node": named[target], "type": "main", "index": 0}
