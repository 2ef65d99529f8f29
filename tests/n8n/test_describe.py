"""What an agent can read about a node type."""

import pytest

from rails.n8n.info.describe import answer, describe_node, find_nodes


@pytest.mark.usefixtures("catalogue")
def test_a_node_is_described_at_its_newest_version_with_what_shows():
    text = describe_node("n8n-nodes-base.post")
    assert "typeVersion: 2.1" in text
    assert "  to*: string" in text
    assert '  resource: "letter" | "parcel"' in text
    assert 'credentials: "postApi"' in text
    assert "office" not in text
    assert "inputs: main" in text


@pytest.mark.usefixtures("catalogue")
def test_given_parameters_narrow_it_down():
    text = describe_node("n8n-nodes-base.post", 2, {"resource": "parcel"})
    assert '  office*: {"__rl": true, "mode": "list" | "id", "value": …}' in text
    assert '  operation: "weigh" | "send"' in text
    assert "  to*" not in text
    assert "stamp*" not in describe_node("n8n-nodes-base.post", 1)
    assert "must be a list" in describe_node("n8n-nodes-base.post", 2, {"pages": {"page": 1}})


@pytest.mark.usefixtures("catalogue")
def test_groups_and_collections_are_shown_with_their_shape():
    lines = describe_node("n8n-nodes-base.post").splitlines()
    at = lines.index("  pages: fixedCollection")
    assert lines[at + 1 : at + 3] == ["    page: list of", "      title*: string"]
    assert '    speed: "slow" | "fast"' in lines


def test_without_a_full_catalogue_names_versions_and_ports_are_told():
    text = describe_node("@n8n/n8n-nodes-langchain.agent", 2)
    assert "ai_languageModel (required)" in text
    assert "no full catalogue" in text


def test_an_unknown_type_or_version_is_said_to_be_one():
    assert '"n8n-nodes-base.httpRequest"' in describe_node("n8n-nodes-base.httprequest")
    assert "no such version" in describe_node("n8n-nodes-base.if", 99)


def test_types_are_found_by_words_of_their_names():
    assert find_nodes("google sheets") == ["n8n-nodes-base.googleSheets", "n8n-nodes-base.googleSheetsTrigger"]
    assert find_nodes("") == []


@pytest.mark.usefixtures("catalogue")
def test_the_shape_of_filters_and_their_operators_are_shown():
    lines = describe_node("n8n-nodes-base.post").splitlines()
    at = lines.index("shapes:")
    assert any('  when: {"combinator": "and", "conditions": [' in line for line in lines[at:])
    assert "  operations of boolean: exists, notExists, empty, notEmpty, equals, notEquals, true, false" in lines[at:]


def test_the_shape_of_the_nodes_of_every_workflow_is_known_without_a_full_catalogue():
    assert '"leftValue"' in describe_node("n8n-nodes-base.if")
    assert '{"assignments": [{' in describe_node("n8n-nodes-base.set")


def test_the_words_of_a_purpose_find_the_types_that_hold_most_of_them():
    assert "n8n-nodes-base.slack" in answer({"search": "a Slack message"}).splitlines()
    assert "No node type" in answer({"search": "the of"})
