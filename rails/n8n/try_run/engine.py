"""A workflow run without n8n: every node's items in n8n's order, within bounds, a stop where a node reaches outside.

Anchor: n8n-core 2.41, the order of ``WorkflowExecute``: depth first with the topmost node first (``executionOrder``
v1), breadth first without it; a node with several inputs waits for all of them, and runs with what there is when
nothing else is left. What n8n does beside (credentials, retries, binary data, expressions of its own) is named.
"""

from __future__ import annotations

import time
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rails.core.errors import UsageError
from rails.n8n import values
from rails.n8n.model import Node, Wire, Workflow, shown_value
from rails.n8n.rules.graph import reached_from
from rails.n8n.try_run.context import NodeContext, goes_on
from rails.n8n.try_run.data_nodes import DATA
from rails.n8n.try_run.expressions import Evaluator
from rails.n8n.try_run.faults import BoundReached, NodeFault, NotModelled, OverBudget
from rails.n8n.try_run.flow_nodes import FLOW
from rails.n8n.try_run.items import Item, NodeRun, Outputs, given_items
from rails.n8n.try_run.javascript import Engine, Questions
from rails.n8n.values import Value

_BASE: Final = "n8n-nodes-base."
#: Zone of an n8n that nobody set one for.
DEFAULT_ZONE: Final = "America/New_York"
_STARTS: Final = frozenset({"webhook", "start", "cron", "interval", "emailReadImap"})
_DEEPEST: Final = 5
#: What a model of a node raises on parameters and data that nobody thought of: n8n may take them or not.
_UNFORESEEN: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Limits:
    """How much a dry run may do."""

    items: int = 10_000
    runs: int = 1_000
    seconds: float = 10.0  # of computing: how busy the machine is makes no difference
    expression_seconds: float = 2.0


@dataclass
class TryResult:
    """What a dry run came to: runs in their order, what could not run, and why it ended early, if it did."""

    started: str
    runs: list[NodeRun] = field(default_factory=list)
    not_reached: list[str] = field(default_factory=list)
    ended: str = ""

    @property
    def failed(self) -> bool:
        """Whether a node failed, as it would in n8n, or a bound was reached."""
        return bool(self.ended) or any(run.state == "failed" for run in self.runs)


@dataclass(frozen=True)
class TrySetting:
    """What a dry run stands on beside the workflow: data, time, others of the project, what runs JavaScript."""

    data: Mapping[str, Value] = field(default_factory=dict)
    now: float = field(default_factory=lambda: time.time() * 1000)  # milliseconds since 1970
    zone: str = ""
    limits: Limits = field(default_factory=Limits)
    load: Callable[[str], Workflow | None] = lambda _: None
    engine: Engine = field(default_factory=Engine)


def try_workflow(workflow: Workflow, setting: TrySetting, *, start: str = "", first: Sequence[Item] = ()) -> TryResult:
    """Run a workflow from ``start`` (its first trigger by default) with ``first`` items or those of the setting."""
    return _Run(workflow, setting).run(start, list(first))


def start_of(workflow: Workflow, named: str = "") -> Node:
    """Return the node that a run starts at. Raises UsageError where there is none."""
    nodes = [node for node in workflow.nodes if not node.disabled and not node.is_sticky]
    if named:
        if named not in workflow.by_name:
            raise UsageError(f"There is no node {shown_value(named)}. {workflow.names().hint(named, 'nodes')}")
        return workflow.by_name[named]
    triggers = [node for node in nodes if node.type.endswith("rigger") or node.type.removeprefix(_BASE) in _STARTS]
    fed = {wire.target.name for wire in workflow.wires if wire.source_type == "main"}
    roots = [node for node in nodes if node.name not in fed and workflow.outgoing.get(node.name)]
    found = next(iter([*triggers, *roots, *nodes]), None)
    if found is None:
        raise UsageError("The workflow has no node that could run.")
    return found


class _Waiting:
    """A node with several inputs that has not all of them yet."""

    def __init__(self, count: int) -> None:
        self.inputs: list[list[Item] | None] = [None] * count
        self.sources: list[tuple[str, int, int] | None] = [None] * count


