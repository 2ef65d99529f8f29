"""A dry run says what n8n's own packages say, node by node and expression by expression, or that it does not model it.

``try_run/flows.json`` and ``try_run/expressions.json`` are ours; what n8n put out was recorded by
``tests/benchmarks/n8n_execute.cjs`` (its head says with which versions, and what is not n8n's own there).
"""

import json
from datetime import datetime
from pathlib import Path

from rails.n8n import model, values
from rails.n8n.try_run.engine import TrySetting, try_workflow

FOLDER = Path(__file__).parent / "try_run"
FLOWS = json.loads((FOLDER / "flows.json").read_text("utf-8"))["flows"]
EXPRESSIONS = json.loads((FOLDER / "expressions.json").read_text("utf-8"))["expressions"]
NOW = datetime.fromisoformat("2026-03-04T15:06:07.089Z").timestamp() * 1000
ITEM = {"n": 5, "nul": None, "o": {"p": 1}, "list": [{"x": 1}, {"x": 2}], "key with space": "k"}
#: What n8n does and the dry run names as not modelled.
NOT_MODELLED = {
    "set raw json fails": "the repair of the JSON",
    "'über'.replaceSpecialChars()": ".replaceSpecialChars()",
    "'*bold*'.removeMarkdown()": ".removeMarkdown()",
    "$jmespath($json, 'o.p')": "$jmespath",
    "f merge one empty v0": "old order",
    "f sort mixed": "not all numbers or all texts",
}


def tried(engine, workflow, data, others=None):
    """What each node put out at its outputs, run by run, and the result."""
    loaded = {name: model.build(one) for name, one in (others or {}).items()}
    result = try_workflow(model.build(workflow), TrySetting(data=data, now=NOW, load=loaded.get, engine=engine))
    said = {}
    for run in result.runs:
        outputs = [[values.json_value(item.json) for item in items] for items in run.outputs]
        said.setdefault(run.node, []).append({"error": run.said} if run.state == "failed" else trimmed(outputs))
    return said, result


def trimmed(outputs):
    """Outputs without the empty ones at the end, of which n8n's nodes have more or fewer."""
    while outputs and not outputs[-1]:
        outputs.pop()
    return outputs


def comparable(nodes):
    """Errors count as errors, whatever they say."""
    return {
        name: ["error" if isinstance(run, dict) else trimmed(list(run)) for run in runs]
        for name, runs in nodes.items()
        if name != "Start"
    }


def missing(result):
    return " ".join(run.said for run in result.runs if run.state == "not modelled")


def test_every_node_puts_out_what_n8n_s_own_puts_out(engine):
    assert {name: found for name in FLOWS if (found := difference(engine, name))} == {}


def difference(engine, name):
    flow = FLOWS[name]
    said, result = tried(engine, flow["workflow"], flow["data"], flow.get("others"))
    if name in NOT_MODELLED:
        return "" if NOT_MODELLED[name] in missing(result) else "it is modelled now"
    ours, n8n = comparable(said), comparable(flow["n8n"]["nodes"])
    fails = any("error" in runs for runs in n8n.values())
    return (ours, n8n) if ours != n8n or result.failed != fails else ""


def test_every_expression_has_the_value_that_it_has_in_n8n(engine):
    assert {code: found for code in EXPRESSIONS if (found := difference_of_expression(engine, code))} == {}


def workflow_of(code):
    """A workflow whose node Set has the value of an expression in the field v."""
    assignment = {"id": "1", "name": "v", "type": "array", "value": f"={{{{ {code} }}}}"}
    start = {"id": "0", "name": "Start", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0]}
    node = {"id": "1", "name": "Set", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [200, 0]}
    node |= {"onError": "continueRegularOutput"}
    node["parameters"] = {"assignments": {"assignments": [assignment]}, "options": {"ignoreConversionErrors": True}}
    wires = {"Start": {"main": [[{"node": "Set", "type": "main", "index": 0}]]}}
    nodes = [start | {"parameters": {}}, node]
    return {"name": "w", "nodes": nodes, "connections": wires, "settings": {"executionOrder": "v1"}}


def difference_of_expression(engine, code):
    said, result = tried(engine, workflow_of(code), {"Start": [ITEM]})
    if code in NOT_MODELLED:
        return "" if NOT_MODELLED[code] in missing(result) else "it is modelled now"
    return said["Set"] if said["Set"] != [[[EXPRESSIONS[code]]]] else ""


def test_there_are_more_than_thirty_workflows_and_they_use_every_modelled_node():
    from rails.n8n.try_run.data_nodes import DATA
    from rails.n8n.try_run.flow_nodes import FLOW

    used = {node["type"].rpartition(".")[2] for flow in FLOWS.values() for node in flow["workflow"]["nodes"]}
    assert len(FLOWS) > 90
    assert set(FLOW) | set(DATA) <= used | {"wait", "executionData"}
