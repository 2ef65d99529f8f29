"""What n8n would drop is repaired where exactly one form is valid; everything else stays as it is."""

import copy
import json

import pytest
from n8n_workflows import chain, errors, node, to, workflow

from rails.n8n import formatting
from rails.n8n.repair.repairs import repaired

OLD_IF = {
    "conditions": {
        "string": [{"value1": "={{ $json.a }}", "operation": "equal", "value2": "x"}, {"value1": "y"}],
        "number": [{"value1": 1, "operation": "largerEqual", "value2": 2}],
    },
    "combineOperation": "any",
}


def one(kind, version, parameters):
    start = node("Start", "n8n-nodes-base.manualTrigger")
    it = node("It", f"n8n-nodes-base.{kind}", version, parameters=parameters)
    return workflow(start, it, connections={"Start": {"main": [[to("It")]]}})


def parameters(value):
    made, done = repaired(value)
    return made["nodes"][1]["parameters"], [repair.what for repair in done]


def test_conditions_of_version_1_become_those_of_version_2():
    made, done = parameters(one("if", 2.2, OLD_IF))
    conditions = made["conditions"]["conditions"]
    assert done == ["conditions in the shape of version 2"]
    assert made["conditions"]["combinator"] == "or"
    assert "combineOperation" not in made
    assert [(c["leftValue"], c["operator"]["operation"], c["rightValue"]) for c in conditions] == [
        ("={{ $json.a }}", "equals", "x"),
        ("y", "equals", ""),
        (1, "gte", 2),
    ]
    assert errors(repaired(one("if", 2.2, OLD_IF))[0]) == []


def test_operators_get_their_present_names():
    def filtered(*operators):
        conditions = [{"leftValue": 1, "rightValue": 2, "operator": operator} for operator in operators]
        return one("filter", 2, {"conditions": {"conditions": conditions, "combinator": "and"}})

    made, _ = parameters(
        filtered({"type": "number", "operation": "larger"}, {"type": "string", "operation": "isNotEmpty"})
    )
    assert [c["operator"] for c in made["conditions"]["conditions"]] == [
        {"type": "number", "operation": "gt"},
        {"type": "string", "operation": "notEmpty", "singleValue": True},
    ]
    untouched = filtered({"type": "string", "operation": "larger"}, {"type": "string", "operation": "equals"}, {})
    assert repaired(untouched) == (untouched, [])


def test_fields_of_set_become_assignments():
    values = {"string": [{"name": "a", "value": "={{ 1 }}"}], "number": [{"name": "n", "value": 3}]}
    made, done = parameters(one("set", 3.4, {"values": values, "keepOnlySet": True}))
    assert done == ["fields as assignments"]
    assert [(a["name"], a["type"], a["value"]) for a in made["assignments"]["assignments"]] == [
        ("a", "string", "={{ 1 }}"),
        ("n", "number", 3),
    ]
    assert "includeOtherFields" not in made
    assert parameters(one("set", 3.4, {"values": values}))[0]["includeOtherFields"] is True


@pytest.mark.parametrize(
    ("kind", "version", "given"),
    [
        ("if", 1, OLD_IF),
        ("if", 2, {"conditions": {"string": [{"value1": 1, "operation": "explode"}]}}),
        ("if", 2, {"conditions": {"string": [{"value1": 1, "extra": 1}]}}),
        ("if", 2, {"conditions": {"string": "x"}}),
        ("if", 2, {"conditions": {}}),
        ("if", 2, {"conditions": {"text": []}}),
        ("if", 2, OLD_IF | {"combineOperation": "={{ 1 }}"}),
        ("set", 2, {"values": {"string": [{"name": "a"}]}}),
        ("set", 3.4, {"values": {"string": [{"name": "a"}]}, "assignments": {}}),
        ("set", 3.4, {"values": {"string": [{"value": "a"}]}}),
        ("set", 3.4, {"values": {"object": [{"name": "a"}]}}),
        ("switch", 3, OLD_IF),
        ("noOp", 1, {"conditions": [1]}),
    ],
)
def test_what_is_sound_or_has_two_readings_is_left_alone(kind, version, given):
    before = one(kind, version, given)
    assert repaired(copy.deepcopy(before)) == (before, [])


def test_a_repair_is_told_and_repairing_twice_changes_nothing():
    data = json.dumps(one("if", 2.2, OLD_IF)).encode()
    made, fixed = formatting.tidied(data, "flow.json")
    assert ("conditions in the shape of version 2 in It", 1) in [(one.rule, one.count) for one in fixed]
    assert formatting.tidied(made, "flow.json") == (made, ())


def test_nodes_of_one_name_and_unnamed_files_get_ids_of_their_own():
    twins = chain("A", "A")
    for one_node in twins["nodes"]:
        del one_node["id"]
    del twins["name"]
    data = json.dumps(twins).encode()
    ids = [
        one_node["id"]
        for path in ("a.json", "b.json")
        for one_node in json.loads(formatting.complete(data, path)[0])["nodes"]
    ]
    assert len(set(ids)) == 6