@dataclass(frozen=True)
class _Task:
    node: Node
    inputs: list[list[Item]]
    sources: list[tuple[str, int, int] | None]


class _Run:
    """One dry run, or that of a workflow which it calls."""

    def __init__(self, workflow: Workflow, setting: TrySetting, outer: _Run | None = None) -> None:
        self.workflow, self.setting = workflow, setting
        self._depth: int = outer._depth + 1 if outer else 0
        self.runs: dict[str, list[NodeRun]] = {}
        self.contexts: dict[str, dict[str, Value]] = {}
        settings = workflow.raw.get("settings")
        held = settings if isinstance(settings, dict) else {}
        named = str(held.get("timezone") or "")
        self._zone = setting.zone or (named if named and named != "DEFAULT" else DEFAULT_ZONE)
        if not is_zone(self._zone):
            name = shown_value(self._zone)
            raise UsageError(f"This machine does not know the time zone {name}. Name another with --timezone.")
        self._depth_first = held.get("executionOrder") == "v1"
        self._stack: list[_Task] = []
        self._waiting: dict[str, list[_Waiting]] = {}
        self._items = 0
        pinned = workflow.raw.get("pinData")
        data = {} if outer else setting.data
        self._pinned: dict[str, Value] = {**(pinned if isinstance(pinned, dict) else {}), **data}
        limits = setting.limits
        self._asked: Questions = outer._asked if outer else Questions(
            setting.engine, setting.now, each=limits.expression_seconds, seconds=limits.seconds)  # fmt: skip
        stand_ins = {name: given_items(held) for name, held in self._pinned.items()}
        self._evaluator = Evaluator(self._asked, self._zone, workflow, stand_ins)

    def run(self, start: str, first: list[Item]) -> TryResult:
        """Run from a node on."""
        node = start_of(self.workflow, start)
        result = TryResult(node.name)
        try:
            given = first or (given_items(self._pinned[node.name]) if node.name in self._pinned else [Item({})])
            self._begin(node, given, result)
            while self._stack or self._wake(result):
                if not self._step(self._stack.pop(0), result):
                    break
        except OverBudget as bound:
            result.ended = f"The dry run ended at its bound: {bound}."
        ran = {run.node for run in result.runs}
        result.not_reached = [one.name for one in self.workflow.nodes if one.name not in ran and self._could_run(one)]
        return result

    def _could_run(self, node: Node) -> bool:
        wires = self.workflow.outgoing.get(node.name, ())
        is_sub_node = bool(wires) and all(wire.source_type != "main" for wire in wires)
        return not node.is_sticky and not is_sub_node

    def _begin(self, node: Node, given: list[Item], result: TryResult) -> None:
        is_trigger = not self.workflow.incoming.get(node.name) and node.type.removeprefix(_BASE) not in {**FLOW, **DATA}
        if is_trigger:
            run = NodeRun(node.name, node.type, 0, "sample", [])
            self._put_out(run, [given], result)
            self._follow(run)
        else:
            self._stack.append(_Task(node, [given], [None]))

    # -- one node -----------------------------------------------------------------------------------

    def _step(self, task: _Task, result: TryResult) -> bool:
        """Run one node; returns whether the run goes on."""
        self._asked.check_time()
        if sum(map(len, self.runs.values())) >= self.setting.limits.runs:
            raise OverBudget(f"{self.setting.limits.runs:,} runs of nodes (a loop without an end?)")
        if not any(task.inputs):
            return True
        node = task.node
        inputs = [one[:1] for one in task.inputs] if node.raw.get("executeOnce") is True else task.inputs
        run = NodeRun(node.name, node.type, len(self.runs.get(node.name, ())), "done", inputs, source=task.sources)
        try:
            outputs = self._outputs(node, run)
        except NodeFault as fault:
            run.said = str(fault)
            run.state = "done" if goes_on(node) else "failed"
            self._put_out(run, [[one.again() for one in inputs[0]]] if goes_on(node) else [], result)
            self._follow(run)
            return goes_on(node)
        except BoundReached as bound:
            run.state, run.said = "failed", f"It ended at its bound: {bound}."
            self._put_out(run, [], result)
            return True
        except (NotModelled, *_UNFORESEEN) as missing:
            form = f"parameters or data of this form ({type(missing).__name__}): "
            run.state, run.said = "not modelled", f"{'' if isinstance(missing, NotModelled) else form}{missing}"
            self._put_out(run, [], result)
            return True
        if not outputs and run.state == "done":
            return True  # the first version of the loop ends without a trace
        self._put_out(run, self._finished(node, run, outputs), result)
        self._follow(run)
        return True

    def _outputs(self, node: Node, run: NodeRun) -> Outputs:
        if node.disabled:
            run.state = "disabled"
            return [[item.again() for item in (run.inputs[0] if run.inputs else [])]]
        if node.name in self._pinned:
            run.state = "sample" if node.name in self.setting.data else "pinned"
            return [given_items(self._pinned[node.name])]
        short = node.type.removeprefix(_BASE) if node.type.startswith(_BASE) else ""
        context = NodeContext(
            node, run, self._evaluator, self.contexts.setdefault(node.name, {}), call_workflow=self._call_workflow,
            zone=self._zone,
        )  # fmt: skip
        model = FLOW.get(short) or DATA.get(short)
        if model is not None:
            return model(context)
        run.state, run.said = "stop", "it reaches outside, or is not modelled; give its output with --data"
        run.parameters = [self._shown(context, index) for index in range(len(next(filter(None, run.inputs))))]
        return []

    def _shown(self, context: NodeContext, index: int) -> Value:
        """Return a node's parameters as they are for an item; what fails is a text that says so."""
        made: dict[str, Value] = {}
        for key, value in context.node.parameters.items():
            try:
                made[key] = values.json_value(self._evaluator.resolve(value, context.run, index))
            except (NodeFault, NotModelled, BoundReached) as fault:
                what = "not modelled" if isinstance(fault, NotModelled) else "fails"
                made[key] = f"({what}: {fault})"
        return made

    def _finished(self, node: Node, run: NodeRun, outputs: Outputs) -> Outputs:
        """Return what is put out: errors apart, an empty item where one is wanted, parents where they are clear."""
        if node.raw.get("onError") == "continueErrorOutput" and run.state == "done":
            outputs = _errors_apart(outputs, self._main_outputs(node))
        if node.raw.get("alwaysOutputData") is True and not any(outputs[:1]):
            outputs = [[Item({}, [item for one in run.inputs for item in one])], *outputs[1:]]
        given = run.inputs[0] if len(run.inputs) == 1 else []
        for one in outputs:
            for index, item in enumerate(one):
                if not item.parents and given:
                    single = len(given) == 1 or (len(outputs) == 1 and len(one) == 1)
                    aligned = len(outputs) == 1 and len(one) == len(given)
                    item.parents = (given[0],) if single else (given[index],) if aligned else ()
        return outputs

    def _main_outputs(self, node: Node) -> int:
        """Return how many outputs a node has beside that for errors."""
        return {"if": 2, "splitInBatches": 2, "compareDatasets": 4}.get(node.type.removeprefix(_BASE), 1)

    def _put_out(self, run: NodeRun, outputs: Outputs, result: TryResult) -> None:
        self._items += sum(map(len, outputs))
        if self._items > self.setting.limits.items:
            raise OverBudget(f"{self.setting.limits.items:,} items")
        for number, one in enumerate(outputs):
            for index, item in enumerate(one):
                item.node, item.run, item.output, item.index = run.node, run.index, number, index
        run.outputs = outputs
        self._evaluator.put_out(run, self.contexts.get(run.node, {}))
        self.runs.setdefault(run.node, []).append(run)
        result.runs.append(run)

    # -- what comes next ----------------------------------------------------------------------------

    def _follow(self, run: NodeRun) -> None:
        wires = [
            wire
            for wire in self.workflow.outgoing.get(run.node, ())
            if wire.source_type == "main" and wire.output < len(run.outputs) and run.outputs[wire.output]
        ]
        for wire in sorted(wires, key=_lowest_first) if self._depth_first else wires:
            self._add(wire, run)

    def _add(self, wire: Wire, run: NodeRun) -> None:
        items, source = run.outputs[wire.output], (run.node, wire.output, run.index)
        count = self._inputs(wire.target)
        if count < 2:
            self._enqueue(_Task(wire.target, [items], [source]))
            return
        waiting = self._waiting.setdefault(wire.target.name, [])
        found = next((one for one in waiting if one.inputs[wire.input] is None), None)
        if found is None:
            found = _Waiting(count)
            waiting.append(found)
        found.inputs[wire.input], found.sources[wire.input] = items, source
        if None not in found.inputs:
            waiting.remove(found)
            self._waiting = {name: left for name, left in self._waiting.items() if left}
            self._enqueue(_Task(wire.target, [one or [] for one in found.inputs], found.sources))

    def _inputs(self, node: Node) -> int:
        wires = self.workflow.incoming.get(node.name, ())
        return max((wire.input + 1 for wire in wires if wire.target_type == "main"), default=0)

    def _enqueue(self, task: _Task) -> None:
        self._stack.insert(0 if self._depth_first else len(self._stack), task)

    def _wake(self, result: TryResult) -> bool:
        """Let a node run that waits for inputs which will not come, unless a node before it waits too."""
        for name in list(self._waiting):
            if self._needs_all(self.workflow.by_name[name]) or any(
                o != name and name in reached_from(self.workflow, [self.workflow.by_name[o]]) for o in self._waiting
            ):
                continue
            found = self._waiting[name].pop(0)
            if not self._waiting[name]:
                del self._waiting[name]
            if not self._depth_first:
                run = NodeRun(name, self.workflow.by_name[name].type, len(self.runs.get(name, ())), "not modelled", [])
                run.said = "an input that never comes, in n8n's old order (settings.executionOrder is not v1)"
                self._put_out(run, [], result)
                continue
            if any(found.inputs):
                count = max(len(found.inputs), 2)
                inputs = [one or [] for one in found.inputs] + [[]] * (count - len(found.inputs))
                self._stack.append(_Task(self.workflow.by_name[name], inputs, found.sources))
                return True
        return False

    def _needs_all(self, node: Node) -> bool:
        choosing = node.type == f"{_BASE}merge" and node.parameters.get("mode") == "chooseBranch"
        return self._depth_first and choosing

    def _call_workflow(self, name: str, items: list[Item]) -> list[Item]:
        other = self.setting.load(name)
        if other is None:
            raise NotModelled(f"the workflow {shown_value(name)}, which is in no file here")
        if self._depth >= _DEEPEST:
            raise OverBudget(f"{_DEEPEST} workflows that call each other")
        begins = [n.name for n in other.nodes if n.type == f"{_BASE}executeWorkflowTrigger"]
        inner = _Run(other, self.setting, self)
        result = inner.run(begins[0] if begins else "", [Item(item.json) for item in items])
        failed = next((run for run in result.runs if run.state in {"failed", "not modelled", "stop"}), None)
        if failed is not None and failed.state != "failed":
            raise NotModelled(f"the workflow {shown_value(name)} at its node {shown_value(failed.node)}: {failed.said}")
        if failed is not None or result.ended:
            raise NodeFault(failed.said if failed else result.ended)
        last = result.runs[-1]
        return [Item(item.json) for item in next(filter(None, last.outputs), [])]


def is_zone(name: str) -> bool:
    """Whether this machine knows a time zone."""
    try:
        return bool(zoneinfo.ZoneInfo(name))
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        return False


def _lowest_first(wire: Wire) -> tuple[float, float]:
    position = wire.target.raw.get("position")
    x, y = position if isinstance(position, list) and len(position) == 2 else (0, 0)
    return -_number(y), -_number(x)


def _number(value: Value) -> float:
    return float(value) if values.is_numeric(value) else 0.0


def _errors_apart(outputs: Outputs, count: int) -> Outputs:
    """Return the outputs with items of errors in the last one, which has what they were made from as well."""
    made: Outputs = [[] for _ in range(count)]
    errors: list[Item] = []
    for number, one in enumerate(outputs[:count]):
        for item in one:
            if item.is_error or (item.json.get("error") and set(item.json) <= {"error", "message", "details"}):
                before = item.parents[0].json if item.parents else {}
                errors.append(Item({**before, **item.json}, item.parents))
            else:
                made[number].append(item)
    return [*made, errors]
