"""What an agent's answer holds without a tool request is output, too: checked, shown, and written only with a yes."""

import json

import pytest

from tests.session.workflows import node, workflow

WORKFLOW = workflow("Hello", node(1, "Start", "manualTrigger"))
CODE = '"""A module."""\n\nVALUE = 1\n'


@pytest.mark.parametrize(
    "answer",
    [
        f"Here it is:\n\n```python src/a.py\n{CODE}```\n",
        f'Here it is:\n\n```python title="src/a.py"\n{CODE}```\n',
        f"### src/a.py\n\n```python\n{CODE}```\n",
        f"Here it is:\n\n```python\n# src/a.py\n{CODE}```\n",
    ],
    ids=["info", "title", "heading", "comment"],
)
def test_c12_01_a_code_block_that_names_its_file_is_gated_and_proposed(work, answer):
    done = work(answer, "Done.", approvals=["approve"])
    assert VALUE in (work.project / "src/a.py").read_text("utf-8")
    assert [event["status"] for event in done.events("GATE_VERDICT")] == ["pass"]


VALUE = "VALUE = 1"


def test_c12_01_a_block_that_fails_the_gate_goes_back_and_is_not_written(work):
    bad = "```python src/a.py\nprint(undefined_name)\n```\n"
    done = work(bad, f"```python src/a.py\n{CODE}```\n", "Done.", approvals=["approve"])
    assert "failed linting" in done.told[0]
    assert (work.project / "src/a.py").read_text("utf-8") == CODE


def test_c12_01_nothing_of_it_is_written_without_a_yes(work):
    work(f"```python src/a.py\n{CODE}```\n", "Then not.", approvals=["deny: no"])
    assert not (work.project / "src/a.py").exists()


def test_c13_01_a_workflow_beside_instructions_is_gated_and_proposed(work):
    answer = f"Import it so.\n\n```json hello.json\n{json.dumps(WORKFLOW)}\n```\n\n1. Open n8n.\n2. Import.\n"
    work(answer, "Done.", tasks=(("n8n-flow-creator", "say hello"),), approvals=["approve"])
    assert json.loads((work.project / "hello.json").read_text("utf-8"))["name"] == "Hello"


def test_c13_01_a_workflow_that_n8n_would_refuse_goes_back_with_n8ns_own_words(work):
    broken = {**WORKFLOW, "connections": {"Nowhere": {"main": [[{"node": "Start", "type": "main", "index": 0}]]}}}
    answer = f"```json hello.json\n{json.dumps(broken)}\n```\n"
    done = work(answer, "Then not.", tasks=(("n8n-flow-creator", "say hello"),))
    assert "unknown_connection_source" in done.told[0]
    assert not (work.project / "hello.json").exists()


def test_c13_01_a_workflow_without_a_files_name_gets_its_own_and_one_without_a_name_is_told(work):
    fenced = "Import it so.\n\n```json\n{}\n```\n\n1. Open n8n.\n"
    named = fenced.format(json.dumps({**WORKFLOW, "name": "Say / hello"}))
    unnamed = {**WORKFLOW}
    del unnamed["name"]
    role = (("n8n-flow-creator", "say hello"),)
    done = work(fenced.format(json.dumps(unnamed)), named, "Done.", tasks=role, approvals=["approve"])
    assert "n8n workflow: it has no name, so its file has none" in done.told[0]
    assert json.loads((work.project / "Say-hello.json").read_text("utf-8"))["name"] == "Say / hello"


def test_c13_01_a_broken_workflow_without_a_files_name_goes_back(work):
    broken = {**WORKFLOW, "connections": {"Nowhere": {"main": [[{"node": "Start", "type": "main", "index": 0}]]}}}
    done = work(f"```json\n{json.dumps(broken)}\n```\n", "Then not.", tasks=(("n8n-flow-creator", "say hello"),))
    assert "unknown_connection_source" in done.told[0]
    assert list(work.project.glob("*.json")) == []
