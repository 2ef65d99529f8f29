"""What n8n evaluates is no error, and what it refuses is one: each form was evaluated by n8n itself.

``expression_verdicts.json`` has the verdict of ``n8n-workflow`` 2.41.0 (its parser, its sandbox and its evaluator, by
the engine ``quickjs``, which takes the same path as its default ``vm``) on expressions of ours, in a workflow of the
nodes Start, A (which ran), Never (which did not) and Here (which has the expression). ``differs`` says why we judge
otherwise where we do.
"""

import json
from pathlib import Path

import pytest
from n8n_workflows import findings

VERDICTS = json.loads((Path(__file__).parent / "expression_verdicts.json").read_text("utf-8"))


def flow(value):
    def node(number, name, kind, parameters):
        kind = f"n8n-nodes-base.{kind}"
        place = {"typeVersion": 1, "position": [number * 200, 0]}
        return {"id": str(number), "name": name, "type": kind, **place, "parameters": parameters}

    def wire(*names):
        return {"main": [[{"node": name, "type": "main", "index": 0} for name in names]]}

    nodes = [node(0, "Start", "manualTrigger", {}), node(1, "A", "noOp", {}), node(2, "Never", "noOp", {})]
    nodes.append(node(3, "Here", "noOp", {"field": value}))
    return {"name": "w", "nodes": nodes, "connections": {"Start": wire("A", "Never"), "A": wire("Here")}}


def refused(value):
    found = (one for one in findings(flow(value)) if one.json_path.startswith("nodes[3].parameters"))
    return any(one.severity == "error" for one in found)


def test_every_verdict_is_n8n_s_but_where_the_table_says_why():
    differing = [row["code"] for row in VERDICTS if refused(row["code"]) != (row["n8n"] == "refused")]
    assert differing == [row["code"] for row in VERDICTS if "differs" in row]


def test_the_table_is_large_and_most_of_it_is_judged_as_n8n_does():
    assert len(VERDICTS) >= 500
    assert sum("differs" in row for row in VERDICTS) <= 51


@pytest.mark.parametrize(
    ("value", "start", "text"),
    [
        ("={{ $json.a.caller }}", "caller", "no expression may use the name 'caller'"),
        ("={{ 'ä' + $json['callee'] }}", "callee", "no expression may use the name 'callee'"),
        ("={{ {a: 1}.prototype }}", "prototype", "no expression may use the name 'prototype'"),
        ("=see obj.constructor here", ".constructor", '".constructor" may stand nowhere in it'),
        ("={{ $json.a ?? 1 || 2 }}", "$json.a ?? 1 || 2", "need parentheses between them"),
        ("={{ $ }}", "$ }}", "may only stand before a call"),
    ],
)
def test_what_is_refused_is_named_at_its_place(value, start, text):
    made = flow(value)
    found = next(one for one in findings(made) if one.rule == "N8N060")
    line = json.dumps(made, indent=2, ensure_ascii=False).splitlines()[found.line - 1]
    assert text in found.message
    shown = json.dumps(made, indent=2).splitlines()[found.line - 1]
    assert shown[found.column - 1 :].startswith(start) or line[found.column - 1 :].startswith(start)


def test_a_reference_that_a_condition_guards_is_a_warning():
    found = [one for one in findings(flow("={{ $json.a || $('Gone').item.json.a }}")) if one.rule == "N8N061"]
    assert [one.severity for one in found] == ["warning"]
