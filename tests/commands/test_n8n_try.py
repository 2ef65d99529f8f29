"""``ai-rails n8n try`` at the command line: as docs/n8n-try.md shows it, and what is wrong with what it is given."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest

from rails.cli import main
from rails.commands.n8n_try import NodeProcess
from rails.core.errors import CheckError
from rails.sandbox import probe
from rails.sandbox.view import Label

PAGE = (Path(__file__).parents[2] / "docs/n8n-try.md").read_text("utf-8")
NODE = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed: dry runs are NOT tested")
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
        ("try sample.json", "not an n8n workflow"),
        ("try broken.json", "not JSON"),
        ("try orders.json --data broken.json", "not JSON"),
        ("try orders.json --start Large", 'Did you mean "Large?"'),
        ("try orders.json --now soon", "not a date"),
        ("try orders.json --timezone Mars/Base", "not a time zone"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(command, said, folder, capsys):
    (folder / "broken.json").write_text("{", "utf-8")
    assert main(["n8n", *command.split()]) == 2
    assert said in capsys.readouterr().err


@NODE
def test_a_failing_node_makes_the_exit_code_one(folder, capsys):
    flow = json.loads((folder / "orders.json").read_text("utf-8"))
    flow["nodes"][1] |= {"type": "n8n-nodes-base.stopAndError", "parameters": {"errorMessage": "=No: {{ $json.id }}"}}
    (folder / "orders.json").write_text(json.dumps(flow), "utf-8")
    assert main(["n8n", "try", "orders.json", "--data", "sample.json"]) == 1
    assert "FAILED\n     No: 7\n" in capsys.readouterr().out


@NODE
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
    return ["n8n", "try", "orders.json", "--data", "sample.json"]


@NODE
def test_where_nothing_contains_it_node_runs_only_after_a_typed_yes(folder, capsys, monkeypatch):
    monkeypatch.setattr("rails.sandbox.probe.label", lambda **_: Label(0, why="this test says so"))
    command = with_code(folder, "class A { get n() { return $input.all().length } }; return [{json: {n: new A().n}}]")
    for answer in ("", "y\n", "\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert main(command) == 2
        assert "Nothing was run" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(command) == 0
    assert '{"n":2}' in capsys.readouterr().out


@NODE
def test_a_yes_is_for_the_whole_dry_run_also_where_code_ends_its_process(folder, capsys, monkeypatch):
    monkeypatch.setattr("rails.sandbox.probe.label", lambda **_: Label(0, why="this test says so"))
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    command = with_code(folder, "return [{json: {s: 'x'.repeat(5e8)}}]")
    flow = json.loads((folder / "orders.json").read_text("utf-8"))
    flow["nodes"][2]["parameters"]["assignments"]["assignments"][0]["value"] = "=Next {{ 1 + 1 }}"
    flow["connections"]["Every morning"]["main"][0].append({"node": "Name it", "type": "main", "index": 0})
    (folder / "orders.json").write_text(json.dumps(flow), "utf-8")
    assert main(command) == 1
    said = capsys.readouterr()
    assert "ended at its bound" in said.out
    assert "Next 2" in said.out
    assert said.err.count("Type yes") == 1


@NODE
@pytest.mark.skipif(not probe.label().contained, reason="nothing contains commands here")
def test_node_is_contained_and_sees_nothing_of_the_project(folder, monkeypatch):
    """Its program is replaced by one that looks around, as code would that got out of its context."""
    program = folder / "looks.cjs"
    seen = f"require('fs').existsSync({json.dumps(str(folder / 'orders.json'))})"
    program.write_text(f"process.stdin.once('data', () => console.log({seen}, process.env.HOME))")
    monkeypatch.setattr("rails.commands.n8n_try.PROGRAM", program)
    node = NodeProcess("x")
    with node.close:
        assert node.ask(b"look\n", 60).split()[0] == b"false"


@NODE
def test_a_process_that_floods_its_output_is_ended(folder, monkeypatch):
    program = folder / "floods.cjs"
    program.write_text("process.stdin.once('data', () => { for (;;) require('fs').writeSync(1, 'x'.repeat(65536)) })")
    monkeypatch.setattr("rails.commands.n8n_try.PROGRAM", program)
    monkeypatch.setattr("rails.commands.n8n_try._LONGEST_LINE", 100_000)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    node = NodeProcess("x")
    with node.close, pytest.raises(CheckError):
        node.ask(b"go\n", 60)


@NODE
def test_an_error_of_code_is_the_node_s_error(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(with_code(folder, "throw new Error('no ' + $('Every morning').first().json.id)")) == 1
    assert "no 7" in capsys.readouterr().out


def test_without_node_plain_values_are_tried_and_one_sentence_says_what_to_install(folder, capsys, monkeypatch):
    monkeypatch.setattr("rails.commands.n8n_try.find_node", lambda _: None)
    assert main(["n8n", "try", "orders.json", "--data", "sample.json"]) == 3
    said = capsys.readouterr()
    assert "Large? (if)  NOT MODELLED" in said.out
    assert "install Node.js" in said.err
    assert "plain values" in said.err
    flow = json.loads((folder / "orders.json").read_text("utf-8"))
    flow["nodes"][1]["parameters"]["conditions"]["conditions"][0]["leftValue"] = 7
    del flow["connections"]["Name it"], flow["connections"]["Tell the team"]
    flow["connections"]["Large?"]["main"] = [[], [{"node": "Mark as sent", "type": "main", "index": 0}]]
    (folder / "orders.json").write_text(json.dumps(flow), "utf-8")
    assert main(["n8n", "try", "orders.json", "--data", "sample.json"]) == 0
    assert "false: 2 items" in capsys.readouterr().out
