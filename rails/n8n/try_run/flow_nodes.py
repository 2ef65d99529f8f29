"""Models of the nodes that decide where items go and how many there are, such as If, Switch, Merge and loops.

Anchor: n8n-nodes-base 2.41, what each node's ``execute`` does with items. What a node can do beside is named.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Final

from rails.n8n.try_run import values
from rails.n8n.try_run.conditions import holds, old_conditions_hold
from rails.n8n.try_run.context import NodeContext
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Value, equal, get_path, to_text


def passed_on(context: NodeContext) -> Outputs:
    """Return the items as they came: NoOp and Wait."""
    return [[item.again() for item in context.items]]


def _passes(context: NodeContext, index: int) -> bool:
    try:
        if context.version >= 2:
            return holds(context.parameter("conditions", index, {}), index)
        combined = context.parameter("combineConditions", index, context.parameter("combineOperation", index, "all"))
        return old_conditions_hold(context.parameter("conditions", index, {}), to_text(combined))
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


def filter_node(context: NodeContext) -> Outputs:
    """Return the items for which the conditions hold; the others, which no wire can take, beside them."""
    return if_node(context)


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
            n for n in range(count) if holds(context.parameter(f"rules.values[{n}].conditions", index, {}), index)
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


def reader(context: NodeContext) -> Callable[[Value, str], Value]:
    """Return how the node reads a field: by path, or by its plain name."""
    if context.option("disableDotNotation", False) is True:
        return lambda of, name: of.get(name, UNDEFINED) if isinstance(of, dict) else UNDEFINED
    return get_path


def remove_duplicates(context: NodeContext) -> Outputs:
    """Return each item once, compared by all or some of its fields."""
    if (
        context.version >= 2
        and context.parameter("operation", 0, "removeDuplicateInputItems") != "removeDuplicateInputItems"
    ):
        raise NotModelled("Remove Duplicates of previous executions, which n8n keeps in its database")
    keys, read = _compared_fields(context), reader(context)
    seen: list[Value] = []
    kept: list[Item] = []
    for item in context.items:
        values_here = [read(item.json, name) for name in keys]
        for name, value in zip(keys, values_here, strict=True):
            if value is UNDEFINED:
                raise NodeFault(f"'{name}' field is missing from some input items")
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


def listed_fields(context: NodeContext, name: str) -> list[str]:
    """Return the names of fields that a parameter lists. Raises NodeFault where there is none."""
    from rails.n8n.try_run.context import listed

    found = listed(context.parameter(name, 0, ""), name)
    if not found:
        raise NodeFault("No fields specified. Please add a field")
    return found


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


def merge(context: NodeContext) -> Outputs:
    """Return the items of several inputs together."""
    if context.version < 2:
        raise NotModelled(f"Merge version {context.version:g}")
    inputs = [*context.run.inputs, [], []][: max(len(context.run.inputs), int(context.parameter("numberInputs", 0, 2)))]
    mode = context.parameter("mode", 0, "append")
    if mode == "append":
        return [[item.again() for one in inputs for item in one]]
    if mode == "chooseBranch":
        return [_chosen(context, inputs)]
    if mode != "combine":
        raise NotModelled(f"Merge mode {mode}")
    old = {"mergeByFields": "combineByFields", "mergeByPosition": "combineByPosition", "multiplex": "combineAll"}
    by = to_text(context.parameter("combineBy", 0, context.parameter("combinationMode", 0, "combineByFields")))
    by = old.get(by, by)
    together = _Together(context)
    if by == "combineByPosition":
        return [together.by_position(inputs)]
    if by == "combineAll":
        first, second = together.sides(inputs)
        return [[together.one([a, b]) for a in first for b in second]]
    return [together.by_fields(inputs[0], inputs[1])]


def _chosen(context: NodeContext, inputs: Outputs) -> list[Item]:
    output = context.parameter("output", 0, "specifiedInput" if context.version >= 3 else "input1")
    if output == "empty":
        return [Item({}, [item for one in inputs for item in one])]
    number = (
        context.parameter("useDataOfInput", 0, 1)
        if output == "specifiedInput"
        else to_text(output).removeprefix("input")
    )
    return [item.again() for item in inputs[int(values.to_number(number)) - 1]]


class _Together:
    """Makes one item of several, as the node's options for clashes say."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._clash = context.parameter("options.clashHandling.values", 0, {})
        self._resolve = self._clash.get("resolveClash")

    def sides(self, inputs: Outputs) -> tuple[list[Item], list[Item]]:
        first, second = inputs[0], inputs[1]
        if self._resolve == "preferInput1":
            first, second = second, first
        return self.suffixed(first, 1), self.suffixed(second, 2)

    def suffixed(self, items: list[Item], number: int) -> list[Item]:
        """Return the items with the input's number behind each name, where the options ask for it."""
        if self._resolve != "addSuffix":
            return items
        return [Item({f"{key}_{number}": one for key, one in item.json.items()}, (item,)) for item in items]

    def one(self, items: list[Item]) -> Item:
        """Return one item of several; the last counts most."""
        made: dict[str, Value] = {}
        for item in items:
            self._add(made, item.json)
        parents = [parent for item in items for parent in (item.parents if self._resolve == "addSuffix" else (item,))]
        return Item(made, dict.fromkeys(parents))

    def _add(self, made: dict[str, Value], new: dict[str, Value]) -> None:
        for key, value in new.items():
            if (
                value in (None, UNDEFINED, "")
                and not values.is_numeric(value)
                and self._clash.get("overrideEmpty") is True
            ):
                made.setdefault(key, value)
            elif (
                isinstance(value, dict)
                and isinstance(made.get(key), dict)
                and self._clash.get("mergeMode") != "shallowMerge"
            ):
                made[key] = dict(made[key])
                self._add(made[key], value)
            elif (
                isinstance(value, list)
                and isinstance(made.get(key), list)
                and self._clash.get("mergeMode") != "shallowMerge"
            ):
                made[key] = [*value, *made[key][len(value) :]]
            else:
                made[key] = value

    def by_position(self, inputs: Outputs) -> list[Item]:
        resolve = to_text(self._resolve or "")
        preferred = (
            int(resolve.removeprefix("preferInput")) - 1 if resolve.startswith("preferInput") else len(inputs) - 1
        )
        sides = [self.suffixed(one, number) for number, one in enumerate(inputs, 1)]
        count = (max if self._context.option("includeUnpaired", False) is True else min)(map(len, sides))
        order = [*sides, sides[preferred]]
        return [self.one([one[n] for one in order if n < len(one)]) for n in range(count)]

    def by_fields(self, first: list[Item], second: list[Item]) -> list[Item]:
        context = self._context
        join = context.parameter("joinMode", 0, "keepMatches")
        out = context.parameter("outputDataFrom", 0, "both")
        if not first or not second:
            if (
                join == "keepMatches"
                or (join == "enrichInput1" and not first)
                or (join == "enrichInput2" and not second)
            ):
                return []
            if join == "keepNonMatches" and out in {"input1", "input2"} and not (first if out == "input1" else second):
                return []
            return [item.again() for item in [*first, *second]]
        pairs, alone1, alone2 = self._matched(first, second)
        if join == "keepNonMatches":
            sourced = [
                Item({**item.json, "_source": side}, (item,))
                for side, one in (("input1", alone1), ("input2", alone2))
                for item in one
            ]
            return sourced if out == "both" else [item.again() for item in (alone1 if out == "input1" else alone2)]
        if join in {"enrichInput1", "enrichInput2"}:
            number, rest = (1, alone1) if join == "enrichInput1" else (2, alone2)
            return [*self._joined(pairs, prefer_first=number == 2), *(i.again() for i in self.suffixed(rest, number))]
        made = self._joined(pairs, prefer_first=False)
        if out in {"input1", "input2"}:
            matched = dict.fromkeys(pair[out == "input2"] for pair in pairs)
            order = first if out == "input1" else second
            made = [item.again() for item in order if item in matched]
        if join == "keepEverything":
            made += [item.again() for item in [*self.suffixed(alone1, 1), *self.suffixed(alone2, 2)]]
        return made

    def _joined(self, pairs: list[tuple[Item, Item]], *, prefer_first: bool) -> list[Item]:
        first = self._resolve == "preferInput1" or (prefer_first and self._resolve is None)
        made = []
        for one, other in pairs:
            if self._resolve == "addSuffix":
                made.append(self.one([*self.suffixed([one], 1), *self.suffixed([other], 2)]))
            else:
                made.append(self.one([other, one] if first else [one, other]))
        return made

    def _matched(self, first: list[Item], second: list[Item]) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
        fields, read = self._fields(), reader(self._context)
        only_first = self._context.option("multipleMatches", "all") != "all"
        pairs, alone = list[tuple[Item, Item]](), list[Item]()
        for one in first:
            wanted = [read(one.json, left) for left, _ in fields]
            found = [] if UNDEFINED in wanted else [other for other in second if self._same(wanted, fields, other)]
            pairs += [(one, other) for other in (found[:1] if only_first else found)]
            alone += [] if found else [one]
        matched = {id(other) for _, other in pairs}
        return pairs, alone, [other for other in second if id(other) not in matched]

    def _same(self, wanted: list[Value], fields: list[tuple[str, str]], other: Item) -> bool:
        read, fuzzy = reader(self._context), self._context.option("fuzzyCompare", False) is True
        held = [read(other.json, right) for _, right in fields]
        return all(_equal(want, one, fuzzy) for want, one in zip(wanted, held, strict=True))

    def _fields(self) -> list[tuple[str, str]]:
        context = self._context
        simple = context.parameter("fieldsToMatchString", 0, UNDEFINED)
        if context.parameter("advanced", 0, simple is UNDEFINED) is not True and simple is not UNDEFINED:
            return [(name.strip(), name.strip()) for name in to_text(simple).split(",")]
        rows = context.parameter("mergeByFields.values", 0, [])
        found = [(to_text(row.get("field1", "")), to_text(row.get("field2", ""))) for row in rows]
        if not found or any("" in pair for pair in found):
            raise NodeFault('You need to define at least one pair of fields in "Fields to Match" to match on')
        return found


def _equal(left: Value, right: Value, fuzzy: bool) -> bool:
    if fuzzy:
        empty = (None, UNDEFINED, "", False, 0)
        if left in empty and right in empty and not isinstance(left, list | dict):
            return True
        if isinstance(left, str | int | float) and isinstance(right, str | int | float):
            return to_text(left) == to_text(right)
    return equal(left, right)


FLOW: Final = {
    "executeWorkflow": execute_workflow,
    "executionData": passed_on,
    "filter": filter_node,
    "if": if_node,
    "limit": limit,
    "merge": merge,
    "noOp": passed_on,
    "removeDuplicates": remove_duplicates,
    "sort": sort,
    "splitInBatches": loop,
    "stopAndError": stop_and_error,
    "switch": switch,
    "wait": passed_on,
}
