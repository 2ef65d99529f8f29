"""The graph: port types, triggers, reach, loops, webhooks, old types."""

import pytest
from n8n_workflows import chain, errors, findings, node, rules, the_one, to, workflow

START = node("Start", "n8n-nodes-base.manualTrigger")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("0", '"main"'),
        ("Main", '"main"'),
        ("ai_languagemodel", "ai_languageModel"),
    ],
)
def test_an_output_type_that_n8n_does_not_know_is_an_error_that_says_what_to_write(key, said):
    value = chain("A")
    value["connections"]["Start"] = {key: [[to("A")]]}
    found = the_one(value, "N8N030")
    assert (found.severity, found.json_path) == ("error", f"connections.Start.{key}")
    assert said in found.remedy


def test_a_target_type_0_is_an_error():
    value = chain("A")
    value["connections"]["Start"]["main"][0][0]["type"] = "0"
    found = the_one(value, "N8N030")
    assert found.json_path == "connections.Start.main[0][0].type"
    assert found.remedy == 'Write "type": "main".'


def test_a_connection_with_different_ends_is_an_error():
    value = chain("A")
    value["connections"]["Start"]["main"][0][0]["type"] = "ai_tool"
    assert errors(value) == [("N8N031", "connections.Start.main[0][0].type")]


def test_a_connected_sticky_note_is_an_error_and_a_lone_one_is_fine():
    note = node("Note", "n8n-nodes-base.stickyNote")
    assert findings(workflow(START, note)) == []
    value = workflow(START, note, connections={"Start": {"main": [[to("Note")]]}})
    assert errors(value) == [("N8N035", "connections.Start.main[0][0].node")]
    value = workflow(START, note, node("A"), connections={"Note": {"main": [[to("A")]]}})
    assert [rule for rule, _ in errors(value)] == ["N8N035"], "and nothing more of its wire"
    value["connections"] = {"Start": {"main": [[to("A")], None, 5, "x"]}}
    assert [place for rule, place in errors(value) if rule == "N8N021"] == [
        f"connections.Start.main[{at}]" for at in (2, 3)
    ]


def test_no_trigger_is_a_warning_told_once():
    value = workflow(node("A"), node("B"))
    assert [(f.rule, f.severity) for f in findings(value)] == [("N8N080", "warning")]


def test_a_disabled_trigger_starts_nothing():
    assert rules(workflow(START | {"disabled": True}, node("A"))) == ["N8N080"]


def test_triggers_are_known_by_name():
    for type in [
        "n8n-nodes-base.webhook",
        "n8n-nodes-base.emailReadImap",
        "@n8n/n8n-nodes-langchain.chatTrigger",
        "n8n-nodes-x.yTrigger",
    ]:
        assert "N8N080" not in rules(workflow(node("Go", type))), type


def test_only_enabled_unreached_nodes_are_warned_about():
    value = workflow(START, node("Alone"), node("Off", disabled=True), node("Note", "n8n-nodes-base.stickyNote"))
    assert [(f.rule, f.json_path, f.severity) for f in findings(value)] == [("N8N037", "nodes[1]", "warning")]


def test_sub_nodes_of_a_reached_node_are_reached():
    value = workflow(
        START,
        node("Agent", "@n8n/n8n-nodes-langchain.agent", 1.7),
        node("Tool", "@n8n/n8n-nodes-langchain.toolWorkflow", 2),
        node("Model", "@n8n/n8n-nodes-langchain.lmChatOpenAi", 1),
        connections={
            "Start": {"main": [[to("Agent")]]},
            "Model": {"ai_languageModel": [[to("Agent", "ai_languageModel")]]},
            "Tool": {"ai_tool": [[to("Agent", "ai_tool")]]},
        },
    )
    assert "N8N037" not in rules(value)


def test_a_node_connected_to_itself_is_a_warning():
    value = chain("A")
    value["connections"]["A"] = {"main": [[to("A")]]}
    assert [(f.rule, f.severity) for f in findings(value)] == [("N8N036", "warning")]


def test_a_cycle_is_accepted():
    value = chain("A", "B")
    value["connections"]["B"] = {"main": [[to("A")]]}
    assert rules(value) == []


def webhook(name, **parameters):
    return node(name, "n8n-nodes-base.webhook", 2, parameters=parameters)


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ({"path": "a"}, {"path": "a"}, True),
        ({"path": "a"}, {"path": "/a/", "httpMethod": "GET"}, True),
        ({"path": "a", "httpMethod": "POST"}, {"path": "a"}, False),
        ({"path": "a"}, {"path": "b"}, False),
        ({"path": "=a"}, {"path": "=a"}, False),
        ({"path": "a/:id"}, {"path": "a/:id"}, False),
        (
            {"path": "a", "multipleMethods": True},
            {"path": "a", "httpMethod": "POST"},
            True,
        ),
        ({}, {}, False),
    ],
)
def test_two_webhooks_with_one_method_and_path(first, second, conflict):
    value = workflow(webhook("A", **first), webhook("B", **second))
    assert ("N8N081" in rules(value)) == conflict
    off = workflow(webhook("A", **first), webhook("B", **second) | {"disabled": True})
    assert "N8N081" not in rules(off)


def test_a_webhook_conflict_blocks_publishing():
    value = workflow(webhook("A", path="a"), webhook("B", path="a"))
    assert errors(value) == []
    assert errors(value, "publish") == [("N8N081", "nodes[1].parameters.path")]


def test_a_retired_type_names_its_successor():
    found = the_one(workflow(START, node("F", "n8n-nodes-base.function")), "N8N044")
    assert (found.severity, found.json_path) == ("warning", "nodes[1].type")
    assert "n8n-nodes-base.code" in found.remedy


def test_a_missing_version_is_no_error():
    value = chain("A")
    del value["nodes"][1]["typeVersion"]
    assert [(f.rule, f.severity) for f in findings(value)] == [("N8N043", "warning")]
    assert ("N8N043", "nodes[1]") in errors(value, "strict")
