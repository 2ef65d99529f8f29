"""What the model of a node is given: its items, its evaluated parameters, and ways to make items."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rails.n8n import values
from rails.n8n.model import Node
from rails.n8n.try_run.expressions import Evaluator
from rails.n8n.try_run.faults import NodeFault
from rails.n8n.try_run.items import Item, NodeRun, Outputs
from rails.n8n.values import UNDEFINED, Value, get_path


def goes_on(node: Node) -> bool:
    """Whether the workflow goes on behind an error of the node."""
    kept = node.raw.get("onError") in {"continueRegularOutput", "continueErrorOutput"}
    return kept or node.raw.get("continueOnFail") is True


class NodeContext:
    """One run of one node."""

    def __init__(
        self,
        node: Node,
        run: NodeRun,
        evaluator: Evaluator,
        memory: dict[str, Value],
        *,
        call_workflow: Callable[[str, list[Item]], list[Item]],
        zone: str = "UTC",
    ) -> None:
        self.node, self.run, self.evaluator, self.memory = node, run, evaluator, memory
        self.call_workflow, self.zone = call_workflow, zone
        self.version = node.version or 1
        self.continues = goes_on(node)

    @property
    def items(self) -> list[Item]:
        """The items of the first input."""
        return self.run.inputs[0] if self.run.inputs else []

    def call(self, name: str, *given: Value) -> Value:
        """Return what one of the engine's functions for models makes of values."""
        return self.evaluator.call(self.run, name, *given)

    def parameter(self, path: str, index: int = 0, default: Value = UNDEFINED) -> Value:
        """Return a parameter, evaluated for an item; ``default`` where the file leaves it out."""
        found = values.get_path(dict(self.node.parameters), path)
        return default if found is UNDEFINED else self.evaluator.resolve(found, self.run, index)

    def option(self, name: str, default: Value = UNDEFINED, index: int = 0) -> Value:
        """Return one of the node's options."""
        return self.parameter(f"options.{name}", index, default)

    def each(self, make: Callable[[int, Item], Item | Sequence[Item]]) -> Outputs:
        """Return what is made of every item; a fault becomes an item where the node goes on with errors."""
        made: list[Item] = []
        for index, item in enumerate(self.items):
            try:
                found = make(index, item)
            except NodeFault as fault:
                if not self.continues:
                    raise NodeFault(f"{fault} [item {index}]" if "[item" not in str(fault) else str(fault)) from None
                found = Item({"error": str(fault)}, (item,))
                found.is_error = True
            made += [found] if isinstance(found, Item) else found
        return [made]


def listed(value: Value, what: str = "") -> list[str]:
    """Return a list of field names, which n8n also takes as a text with commas."""
    if isinstance(value, list):
        return [values.to_text(one) for one in value]
    if not isinstance(value, str):
        raise NodeFault(
            f"The '{what}' parameter must be a string of fields separated by commas or an array of strings."
        )
    return [name.strip() for name in value.split(",") if name.strip()]


def listed_fields(context: NodeContext, name: str) -> list[str]:
    """Return the names of fields that a parameter lists. Raises NodeFault where there is none."""
    found = listed(context.parameter(name, 0, ""), name)
    if not found:
        raise NodeFault("No fields specified. Please add a field")
    return found


def reader(context: NodeContext) -> Callable[[Value, str], Value]:
    """Return how the node reads a field: by path, or by its plain name."""
    if context.option("disableDotNotation", False) is True:
        return lambda of, name: of.get(name, UNDEFINED) if isinstance(of, dict) else UNDEFINED
    return get_path
