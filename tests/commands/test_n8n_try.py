"""``ai-rails n8n try`` at the command line: as docs/n8n-try.md shows it, and what is wrong with what it is given."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest

from rails.cli import main
from rails.sandbox import probe
from rails.sandbox.view import Label

PAGE = (Path(__file__).parents[2] / "docs/n8n-try.md").read_text("utf-8")
FILES = re.findall(r"`(\w+\.json)`[^`]*```json\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name, text in FILES:
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("try", "Write: ai-rails n8n try FLOW.json"),
        ("try nowhere.json", "cannot be read"),
        ("try sample.json", "no n8n workflow"),
        ("try broken.json", "not JSON"),
        ("try orders.json --data broken.json", "not JSON"),
        ("try orders.json --start Large", 'Did you mean "Large?"'),
        ("try orders.json --now soon", "no date"),
        ("try orders.json --timezone Mars/Base", "no time zone"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(command, said, folder, capsys):
    (folder / "broken.json").write_text("{", "utf-8")
    assert main(["n8n", *command.split()]) == 2
    assert said in capsys.readouterr().err


def test_a_failing_node_makes_the_exit_code_one(folder, capsys):
    flow = json.loads((folder / "orders.json").read_text("utf-8"))
    flow["nodes"][1] |= {"type": "n8n-nodes-base.stopAndError", "parameters": {"errorMessage": "=No: {{ $json.id }}"}}
    (folder / "orders.json").write_text(json.dumps(flow), "utf-8")
    assert main(["n8n", "try", "orders.json", "--data", "sample.json"]) == 1
    assert "FAILED\n     No: 7\n" in capsys.readouterr().out


def test_another_workflow_is_found_beside_the_file_by_its_name(folder, capsys):
    call = {"workflowId": {"__rl": True, "mode": "name", "value": "Orders"}}
    nodes = [
        {"name": "Start", "type": "n8n-nodes-base.manualTrigger", "parameters": {}},
        {"name": "Call", "type": "n8n-nodes-base.executeWorkflow", "typeVersion": 1.1, "parameters": call},
    ]
    wires = {"Start": {"main": [[{"node": "Call", "type": "main", "index": 0}]]}}
    (folder / "main.json").write_text(json.dumps({"name": "Main", "nodes": nodes, "connections": wires}), "utf-8")
    assert main(["n8n", "try", "main.json", "--data", "sample.json"]) == 0
    assert 'the workflow "Orders" at its node "Tell the team"' in capsys.readouterr().out


def with_code(folder, written):
    flow = json.loads((folder / "orders.json").read_text("utf-8"))
    del flow["connections"]["Large?"]
    flow["nodes"][1] |= {"type": "n8n-nodes-base.code", "typeVersion": 2, "parameters": {"jsCode": written}}
    (folder / "orders.json").write_text(json.dumps(flow), "utf-8")
    return ["n8n", "try", "orders.json", "--data", "sample.json", "--run-code"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_where_nothing_contains_it_code_runs_with_node_only_after_a_typed_yes(folder, capsys, monkeypatch):
    monkeypatch.setattr("rails.sandbox.probe.label", lambda **_: Label(0, why="this test says so"))
    command = with_code(folder, "class A { get n() { return $input.all().length } }; return [{json: {n: new A().n}}]")
    for answer in ("", "y\n", "\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert main(command) == 2
        assert "Nothing was run" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(command) == 0
    assert '{"n":2}' in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.skipif(not probe.label().contained, reason="nothing contains commands here")
def test_code_runs_contained_and_sees_nothing_of_the_project(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    looks = "const fs = typeof require === 'undefined' ? process.getBuiltinModule('fs') : require('fs');"
    main(with_code(folder, f"{looks} return [{{json: {{seen: fs.existsSync({json.dumps(str(folder))})}}}}]"))
    assert '"seen":false' in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_all_code_together_is_bounded_in_time(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    monkeypatch.setattr("rails.commands.n8n_try._ALL_CODE_SECONDS", 0.0)
    assert main(with_code(folder, "return []")) == 1
    assert "bound" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_an_error_of_code_that_node_runs_is_the_node_s_error(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(with_code(folder, "throw new Error('no ' + $('Every morning').first().json.id)")) == 1
    assert "no 7" in capsys.readouterr().out
