"""What a dry run came to, for a person and as JSON: which branch each item took, what every node put out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from rails.core.text import one_line
from rails.n8n import values
from rails.n8n.model import Workflow, shown_value
from rails.n8n.try_run.data_nodes import DATA
from rails.n8n.try_run.engine import TryResult
from rails.n8n.try_run.flow_nodes import FLOW
from rails.n8n.try_run.items import Item, NodeRun

_FORMAT: Final = 1
_SHOWN_ITEMS: Final = 3
_SHOWN_CHARS: Final = 200
_SIDES: Final = {"if": ("true", "false"), "filter": ("kept", "discarded"), "splitInBatches": ("done", "loop")}
_STATES: Final = {"done": "", "failed": "FAILED", "stop": "STOP", "not modelled": "NOT MODELLED"}


def text_lines(result: TryResult, workflow: Workflow, name: str) -> Iterator[str]:
    """Yield the lines that a person reads."""
    yield f"Dry run of {one_line(name)}: a model of {len({**FLOW, **DATA})} of n8n's nodes, not n8n itself."
    for number, run in enumerate(result.runs, 1):
        yield from _run_lines(number, run, workflow)
    if result.not_reached:
        yield f"Not reached: {', '.join(map(shown_value, result.not_reached))}"
    if result.ended:
        yield result.ended


def _run_lines(number: int, run: NodeRun, workflow: Workflow) -> Iterator[str]:
    again = f", run {run.index + 1}" if run.index else ""
    state = _STATES.get(run.state, f"({run.state})")
    yield f"{number:>3}  {one_line(run.node, 60)} ({run.type.rpartition('.')[2]}{again})  {state}".rstrip()
    if run.said:
        yield f"     {one_line(run.said, 400)}"
    for place, given in enumerate(run.parameters[:_SHOWN_ITEMS]):
        yield f"     item {place}: {_shown(given)}"
    yield from _more(len(run.parameters))
    for place, items in enumerate(run.outputs):
        label = output_label(run, place, workflow)
        came = _origins(items) if len(run.outputs) > 1 else ""
        yield f"     {label + ': ' if label else ''}{len(items)} item{'' if len(items) == 1 else 's'}{came}"
        for item in items[:_SHOWN_ITEMS]:
            yield f"       {_shown(item.json)}"
        yield from _more(len(items))


def _more(count: int) -> Iterator[str]:
    if count > _SHOWN_ITEMS:
        yield f"       and {count - _SHOWN_ITEMS} more (--json shows all)"


def _shown(value: Any) -> str:  # noqa: ANN401
    return one_line(str(values.stringified(value)), _SHOWN_CHARS)


def _origins(items: list[Item]) -> str:
    """Return which items of the input took this branch."""
    came = sorted({parent.index for item in items for parent in item.parents})
    return f" (of the input: {', '.join(map(str, came[:20]))}{' …' if len(came) > 20 else ''})" if came else ""


def output_label(run: NodeRun, place: int, workflow: Workflow) -> str:
    """Return what an output is called: "true", the key of a rule, "error", or its number."""
    short, node = run.type.rpartition(".")[2], workflow.by_name[run.node]
    sides = _SIDES.get(short, ())
    if short == "splitInBatches" and (node.version or 0) < 3:
        sides = ("loop", "done")
    if place < len(sides):
        return sides[place]
    if len(run.outputs) > 1 and place == len(run.outputs) - 1 and node.raw.get("onError") == "continueErrorOutput":
        return "error"
    if short == "switch":
        key = values.get_path(dict(node.parameters), f"rules.values[{place}].outputKey")
        options = node.parameters.get("options")
        is_extra = (
            isinstance(options, dict) and options.get("fallbackOutput") == "extra" and place == len(run.outputs) - 1
        )
        return key if isinstance(key, str) and key else "fallback" if is_extra else f"output {place}"
    return f"output {place}" if len(run.outputs) > 1 else ""


def try_json(result: TryResult, workflow: Workflow) -> dict[str, Any]:
    """Return the whole dry run as JSON: every item with those that it was made from."""
    return {
        "format": _FORMAT,
        "is_n8n": False,
        "started": result.started,
        "runs": [_run_json(run, workflow) for run in result.runs],
        "not_reached": result.not_reached,
        "ended": result.ended,
        "failed": result.failed,
    }


def _run_json(run: NodeRun, workflow: Workflow) -> dict[str, Any]:
    outputs = [
        {"name": output_label(run, place, workflow), "items": [_item_json(item) for item in items]}
        for place, items in enumerate(run.outputs)
    ]
    return {
        "node": run.node,
        "type": run.type,
        "run": run.index,
        "state": run.state,
        "said": run.said,
        "inputs": [len(items) for items in run.inputs],
        "outputs": outputs,
        "parameters": [_plain(one) for one in run.parameters],
    }


def _item_json(item: Item) -> dict[str, Any]:
    came = [{"node": one.node, "run": one.run, "output": one.output, "item": one.index} for one in item.parents]
    return {"json": _plain(item.json), "from": came}


def _plain(value: Any) -> Any:  # noqa: ANN401
    return json.loads(values.stringified(value))
