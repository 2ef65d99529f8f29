"""Models of the nodes that change what is in items, such as Set, Split Out, Aggregate, Date & Time and Code."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from rails.n8n import values
from rails.n8n.try_run.code_node import code
from rails.n8n.try_run.conditions import converted
from rails.n8n.try_run.context import NodeContext, listed, reader
from rails.n8n.try_run.date_node import date_time
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.try_run.items import Item, Outputs
from rails.n8n.values import UNDEFINED, Value, get_path, set_path, to_text


def set_fields(context: NodeContext) -> Outputs:
    """Return the items with fields set: by hand or as JSON, with the other fields or without."""
    if context.version < 3:
        return context.each(lambda index, item: _old_set(context, index, item))
    more = int(context.parameter("duplicateCount", 0, 0)) if context.parameter("duplicateItem", 0, False) is True else 0
    made = context.each(lambda index, item: _set(context, index, item))
    return [[item if turn == 0 else Item(item.json, item.parents) for item in made[0] for turn in range(more + 1)]]


def _set(context: NodeContext, index: int, item: Item) -> Item:
    if context.version >= 3.3:
        others = context.parameter("includeOtherFields", index, False) is True
        include = context.parameter("include", index, "all") if others else "none"
    else:
        include = context.parameter("include", index, "all")
    made = _included(context, index, item, to_text(include))
    raw = context.parameter("mode", 0, "manual") == "raw"
    new = _json_fields(context, index) if raw else _fields(context, index)
    _put_all(context, made, new)
    return Item(made, (item,), item.binary if include != "none" else None)


def _put_all(context: NodeContext, made: dict[str, Value], new: Mapping[str, Value]) -> None:
    for name, value in new.items():
        if context.option("dotNotation", True) is False:
            made[name] = value
        else:
            set_path(made, name, value)


def _included(context: NodeContext, index: int, item: Item, include: str) -> dict[str, Value]:
    dots = context.option("dotNotation", True) is not False
    if include == "all":
        return copy.deepcopy(item.json)
    made: dict[str, Value] = {}
    if include == "selected":
        for name in listed(context.parameter("includeFields", index, ""), "includeFields"):
            value = get_path(item.json, name) if dots else item.json.get(name, UNDEFINED)
            made[name.rpartition(".")[2] if dots else name] = value
    elif include == "except":
        made = copy.deepcopy(item.json)
        for name in listed(context.parameter("excludeFields", index, ""), "excludeFields"):
            values.unset_path(made, name) if dots else made.pop(name, None)
    return {name: value for name, value in made.items() if value is not UNDEFINED}


def _fields(context: NodeContext, index: int) -> dict[str, Value]:
    if context.version >= 3.3:
        rows = context.parameter("assignments.assignments", index, [])
        given = [(one.get("name", ""), one.get("type", "string"), one.get("value", "")) for one in rows]
    else:
        rows = context.parameter("fields.values", index, [])
        kinds = [to_text(one.get("type", "stringValue")) for one in rows]
        given = [(one.get("name", ""), kind.removesuffix("Value"), one.get(kind, ""))
                 for one, kind in zip(rows, kinds, strict=True)]  # fmt: skip
    return {to_text(name): _typed(context, to_text(name), to_text(kind), value, index) for name, kind, value in given}


def _typed(context: NodeContext, name: str, kind: str, value: Value, index: int) -> Value:
    """Return a value as a field of the chosen type holds it."""
    if value in values.NOTHING:
        return None
    try:
        return values.json_value(converted(context.call, value, kind))
    except ValueError:
        if context.option("ignoreConversionErrors", False, index) is True:
            return value
        shown = "array" if isinstance(value, list) else "object" if isinstance(value, dict) else f"'{to_text(value)}'"
        raise NodeFault(f"'{name}' expects a {kind} but we got {shown} [item {index}]") from None


def _json_fields(context: NodeContext, index: int) -> dict[str, Value]:
    raw = context.node.parameters.get("jsonOutput", "")
    if not isinstance(raw, str):
        return dict(raw) if isinstance(raw, dict) else {}
    text = raw.lstrip("=")
    if text != raw:
        text = context.evaluator.evaluate(f"={text}", context.run, index, "json")
    try:
        made = values.value_of_json(text)
    except ValueError:
        raise NotModelled(f"the repair of the JSON in item {index}, which does not parse as it is") from None
    if not isinstance(made, dict):
        raise NodeFault(f"The 'JSON Output' in item {index} does not contain a valid JSON object")
    return made


def _old_set(context: NodeContext, index: int, item: Item) -> Item:
    made = {} if context.parameter("keepOnlySet", index, False) is True else copy.deepcopy(item.json)
    given = context.parameter("values", index, {})
    new = {to_text(one.get("name", "")): one.get("value", False if kind == "boolean" else 0 if kind == "number" else "")
           for kind, rows in given.items() for one in rows}  # fmt: skip
    _put_all(context, made, new)
    return Item(made, (item,), item.binary)


def split_out(context: NodeContext) -> Outputs:
    """Return an item for each entry of a list."""
    return context.each(lambda index, item: _split(context, index, item))


def _split(context: NodeContext, index: int, item: Item) -> list[Item]:
    names = [
        one.removeprefix("$json.") for one in listed(context.parameter("fieldToSplitOut", index, ""), "fieldToSplitOut")
    ]
    new = listed(context.option("destinationFieldName", "", index), "destinationFieldName")
    if new and len(new) != len(names):
        raise NodeFault(
            "If multiple fields to split out are given, the same number of destination fields must be given"
        )
    include, read = context.parameter("include", index, "noOtherFields"), reader(context)
    rows: list[dict[str, Value]] = []
    for number, name in enumerate(names):
        if name == "$binary":
            raise NotModelled("Split Out of binary data")
        for place, entry in enumerate(_entries(read(item.json, name))):
            rows += [{}] if place == len(rows) else []
            plain = isinstance(entry, dict) and include == "noOtherFields" and not new and len(names) == 1
            rows[place].update(entry if plain else {(new[number] if new else name): entry})
    others = _others(context, index, item, to_text(include), names)
    selected = include == "selectedOtherFields"
    return [Item({**row, **others} if selected else {**others, **row}, (item,)) for row in rows]


def _entries(value: Value) -> list[Value]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [] if value is UNDEFINED else [value]


def _others(context: NodeContext, index: int, item: Item, include: str, names: list[str]) -> dict[str, Value]:
    if include == "allOtherFields":
        rest = copy.deepcopy(item.json)
        for name in names:
            values.unset_path(rest, name)
        return rest
    if include == "selectedOtherFields":
        read = reader(context)
        return {
            name: read(item.json, name)
            for name in listed(context.parameter("fieldsToInclude", index, ""), "fieldsToInclude")
        }
    return {}


def aggregate(context: NodeContext) -> Outputs:
    """Return one item with the values of all."""
    items, parents = context.items, list(context.items)
    if context.parameter("aggregate", 0, "aggregateIndividualFields") == "aggregateAllItemData":
        kept, left_out = (listed(context.parameter(n, 0, ""), n) for n in ("fieldsToInclude", "fieldsToExclude"))
        rows = [{k: v for k, v in item.json.items() if k not in left_out and (not kept or k in kept)} for item in items]
        if kept or left_out:
            parents = [item for item, row in zip(items, rows, strict=True) if row]
            rows = [row for row in rows if row]
        return [[Item({to_text(context.parameter("destinationFieldName", 0, "data")): rows}, parents)]]
    fields = context.parameter("fieldsToAggregate.fieldToAggregate", 0, [])
    if not fields:
        raise NodeFault("No fields specified")
    made: dict[str, Value] = {}
    for one in fields:
        name, dotted = to_text(one.get("fieldToAggregate", "")), context.option("disableDotNotation", False) is not True
        target = to_text(one.get("outputFieldName") or (name.rpartition(".")[2] if dotted else name))
        found = _aggregated(context, name)
        set_path(made, target, found) if dotted else made.update({target: found})
    return [[Item(made, parents)]]


def _aggregated(context: NodeContext, name: str) -> list[Value]:
    read, keep = reader(context), context.option("keepMissing", False) is True
    made: list[Value] = []
    for item in context.items:
        value = read(item.json, name)
        if not keep:
            if value in values.NOTHING:
                continue
            value = [one for one in value if one is not None] if isinstance(value, list) else value
        made += value if isinstance(value, list) and context.option("mergeLists", False) is True else [value]
    return [None if one is UNDEFINED else one for one in made]


def _numbers(data: list[Value]) -> list[Value]:
    return [one for one in data if values.is_numeric(one)]


def _sum(data: list[Value]) -> Value:
    return values.whole(sum(_numbers(data)))


def _extreme(pick: Callable[[list[Value]], Value]) -> Callable[[list[Value]], Value]:
    return lambda data: pick([one for one in data if one not in (None, UNDEFINED, "")] or [None])


_TITLES: Final = {"append": "appended_", "average": "average_", "concatenate": "concatenated_", "count": "count_",
                  "countUnique": "unique_count_", "max": "max_", "min": "min_", "sum": "sum_"}  # fmt: skip
_FIGURES: Final[Mapping[str, Callable[[list[Value]], Value]]] = {
    "average": lambda data: values.whole(sum(_numbers(data)) / len(_numbers(data))) if _numbers(data) else None,
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _sum,
}


def summarize(context: NodeContext) -> Outputs:
    """Return sums, counts and lists of fields, by groups."""
    rows = [one for one in context.parameter("fieldsToSummarize.values", 0, []) if one.get("field")]
    if not rows:
        raise NodeFault("You need to add at least one aggregation to 'Fields to Summarize' with non empty 'Field'")
    by, read = listed(context.parameter("fieldsToSplitBy", 0, "") or "", "fieldsToSplitBy"), reader(context)
    if context.option("outputFormat", "separateItems") == "singleItem" and by:
        raise NotModelled("Summarize by groups into a single item")
    groups: dict[Any, tuple[list[Value], list[Item]]] = {}
    for item in context.items:
        keys = [read(item.json, name) for name in by]
        if context.option("skipEmptySplitFields", False) is True and any(
            not values.is_numeric(k) and not values.truthy(k) for k in keys
        ):
            continue
        keys = [
            values.stringified(key) if isinstance(key, dict | list) else to_text(key) if context.version == 1 else key
            for key in keys
        ]
        hashed = tuple((type(key).__name__, key if key is not UNDEFINED else "") for key in keys)
        groups.setdefault(hashed, (keys, []))[1].append(item)
    ordered = _nested(list(groups.values()), len(by))
    made = []
    for keys, items in ordered or [([], [])] * (not by):
        found = {_title(one): _figure(one, [read(item.json, to_text(one["field"])) for item in items]) for one in rows}
        split = {
            _field_name(name): key for name, key in reversed(list(zip(by, keys, strict=True))) if key is not UNDEFINED
        }
        made.append(Item({**found, **split}, items))
    return [made]


def _nested(groups: list[tuple[list[Value], list[Item]]], depth: int) -> list[tuple[list[Value], list[Item]]]:
    """Return groups with those of one first value side by side, as groups in groups come out."""
    if depth < 2:
        return groups
    seen: dict[str, list[tuple[list[Value], list[Item]]]] = {}
    for group in groups:
        seen.setdefault(repr(group[0][0]), []).append(group)
    return [one for same in seen.values() for one in same]


def _title(one: Mapping[str, Value]) -> str:
    return _field_name(f"{_TITLES.get(to_text(one.get('aggregation', 'count')), '')}{one['field']}")


def _field_name(name: str) -> str:
    for mark in "][\"'":
        name = name.replace(mark, "")
    return name.replace(".", "_").replace(" ", "_")


def _figure(one: Mapping[str, Value], data: list[Value]) -> Value:
    how = to_text(one.get("aggregation", "count"))
    if how in _FIGURES:
        return _FIGURES[how](data)
    kept = data if one.get("includeEmpty") is True else [value for value in data if value not in (None, UNDEFINED, "")]
    if how == "append":
        return [None if value is UNDEFINED else value for value in kept]
    if how == "concatenate":
        by = one.get("separateBy", ",")
        texts = (values.stringified(v) if isinstance(v, dict | list) else "" if v is None else to_text(v) for v in kept)
        return to_text(one.get("customSeparator", "") if by == "other" else by).join(texts)
    return len({repr(value) for value in kept}) if how == "countUnique" else len(kept)


def rename_keys(context: NodeContext) -> Outputs:
    """Return the items with fields under other names."""
    if context.option("regexReplacement.replacements", []):
        raise NotModelled("Rename Keys by a regular expression")

    def renamed(index: int, item: Item) -> Item:
        made = copy.deepcopy(item.json)
        for one in context.parameter("keys.key", index, []):
            old, new = to_text(one.get("currentKey", "")), to_text(one.get("newKey", ""))
            value = get_path(made, old)
            if old and new and old != new and value is not UNDEFINED:
                set_path(made, new, value)
                values.unset_path(made, old)
        return Item(made, (item,))

    return context.each(renamed)


DATA: Final = {
    "aggregate": aggregate, "code": code, "dateTime": date_time, "renameKeys": rename_keys, "set": set_fields,
    "splitOut": split_out, "summarize": summarize,
}  # fmt: skip
