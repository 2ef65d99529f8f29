"""The model of a Code node: its JavaScript run by our interpreter, or by the runner that the caller gives."""

from __future__ import annotations

import copy

from rails.n8n.try_run import values
from rails.n8n.try_run.context import NodeContext
from rails.n8n.try_run.items import Item, Outputs, given_items
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Thrown, Value, to_text


def code(context: NodeContext) -> Outputs:
    """Return what the JavaScript of a Code node makes of the items."""
    if context.parameter("language", 0, "javaScript") != "javaScript":
        raise NotModelled("Python in a Code node")
    written = to_text(context.node.parameters.get("jsCode", ""))
    if not written.strip():
        raise NotModelled("a Code node without code, for which n8n runs an example of its own")
    if context.parameter("mode", 0, "runOnceForAllItems") == "runOnceForEachItem":
        return context.each(lambda index, item: _one_given(_run(context, written, index), item))
    try:
        back = _run(context, written, None)
    except NodeFault as fault:
        if not context.continues:
            raise
        return [[Item({"error": str(fault)})]]
    rows = back if isinstance(back, list) else [back]
    if back in values.NOTHING or not all(isinstance(one, dict) for one in rows):
        raise NodeFault("Code doesn't return items properly: return an array of objects, one for each item")
    made = given_items([values.json_value(one) for one in rows])
    for item, one in zip(made, rows, strict=True):
        paired = one.get("pairedItem")
        places = [
            p.get("item") if isinstance(p, dict) else p for p in (paired if isinstance(paired, list) else [paired])
        ]
        item.parents = tuple(context.items[p] for p in places if isinstance(p, int) and 0 <= p < len(context.items))
    return [made]


def _one_given(back: Value, item: Item) -> Item:
    if not isinstance(back, dict):
        raise NodeFault("Code doesn't return an object: return one item, for example {json: {…}}")
    made = given_items(values.json_value(back))[0]
    made.parents = (item,)
    return made


def _run(context: NodeContext, written: str, index: int | None) -> Value:
    if context.code_runner is not None:
        return context.code_runner(written, {
            "items": _views(context), "index": index, "nodes": context.evaluator.all_items(),
        })  # fmt: skip
    names = context.evaluator.names(context.node, context.run, index or 0, f"{written};x=y")
    views = _views(context)
    names |= {"items": views} if index is None else {"item": views[index], "$json": views[index]["json"]}
    names["$input"] = _CodeInput(views, index, names["$input"])
    try:
        return context.evaluator.run_code(written, names)
    except Thrown as thrown:
        raise NodeFault(str(thrown)) from None


def _views(context: NodeContext) -> list[Value]:
    """Return the items as code gets them: its own copies, each paired with its place."""
    return [copy.deepcopy(item.view()) | {"pairedItem": {"item": place}} for place, item in enumerate(context.items)]


class _CodeInput:
    """``$input`` in code, whose items the code may change."""

    kind = "object"

    def __init__(self, views: list[Value], index: int | None, otherwise: Value) -> None:
        self._views, self._index, self._otherwise = views, index, otherwise

    def property(self, key: str) -> Value:
        """Return the items, one of them, or what ``$input`` has beside."""
        views = self._views
        if key == "item" and self._index is not None:
            return views[self._index]
        found: dict[str, Value] = {
            "all": lambda: views,
            "first": lambda: views[0] if views else UNDEFINED,
            "last": lambda: views[-1] if views else UNDEFINED,
        }
        return found[key] if key in found else self._otherwise.property(key)

    def in_json(self) -> Value:
        """Return nothing: no part is a value of its own."""
        return {}
