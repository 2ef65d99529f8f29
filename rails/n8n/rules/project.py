"""What workflows have to do with each other: who calls whom, who serves which webhook, who handles whose errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from rails.core.dataclass import NamedTuple, dataclass
from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n import model
from rails.n8n.model import Issue, JsonPath, Node, Workflow, listed, shown_value
from rails.n8n.rules.graph import routes, served_twice

#: Nodes that call another workflow by its id; n8n looks only at the first when it publishes.
CALLERS: Final = (
    "n8n-nodes-base.executeWorkflow",
    "@n8n/n8n-nodes-langchain.toolWorkflow",
    "@n8n/n8n-nodes-langchain.retrieverWorkflow",
)
_CALLED: Final = "n8n-nodes-base.executeWorkflowTrigger"
_CATCHES: Final = "n8n-nodes-base.errorTrigger"


class WorkflowCall(NamedTuple):
    """One node that calls the workflow of an id, with the names of the inputs that it gives (``None``: not said)."""

    node: str
    place: JsonPath
    target: str
    named: str
    inputs: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class WorkflowFacts:
    """What other workflows need to know of one. ``inputs`` is ``None`` where it takes whatever comes."""

    path: str
    id: str
    name: str
    calls: tuple[WorkflowCall, ...] = ()
    routes: tuple[tuple[str, str], ...] = ()
    error_workflow: str = ""
    is_called: bool = False
    catches: bool = False
    inputs: frozenset[str] | None = None


def workflow_facts(workflow: Workflow, path: str) -> WorkflowFacts:
    """Return what a workflow has to do with others."""
    running = [node for node in workflow.nodes if not node.disabled]
    settings = workflow.raw.get("settings")
    handler = settings.get("errorWorkflow") if isinstance(settings, dict) else None
    called = [node for node in running if node.type == _CALLED]
    return WorkflowFacts(
        path,
        _text(workflow.raw.get("id")),
        _text(workflow.raw.get("name")),
        tuple(call for node in running for call in calls_of(node)),
        tuple(route for node in running for route in routes(node)),
        _text(handler),
        bool(called),
        any(node.type == _CATCHES for node in running),
        _inputs(called[0]) if called else None,
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def calls_of(node: Node) -> Iterator[WorkflowCall]:
    """Yield the call that a node makes, where it names the workflow by a constant."""
    given = node.parameters
    if node.type not in CALLERS or given.get("source", "database") != "database":
        return
    value = given.get("workflowId")
    target, name = value, ""
    if isinstance(value, dict):
        target, name = value.get("value"), _text(value.get("cachedResultName"))
    if isinstance(target, str) and target and not target.startswith("="):
        yield WorkflowCall(
            node.name, (*node.path, "parameters", "workflowId"), target, name, _given(given.get("workflowInputs"))
        )


def _given(mapped: Json) -> tuple[str, ...] | None:
    values = mapped.get("value") if isinstance(mapped, dict) and mapped.get("mappingMode") == "defineBelow" else None
    return tuple(values) if isinstance(values, dict) else None


def _inputs(trigger: Node) -> frozenset[str] | None:
    """Return the names that an Execute Workflow Trigger takes, ``None`` where it passes everything through."""
    if trigger.parameters.get("inputSource", "workflowInputs") != "workflowInputs" or (trigger.version or 1) < 1.1:
        return None
    rows = trigger.parameters.get("workflowInputs")
    values = rows.get("values") if isinstance(rows, dict) else None
    names = [row.get("name") for row in values if isinstance(row, dict)] if isinstance(values, list) else []
    return frozenset(name for name in names if isinstance(name, str)) or None


class Surroundings:
    """The other workflows of a project."""

    def __init__(self, others: Iterable[WorkflowFacts] = ()) -> None:
        self.others = tuple(others)

    @cached_property
    def by_id(self) -> Mapping[str, WorkflowFacts]:
        """The other workflows that have an id."""
        return {one.id: one for one in reversed(self.others) if one.id}


def check(workflow: Workflow, around: Surroundings, path: str, profile: str) -> Iterator[Issue]:
    """Yield the issues between a workflow and those around it. ``path`` is its own file, which is none of them."""
    own = workflow_facts(workflow, path)
    strict: Severity = "error" if profile in {"publish", "strict"} else "warning"
    twin = around.by_id.get(own.id) if own.id else None
    if twin is not None:
        message = f"The workflow's id {shown_value(own.id)} is also that of {twin.path}: n8n keeps one of the two"
        yield Issue("N8N112", ("id",), message, "Give one of them another id, or leave the id out.", "warning")
    for call in own.calls:
        yield from _call(call, own, around)
    yield from _handler(own, around)
    yield from _served(workflow, own, around, strict)


def _call(call: WorkflowCall, own: WorkflowFacts, around: Surroundings) -> Iterator[Issue]:
    title, target = f"Node {shown_value(call.node)}", around.by_id.get(call.target)
    if call.target == own.id:
        yield Issue("N8N110", call.place, f"{title} calls its own workflow", "Make sure that it ends.", "warning")
    elif target is None:
        yield from _nowhere(call, title, around)
    if target is None:
        return
    if not target.is_called:
        message = f"{title} calls {target.path}, which has no Execute Workflow Trigger: the run fails there"
        yield Issue("N8N110", call.place, message, f"Add {shown_value(_CALLED)} to {target.path}.", "warning")
    extra = [name for name in call.inputs or () if target.inputs is not None and name not in target.inputs]
    if extra:
        message = f"{title} gives {listed(extra)}, which {target.path} does not take"
        remedy = f"It takes {listed(sorted(target.inputs or ()))}."
        yield Issue(
            "N8N110", (*call.place[:-1], "workflowInputs", "value", extra[0]), message, remedy, "warning", on_key=True
        )


def _nowhere(call: WorkflowCall, title: str, around: Surroundings) -> Iterator[Issue]:
    """A call of a workflow that no file has as its id, but one has as its name or path."""
    meant = [one for one in around.others if call.target in {one.name, one.path} or call.named == one.name != ""]
    if not meant:
        return
    message = f"{title} calls the workflow {shown_value(call.target)}, which no file here has as its id"
    ids = [one.id for one in meant if one.id]
    remedy = f"Write its id: {listed(dict.fromkeys(ids))}." if ids else "Write the id of a workflow that is there."
    yield Issue("N8N110", call.place, message, remedy, "warning")


def _handler(own: WorkflowFacts, around: Surroundings) -> Iterator[Issue]:
    target = around.by_id.get(own.error_workflow)
    if target is not None and not target.catches:
        message = f"Errors go to {target.path}, which has no Error Trigger: nothing runs there"
        remedy = f"Add {shown_value(_CATCHES)} to {target.path}."
        yield Issue("N8N111", ("settings", "errorWorkflow"), message, remedy, "warning")


def _served(workflow: Workflow, own: WorkflowFacts, around: Surroundings, strict: Severity) -> Iterator[Issue]:
    """Webhooks that another file serves."""
    others = [one for one in around.others if not (own.id and one.id == own.id)]
    served = {route: one.path for one in others for route in one.routes}
    for node in workflow.nodes:
        for route in routes(node) if not node.disabled else ():
            if route in served:
                yield served_twice(node, served[route], *route, strict)


def facts_in(value: Json, path: str) -> Iterator[WorkflowFacts]:
    """Yield the facts of the workflow, or of each one of a list."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield workflow_facts(model.build(item), path)
