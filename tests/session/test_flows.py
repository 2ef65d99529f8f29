"""The n8n flow creator asks about node types and edits workflows by operations, on the same path as all edits."""

import json

from rails.core.outcomes import is_good
from tests.session.workflows import node, workflow

FLOW = workflow("Digest", node(1, "Start", "manualTrigger"), node(2, "Slack", "noOp"))
CREATOR = {"tasks": (("n8n-flow-creator", "change the flow"),)}


def request(tool, parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def edit(*operations):
    return request("edit_workflow", {"file_path": "flow.json", "operations": list(operations)})


def written(work):
    return json.loads((work.project / "flow.json").read_text("utf-8"))


def test_a_node_is_renamed_with_its_connections_after_gate_and_approval(work):
    (work.project / "flow.json").write_text(json.dumps(FLOW), "utf-8")
    done = work(
        edit({"op": "rename_node", "name": "Slack", "new_name": "Post"}), "Done.", approvals=["approve"], **CREATOR
    )
    assert is_good(done.ending.outcome)
    assert written(work)["connections"]["Start"]["main"][0][0]["node"] == "Post"
    assert done.events("GATE_VERDICT")[0]["status"] == "pass"


def test_an_operation_that_cannot_be_done_is_refused_with_what_is_there(work):
    (work.project / "flow.json").write_text(json.dumps(FLOW), "utf-8")
    done = work(edit({"op": "remove_node", "name": "Slak"}), "I see.", **CREATOR)
    assert "Slack" in done.told[0]
    assert written(work) == FLOW


def test_operations_on_a_file_that_is_no_workflow_are_refused(work):
    done = work(edit({"op": "remove_node", "name": "x"}), "I see.", **CREATOR)
    assert "flow.json does not exist" in done.told[0]


def test_a_node_type_is_looked_up_instead_of_guessed(work):
    done = work(
        request("n8n_node_info", {"search": "manual trigger"}),
        request("n8n_node_info", {"type": "n8n-nodes-base.manualTrigger"}),
        "Done.",
        **CREATOR,
    )
    assert "n8n-nodes-base.manualTrigger" in done.told[0]
    assert "typeVersion" in done.told[1]


def test_the_coder_may_not_use_the_tools_of_the_flow_creator(work):
    done = work(edit({"op": "remove_node", "name": "Slack"}), "I see.")
    assert done.events("TOOL_REQUEST_VALIDATION_FAILED")[0]["refusals"][0]["code"] == "forbidden_tool"


def test_a_workflow_that_cannot_be_edited_does_not_hide_the_refusal_of_another_edit(work):
    other = request("edit_file", {"file_path": "none.txt", "old_string": "a", "new_string": "b"})
    done = work(edit({"op": "remove_node", "name": "x"}) + other, "I see.", **CREATOR)
    assert "flow.json does not exist" in done.told[0]
    assert "none.txt" in done.told[0]
