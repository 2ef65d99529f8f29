"""The model of a Code node: its JavaScript run by the engine, on items of its own."""

from __future__ import annotations

from rails.n8n import values
from rails.n8n.try_run.context import NodeContext
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.try_run.items import Item, Outputs, given_items
from rails.n8n.values import Value, to_text


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
    return context.evaluator.run_code(written, context.run, index)
