"""Node types and versions by the list that ships."""

import pytest
from n8n_workflows import errors, findings, node, the_one, workflow

START = node("Start", "n8n-nodes-base.manualTrigger")


def with_type(type, version=1, **more):
    return workflow(START, node("A", type, version, **more))


@pytest.mark.parametrize(
    ("type", "meant"),
    [
        ("n8n-nodes-base.htpRequest", "n8n-nodes-base.httpRequest"),
        ("nodes-base.httpRequest", "n8n-nodes-base.httpRequest"),
        ("httpRequest", "n8n-nodes-base.httpRequest"),
        ("n8n-nodes-base.httprequest", "n8n-nodes-base.httpRequest"),
        ("n8n-nodes-base.agent", "@n8n/n8n-nodes-langchain.agent"),
        ("n8n-nodes-langchain.agent", "@n8n/n8n-nodes-langchain.agent"),
    ],
)
def test_an_unknown_type_is_an_error_with_the_type_that_was_meant(type, meant):
    found = the_one(with_type(type), "N8N040")
    assert (found.severity, found.json_path) == ("error", "nodes[1].type")
    assert meant in found.remedy


def test_a_retired_type_that_is_gone_names_its_successor():
    assert "manualTrigger" in the_one(with_type("n8n-nodes-base.start"), "N8N040").remedy


@pytest.mark.parametrize("type", ["n8n-nodes-globalping.globalping", "@tavily/n8n-nodes-tavily.tavily", "CUSTOM.mine"])
def test_a_community_node_is_not_checked_and_not_an_error(type):
    value = with_type(type, 7, parameters={"anything": 1})
    assert errors(value) == []
    assert the_one(value, "N8N042").severity == "info"


def test_tool_variants_are_known():
    for type in ["n8n-nodes-base.httpRequestTool", "n8n-nodes-base.slackTool", "n8n-nodes-base.slackHitlTool"]:
        assert errors(with_type(type, 1)) == [], type


def test_a_version_that_the_type_never_had_is_an_error_with_those_that_it_has():
    found = the_one(with_type("n8n-nodes-base.if", 1.5), "N8N041")
    assert found.json_path == "nodes[1].typeVersion"
    assert '"2.3"' in found.remedy
    assert errors(with_type("n8n-nodes-base.if", 2.0)) == []


def test_disabled_nodes_are_not_judged():
    assert errors(with_type("n8n-nodes-base.nothing", disabled=True)) == []


def test_nodes_that_n8n_leaves_out_by_default_are_a_warning():
    assert the_one(with_type("n8n-nodes-base.executeCommand"), "N8N045").severity == "warning"


def test_a_long_wrong_name_is_cut_in_the_message():
    (found,) = [f for f in findings(with_type("n8n-nodes-base." + "x" * 5_000)) if f.rule == "N8N040"]
    assert len(found.message) < 400
