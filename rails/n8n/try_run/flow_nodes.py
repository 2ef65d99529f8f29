"""Models of the nodes that decide where items go and how many there are, such as If, Switch, Merge and loops.

Anchor: n8n-nodes-base 2.41, what each node's ``execute`` does with items. What a node can do beside is named.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from rails.n8n import values
from rails.n8n.try_run.conditions import holds, old_conditions_hold
from rails.n8n.try_run.context import NodeContext, listed_fields, reader
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.try_run.merge import merge
from rails.n8n.values import UNDEFINED, Value, equal, to_text


def passed_on(context: NodeContext) -> Outputs:
    """Return the items as they came: NoOp and Wait."""
    return [[item.again() for item in context.items]]


def _passes(context: NodeContext, index: int) -> bool:
    try:
        if context.version >= 2:
            return holds(context.call, context.parameter("conditions", index, {}), index)
        combined = context.parameter("combineConditions", index, context.parameter("combineOperation", index, "all"))
        return old_conditions_hold(context.call, context.parameter("conditions", index, {}), to_text(combined))
    except NodeFault:
        if context.continues:
            return False
        raise


def if_node(context: NodeContext) -> Outputs:
    """Return the items for which the conditions hold, and the others."""
    sides: Outputs = [[], []]
    for index, item in enumerate(context.items):
        sides[0 if _passes(context, index) else 1].append(item.again())
    return sides


def switch(context: NodeContext) -> Outputs:
    """Return the items by the rule that holds, or by the number that an expression gives."""
    if context.version < 3:
        raise NotModelled(f"Switch version {context.version:g}")
    if context.parameter("mode", 0, "rules") == "expression":
        return _switch_by_number(context)
    rules, fallback = context.node.parameters.get("rules"), context.option("fallbackOutput", "none")
    given = rules.get("values") if isinstance(rules, dict) else None
    count = len(given) if isinstance(given, list) else 0
    sides: Outputs = [[] for _ in range(count + (fallback == "extra"))]
    for index, item in enumerate(context.items):
        matching = [
            n
            for n in range(count)
            if holds(context.call, context.parameter(f"rules.values[{n}].conditions", index, {}), index)
        ]
        if not matching and fallback != "none" and sides:
            matching = [len(sides) - 1 if fallback == "extra" else int(fallback)]
        for number in matching if context.option("allMatchingOutputs", False, index) is True else matching[:1]:
            sides[number].append(item.again())
    return sides or [[]]


def _switch_by_number(context: NodeContext) -> Outputs:
    count = int(context.parameter("numberOutputs", 0, 4))
    sides: Outputs = [[] for _ in range(min(count, 200))]
    for index, item in enumerate(context.items):
        number = context.parameter("output", index)
        if not values.is_numeric(number) or not 0 <= number < len(sides):
            raise NodeFault(f"The output {to_text(number)} is not allowed: it has to be between 0 and {len(sides) - 1}")
        sides[int(number)].append(item.again())
    return sides


def stop_and_error(context: NodeContext) -> Outputs:
    """Raise the error that the node is there for."""
    if context.parameter("errorType", 0, "errorMessage") == "errorMessage":
        raise NodeFault(to_text(context.parameter("errorMessage", 0, "")))
    given = context.parameter("errorObject", 0, {})
    raise NodeFault(to_text(given if isinstance(given, str) else values.stringified(given)))


def limit(context: NodeContext) -> Outputs:
    """Return the first or last items."""
    most, keep = int(context.parameter("maxItems", 0, 1)), context.parameter("keep", 0, "firstItems")
    items = context.items[:most] if keep == "firstItems" else context.items[max(len(context.items) - most, 0) :]
    return [[item.again() for item in items]]


def loop(context: NodeContext) -> Outputs:
    """Return the next batch; when none is left, all that came back."""
    memory, size = context.memory, int(context.parameter("batchSize", 0, 1 if context.version >= 3 else 10))
    if "left" not in memory or context.option("reset", False) is True:
        memory |= {"left": list(context.items), "done": [], "currentRunIndex": 0,
                   "maxRunIndex": -(-len(context.items) // max(size, 1))}  # fmt: skip
    else:
        memory["done"] = [*memory["done"], *context.items]
        memory["currentRunIndex"] += 1
    batch, memory["left"] = memory["left"][:size], memory["left"][size:]
    memory["noItemsLeft"] = not memory["left"]
    again = [item.again() for item in batch]
    if context.version >= 3:
        return [[], again] if batch else [[item.again() for item in memory["done"]], []]
    if context.version < 2:
        return [again] if batch else []
    return [again, []] if batch else [[], [item.again() for item in memory["done"]]]


def sort(context: NodeContext) -> Outputs:
    """Return the items in order of fields."""
    how, items = context.parameter("type", 0, "simple"), list(context.items)
    if how == "random":
        random.shuffle(items)
    elif how == "simple":
        fields = context.parameter("sortFieldsUi.sortField", 0, [])
        if not fields:
            raise NodeFault("No sorting specified. Please add a field to sort by")
        for one in reversed(fields):
            _sort_by(items, context, to_text(one.get("fieldName", "")), one.get("order", "ascending") != "ascending")
    else:
        raise NotModelled("Sort by code")
    return [[item.again() for item in items]]


def _sort_by(items: list[Item], context: NodeContext, name: str, down: bool) -> None:
    read = reader(context)
    if all(read(item.json, name) is UNDEFINED for item in items):
        raise NodeFault(f"Couldn't find the field '{name}' in the input data")
    found = [read(item.json, name) for item in items]
    if not all(values.is_numeric(one) for one in found) and not all(isinstance(one, str) for one in found):
        raise NotModelled(f"Sort by the field {name!r} whose values are not all numbers or all texts")
    items.sort(key=lambda item: _sort_key(read(item.json, name)), reverse=down)


def _sort_key(value: Value) -> Value:
    return value.lower() if isinstance(value, str) else value


def remove_duplicates(context: NodeContext) -> Outputs:
    """Return each item once, compared by all or some of its fields."""
    if (
        context.version >= 2
        and context.parameter("operation", 0, "removeDuplicateInputItems") != "removeDuplicateInputItems"
    ):
        raise NotModelled("Remove Duplicates of previous executions, which n8n keeps in its database")
    keys, read, kinds = _compared_fields(context), reader(context), dict[str, str]()
    seen: list[Value] = []
    kept: list[Item] = []
    for item in context.items:
        values_here = [read(item.json, name) for name in keys]
        for name, value in zip(keys, values_here, strict=True):
            if value is UNDEFINED:
                raise NodeFault(f"'{name}' field is missing from some input items")
            if value is not None and kinds.setdefault(name, values.type_of(value)) != values.type_of(value):
                raise NodeFault(f"'{name}' isn't always the same type")
        if not any(equal(values_here, other) for other in seen):
            seen.append(values_here)
            kept.append(item)
    if context.option("removeOtherFields", False) is True:
        return [[Item({name: read(item.json, name) for name in keys}, (item,)) for item in kept]]
    return [[item.again() for item in kept]]


def _compared_fields(context: NodeContext) -> list[str]:
    compare = context.parameter("compare", 0, "allFields")
    if compare == "selectedFields":
        return listed_fields(context, "fieldsToCompare")
    plain_names = context.option("disableDotNotation", False) is True
    rows = context.items[:1] if compare == "allFieldsExcept" else context.items
    found = dict.fromkeys(name for item in rows for name in (item.json if plain_names else _paths(item.json, "")))
    left_out = listed_fields(context, "fieldsToExclude") if compare == "allFieldsExcept" else []
    return [name for name in found if name not in left_out]


def _paths(value: Value, path: str) -> list[str]:
    pairs = value.items() if isinstance(value, dict) else ((str(n), one) for n, one in enumerate(value))
    places = [(f"{path}.{name}" if path else name, one) for name, one in pairs]
    return [path for place, one in places for path in (_paths(one, place) if isinstance(one, dict | list) else [place])]


def execute_workflow(context: NodeContext) -> Outputs:
    """Return what another workflow of the project gives back."""
    given = context.parameter("workflowId", 0, UNDEFINED)
    name = given.get("value") if isinstance(given, dict) else given
    if context.parameter("source", 0, "database") != "database" or not name:
        raise NotModelled("Execute Workflow from another source than the list of workflows")
    inputs = context.parameter("workflowInputs.value", 0, {})
    waits = context.option("waitForSubWorkflow", True) is not False
    batches: Iterable[list[int]] = [[n] for n in range(len(context.items))] \
        if context.parameter("mode", 0, "once") == "each" else [list(range(len(context.items)))]  # fmt: skip
    made: list[Item] = []
    for batch in batches:
        mapped = bool(inputs) and context.version >= 1.2
        sent = [
            Item(
                context.parameter("workflowInputs.value", n, {}) if mapped else context.items[n].json,
                (context.items[n],),
            )
            for n in batch
        ]
        back = context.call_workflow(to_text(name), sent)
        parents = [context.items[n] for n in batch]
        made += [Item(one.json, parents if len(parents) == 1 else [parents[n]] if len(back) == len(parents) else ())
                 for n, one in enumerate(back)]  # fmt: skip
    return [made] if waits else passed_on(context)


FLOW: Final = {
    "executeWorkflow": execute_workflow, "executionData": passed_on, "filter": if_node, "if": if_node, "limit": limit,
    "merge": merge, "noOp": passed_on, "removeDuplicates": remove_duplicates, "sort": sort, "splitInBatches": loop,
    "stopAndError": stop_and_error, "switch": switch, "wait": passed_on,
}  # fmt: skip
