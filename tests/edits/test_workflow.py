"""Operations on a workflow are planned like every other edit: exact, all or nothing, refused with what is there."""

import json

import pytest

from rails.core.errors import Refusal
from rails.core.paths import parse_path
from rails.n8n.whole_file import workflow_edit

FLOW = {
    "name": "Digest",
    "nodes": [
        {"id": "1", "name": "Start", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0]},
    ],
    "connections": {},
}
PATH = parse_path("flow.json")
RENAME = [{"op": "rename_node", "name": "Start", "new_name": "Begin"}]


def test_operations_become_one_exact_edit_of_the_whole_file():
    data = json.dumps(FLOW).encode()
    old, new = workflow_edit(PATH, data, RENAME)
    assert old == data.decode()
    assert json.loads(new)["nodes"][0]["name"] == "Begin"


@pytest.mark.parametrize("data", [None, b"not JSON", b"[]", b"[" * 100_000, json.dumps(FLOW).encode("utf-16")])
def test_a_file_that_is_no_workflow_is_refused_by_name(data):
    refusal = workflow_edit(PATH, data, RENAME)
    assert isinstance(refusal, Refusal)
    said = "is not a workflow in JSON" if data else "does not exist"
    assert (refusal.code, refusal.message) == ("workflow", f"flow.json {said}.")


def test_an_operation_that_cannot_be_done_names_what_is_there():
    refusal = workflow_edit(PATH, json.dumps(FLOW).encode(), [{"op": "remove_node", "name": "Strat"}])
    assert "Start" in refusal.hint or "Start" in refusal.message
