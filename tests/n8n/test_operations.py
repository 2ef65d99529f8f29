"""Structural edits: nodes and connections by operation."""

import copy
import json
import re
from pathlib import Path

from n8n_workflows import chain, errors, node, to

from rails.core.errors import Refusal
from rails.n8n.edit.operations import _OPERATIONS, apply_operations, renamed
from tests.rows import walked


def done(value, *operations):
    made = apply_operations(value, operations)
    assert not isinstance(made, Refusal), made
    return made


def refused(value, *operations):
    made = apply_operations(value, operations)
    assert isinstance(made, Refusal)
    return made


def test_the_tool_offers_the_operations_that_there_are():
    file = Path(__file__).parents[2] / "mcp_definitions" / "edit_workflow.json"
    operations = json.loads(file.read_text("utf-8"))["request_schema"]["properties"]["operations"]
    assert operations["items"]["properties"]["op"]["enum"] == [*_OPERATIONS]


def test_a_node_is_added_beside_the_last_one_and_connected():
    made = done(
        chain("A"),
        {"op": "add_node", "node": {"name": "New", "type": "n8n-nodes-base.noOp", "typeVersion": 1}},
        {"op": "connect", "source": "A", "target": "New"},
    )
    assert made["nodes"][-1]["position"] == [240, 0]
    assert made["connections"]["A"] == {"main": [[to("New")]]}
    assert errors(made) == []


def test_a_removed_node_takes_its_connections_and_pinned_data_along():
    made = done(chain("A", "B", pinData={"A": []}), {"op": "remove_node", "name": "A"})
    assert [n["name"] for n in made["nodes"]] == ["Start", "B"]
    assert made["connections"] == {"Start": {"main": [[]]}}
    assert made["pinData"] == {}


def test_a_rename_is_followed_by_connections_pinned_data_expressions_and_code():
    value = chain("Old one", "B", pinData={"Old one": []})
    value["nodes"][2] |= {
        "type": "n8n-nodes-base.code",
        "typeVersion": 2,
        "parameters": {
            "jsCode": "// $('Old one')\nreturn $('Old one').all()",
            "a": "={{ $('Old one').item.json.x }} Old one {{ $node[\"Old one\"].json.y }}",
            "b": "$('Old one')",
        },
    }
    made = done(value, {"op": "rename_node", "name": "Old one", "new_name": "It's new"})
    assert errors(made) == []
    assert made["nodes"][2]["parameters"] == {
        "jsCode": "// $('Old one')\nreturn $('It\\'s new').all()",
        "a": "={{ $('It\\'s new').item.json.x }} Old one {{ $node[\"It's new\"].json.y }}",
        "b": "$('Old one')",
    }
    assert list(made["connections"]) == ["Start", "It's new"]
    assert list(made["pinData"]) == ["It's new"]


def test_only_references_are_renamed_and_quoted_as_javascript_needs_it():
    for text, new, expected in [
        ("={{ $node.Old.json }}", "New", "={{ $node.New.json }}"),
        ("={{ $node.Old.json }}", "New one", '={{ $node["New one"].json }}'),
        ("={{ $(`Old`).item }}", "a${b}`", "={{ $(`a\\${b}\\``).item }}"),
        ('={{ $("Old").item }}', 'q"\\', '={{ $("q\\"\\\\").item }}'),
        ("={{ 'Old' }}", "New", "={{ 'Old' }}"),
        ("=$('Old')", "New", "=$('Old')"),
    ]:
        assert renamed(text, "Old", new) == expected, text


def test_parameters_are_set_by_path():
    made = done(
        chain("A"),
        {"op": "set_parameter", "name": "A", "path": "url", "value": "x"},
        {"op": "set_parameter", "name": "A", "path": "rules.values[0].key", "value": 1},
        {"op": "set_parameter", "name": "A", "path": "rules.values[1]", "value": {"key": 2}},
    )
    assert made["nodes"][1]["parameters"] == {"url": "x", "rules": {"values": [{"key": 1}, {"key": 2}]}}


def test_connections_of_any_type_output_and_input_are_made_and_cut():
    value = chain("A", "B")
    wire = {"source": "A", "target": "B", "type": "ai_tool", "output": 2, "input": 1}
    made = done(value, {"op": "connect", **wire}, {"op": "connect", **wire})
    assert made["connections"]["A"]["ai_tool"] == [[], [], [to("B", "ai_tool", 1)]]
    assert done(made, {"op": "disconnect", **wire})["connections"]["A"]["ai_tool"] == [[], [], []]


