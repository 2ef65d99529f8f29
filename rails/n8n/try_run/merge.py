"""The model of Merge: items of several inputs one after the other, side by side, crossed, or by matching fields."""

from __future__ import annotations

from rails.n8n import values
from rails.n8n.try_run.context import NodeContext, reader
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.values import UNDEFINED, Value, equal, to_text


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
    named = to_text(output).removeprefix("input")
    number = context.parameter("useDataOfInput", 0, 1) if output == "specifiedInput" else named
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
        keeps_full = self._clash.get("overrideEmpty") is True
        is_deep = self._clash.get("mergeMode") != "shallowMerge"
        for key, value in new.items():
            if keeps_full and value in (None, UNDEFINED, "") and not values.is_numeric(value):
                made.setdefault(key, value)
            elif is_deep and isinstance(value, dict) and isinstance(made.get(key), dict):
                made[key] = dict(made[key])
                self._add(made[key], value)
            elif is_deep and isinstance(value, list) and isinstance(made.get(key), list):
                made[key] = [*value, *made[key][len(value) :]]
            else:
                made[key] = value

    def by_position(self, inputs: Outputs) -> list[Item]:
        resolve = to_text(self._resolve or "")
        number = resolve.removeprefix("preferInput") if resolve.startswith("preferInput") else len(inputs)
        preferred = int(number) - 1
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
            if out != "both":
                return [item.again() for item in (alone1 if out == "input1" else alone2)]
            both = (("input1", alone1), ("input2", alone2))
            return [Item({**item.json, "_source": side}, (item,)) for side, one in both for item in one]
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
