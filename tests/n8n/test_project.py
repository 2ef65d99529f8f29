"""Several files are one project: who calls whom, who serves a webhook, where errors go."""

import json
from itertools import pairwise

import pytest
from n8n_workflows import node, to, workflow

from rails.core.verdict import Finding
from rails.n8n.check import check_workflow
from rails.n8n.rules.project import Surroundings, facts_in

START = node("Start", "n8n-nodes-base.manualTrigger")


def caller(target, **more):
    return node("Call", "n8n-nodes-base.executeWorkflow", 1.2, parameters={"workflowId": target, **more})


def flow(*nodes, **more):
    wires = {a["name"]: {"main": [[to(b["name"])]]} for a, b in pairwise(nodes)}
    return workflow(*nodes, connections=wires, **more)


def called(**more):
    return flow(node("Called", "n8n-nodes-base.executeWorkflowTrigger", 1.1, parameters=more), id="sub", name="Sub")


def judged(value, *others, profile="import", path="a.json") -> list[Finding]:
    facts = [one for number, other in enumerate(others) for one in facts_in(other, f"{number}.json")]
    data = json.dumps(value, indent=1).encode()
    return list(check_workflow(data, path, profile, around=Surroundings(facts)))


def told(found, rule):
    return [(one.severity, one.message) for one in found if one.rule == rule]


def test_a_call_of_a_workflow_that_is_there_is_fine():
    assert told(judged(flow(START, caller("sub")), called(inputSource="passthrough")), "N8N110") == []


def test_of_a_workflow_that_nobody_can_know_nothing_is_said():
    assert told(judged(flow(START, caller("elsewhere")), called()), "N8N110") == []
    assert told(judged(flow(START, caller("={{ $json.id }}")), called()), "N8N110") == []


@pytest.mark.parametrize("target", ["Sub", "0.json", {"__rl": True, "value": "old", "cachedResultName": "Sub"}])
def test_a_name_in_place_of_an_id_is_told_with_the_id(target):
    (found,) = [one for one in judged(flow(START, caller(target)), called()) if one.rule == "N8N110"]
    assert (found.severity, found.remedy) == ("warning", 'Write its id: "sub".')


def test_a_called_workflow_needs_a_trigger_for_it_and_takes_only_its_inputs():
    plain = flow(START, node("A"), id="sub", name="Sub")
    ((_, message),) = told(judged(flow(START, caller("sub")), plain), "N8N110")
    assert "0.json, which has no Execute Workflow Trigger" in message
    given = {"workflowInputs": {"mappingMode": "defineBelow", "value": {"id": 1, "sise": 2}}}
    takes = called(workflowInputs={"values": [{"name": "id"}, {"name": "size"}]})
    ((severity, message),) = told(judged(flow(START, caller("sub", **given)), takes), "N8N110")
    assert (severity, "sise" in message, '"id"' in message) == ("warning", True, False)


def test_a_call_of_the_own_workflow_is_told():
    assert "its own workflow" in told(judged(flow(START, caller("own"), id="own")), "N8N110")[0][1]


def test_an_error_workflow_is_there_and_catches_errors():
    own = flow(START, node("A"), settings={"errorWorkflow": "sub"})
    assert "no Error Trigger" in told(judged(own, called()), "N8N111")[0][1]
    catches = flow(node("Any", "n8n-nodes-base.errorTrigger"), node("B"), id="sub")
    assert told(judged(own, catches), "N8N111") == []


def hook(path, **more):
    return flow(
        node("Hook", "n8n-nodes-base.webhook", 2, parameters={"path": path, "httpMethod": "POST"}), node("A"), **more
    )


def test_two_files_cannot_serve_one_webhook():
    assert told(judged(hook("x", id="1"), hook("y", id="2")), "N8N081") == []
    assert told(judged(hook("x", id="1"), hook("x", id="1")), "N8N081") == []
    for profile, severity in (("import", "warning"), ("publish", "error")):
        ((found, message),) = told(judged(hook("x", id="1"), hook("/x", id="2"), profile=profile), "N8N081")
        assert (found, "0.json" in message) == (severity, True)


def test_two_files_with_one_workflow_id_are_told():
    assert "0.json" in told(judged(flow(START, node("A"), id="1"), flow(START, node("B"), id="1")), "N8N112")[0][1]
    assert told(judged(flow(START, node("A"), id="1"), flow(START, node("B"), id="2")), "N8N112") == []


def test_the_workflows_of_one_file_are_a_project_too():
    found = judged([flow(START, caller("Sub"), id="1"), called()])
    assert told(found, "N8N110")[0][0] == "warning"
