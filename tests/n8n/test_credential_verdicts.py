"""Credentials at publish are judged as n8n judges them.

``credential_verdicts.json`` has node descriptions of ours and what n8n's own code said of each form of credentials:
``Workflow`` of n8n-workflow 2.41.0 filled the parameters, ``validateNodeCredentials``, ``isNodeConnected`` and
``isTriggerLikeNode`` judged, in the order in which ``WorkflowValidationService`` of n8n 2.41.1 calls them.
"""

import json
from pathlib import Path

import pytest
from n8n_workflows import findings, node, the_one, to, workflow

from rails.n8n.nodes.build import build_catalogue

TABLE = json.loads((Path(__file__).parent / "credential_verdicts.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def catalogue_of_the_table(package, no_catalogue_of_the_user):
    file = package / "node_modules" / "n8n-nodes-base" / "dist" / "types" / "nodes.json"
    start = {"name": "manualTrigger", "version": 1, "group": ["trigger"], "inputs": [], "outputs": ["main"]}
    file.write_text(json.dumps([*TABLE["nodes"], start | {"properties": []}]))
    return build_catalogue(package)


def flow(row):
    more = {} if row["credentials"] is None else {"credentials": row["credentials"]}
    more |= {"disabled": True} if row.get("disabled") else {}
    it = node("It", f"n8n-nodes-base.{row['node']}", row["version"], parameters=row["parameters"], **more)
    wires = {"It": {"main": [[]]}} if row["node"].endswith("Trigger") else {"Start": {"main": [[to("It")]]}}
    start = node("Start", "n8n-nodes-base.manualTrigger")
    return workflow(start, it, connections=wires if row.get("connected", True) else {})


def said(row, profile):
    return [one for one in findings(flow(row), profile) if one.rule == "N8N092" and one.severity == "error"]


def test_what_n8n_says_of_a_credential_at_publish_is_said_here():
    for row in TABLE["rows"]:
        found = said(row, "publish")
        missing = {word.split()[1] for word in row["n8n"] if word.startswith("missing")}
        empty = {word.split()[1] for word in row["n8n"] if word.startswith("not-configured")}
        assert {one.json_path.rpartition(".")[2] for one in found if "no `id`" in one.message} == empty, row
        assert bool([one for one in found if "has no credential" in one.message]) == bool(missing), row
        assert all(any(name in one.message for one in found) for name in missing), row


def test_no_form_of_a_credential_stops_an_import():
    assert [row for row in TABLE["rows"] if said(row, "import")] == []


def test_a_credential_of_another_type_is_named_where_the_node_chooses_by_authentication():
    found = the_one(
        flow({"node": "byAuth", "version": 1, "parameters": {}, "credentials": {"slackApi": {"id": "1"}}}), "N8N093"
    )
    assert "slackApi" in found.message
    assert "oauthApi" in found.remedy