@walked(
    ("operation", "message", "hint"),
    [
        ({"op": "move_node"}, "no operation", "add_node"),
        ({"op": "remove_node", "name": "a "}, "no node", '"A"'),
        ({"op": "add_node", "node": {"name": "A", "type": "x"}}, "already", "another name"),
        ({"op": "add_node", "node": []}, "Expected `object`", "node"),
        ({"op": "rename_node", "name": "A", "new_name": "B"}, "already", "another"),
        ({"op": "rename_node", "name": "A", "new_name": "x }} y"}, "ends an expression", "braces"),
        ({"op": "connect", "source": "A", "target": "Z"}, "no node", "nodes are"),
        ({"op": "connect", "source": "A", "target": "B", "output": -1}, "$.output", "output"),
        ({"op": "disconnect", "source": "B", "target": "A"}, "not connected", "connected to: nothing"),
        ({"op": "set_parameter", "name": "A", "path": "a[4]", "value": 1}, "to set 4 in", "start at 0"),
        ({"op": "set_parameter", "name": "A", "path": "", "value": 1}, "$.path", "path"),
        ({"op": "set_parameter", "name": "A", "path": "x"}, "`value`", "value"),
        ({}, "no operation", "add_node"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_is_there(operation, message, hint):
    value = chain("A", "B")
    before = copy.deepcopy(value)
    said = refused(value, {"op": "set_parameter", "name": "B", "path": "x", "value": 1}, operation)
    assert re.match(r"Operation 1( \(\w+\))?: ", said.message)
    assert message in said.message
    assert hint in said.hint
    assert value == before


def test_what_is_no_workflow_is_refused():
    for broken in [{"nodes": {}, "connections": {}}, {"nodes": [], "connections": []}]:
        assert "not a workflow" in refused(broken, {"op": "remove_node", "name": "A"}).message, broken


def test_broken_neighbours_do_no_harm():
    value = chain("A") | {
        "nodes": [None, *chain("A")["nodes"]],
        "connections": {"Start": None, "A": {"main": [None, 3]}},
    }
    made = done(value, {"op": "rename_node", "name": "A", "new_name": "C"}, {"op": "remove_node", "name": "C"})
    assert made["connections"] == {"Start": None}
    assert refused(value, {"op": "connect", "source": "Start", "target": "A"}).code == "workflow"
    assert node("x")


def test_a_node_s_settings_are_set_and_taken_away():
    made = done(
        chain("A"),
        {"op": "set_node", "name": "A", "values": {"credentials": {"slackApi": {"id": "1", "name": "Team"}}}},
        {"op": "set_node", "name": "A", "values": {"credentials": {"otherApi": {"id": "2"}}, "typeVersion": 1.5}},
        {"op": "set_node", "name": "A", "values": {"onError": "continueErrorOutput", "retryOnFail": True}},
        {"op": "set_node", "name": "A", "values": {"retryOnFail": None, "position": [10, 20.5], "notes": "why"}},
    )
    node = made["nodes"][1]
    assert node["credentials"] == {"slackApi": {"id": "1", "name": "Team"}, "otherApi": {"id": "2"}}
    assert (node["typeVersion"], node["onError"], node["position"]) == (1.5, "continueErrorOutput", [10, 20.5])
    assert "retryOnFail" not in node


def test_a_setting_that_is_none_is_refused_with_what_it_looks_like():
    for values, text in [
        ({}, "must be an object"),
        ({"onErorr": "stopWorkflow"}, "onError"),
        ({"onError": "stop"}, "continueRegularOutput"),
        ({"position": [1]}, "[x, y]"),
        ({"disabled": "yes"}, "bool"),
        ({"typeVersion": True}, "float"),
        ({"parameters": {}}, "set_parameter"),
    ]:
        assert text in str(refused(chain("A"), {"op": "set_node", "name": "A", "values": values})), values


def test_a_node_is_replaced_and_keeps_its_name_place_and_connections():
    before = chain("A", "B")
    new = {"type": "n8n-nodes-base.set", "typeVersion": 3.4, "parameters": {"options": {}}}
    made = done(before, {"op": "replace_node", "name": "A", "node": new})
    assert made["connections"] == before["connections"]
    kept = {key: before["nodes"][1][key] for key in ("id", "name", "position")}
    assert made["nodes"][1] == {**new, **kept}
    assert "rename_node" in str(refused(before, {"op": "replace_node", "name": "A", "node": {**new, "name": "C"}}))


def test_the_workflow_gets_a_name_and_settings():
    made = done(
        chain("A", settings={"timezone": "UTC", "executionTimeout": 5}),
        {"op": "set_workflow", "values": {"name": "New", "settings": {"executionOrder": "v1", "timezone": None}}},
    )
    assert (made["name"], made["settings"]) == ("New", {"executionTimeout": 5, "executionOrder": "v1"})
    assert "name" in str(refused(chain("A"), {"op": "set_workflow", "values": {"name": None}}))
