"""n8n's own structural rules: its codes, its paths, and what it accepts."""

import copy
import json
from pathlib import Path

import pytest
from n8n_workflows import chain, errors, findings, node, rules, the_one, to, workflow

from tests.rows import walked

START = node("Start", "n8n-nodes-base.manualTrigger")


def broken(change):
    value = chain("Set fields", "Send")
    change(value)
    return value


# What is done to a sound workflow; then n8n's path and n8n's code (n8n-workflow 2.41, zod 3).
REFUSED = {
    "no nodes": (lambda w: w.pop("nodes"), "nodes", "invalid_type"),
    "nodes is an object": (lambda w: w.update(nodes={}), "nodes", "invalid_type"),
    "no connections": (lambda w: w.pop("connections"), "connections", "invalid_type"),
    "connections is a list": (lambda w: w.update(connections=[]), "connections", "invalid_type"),
    "node is null": (lambda w: w["nodes"].append(None), "nodes[3]", "invalid_type"),
    "node is a text": (lambda w: w["nodes"].append("Set"), "nodes[3]", "invalid_type"),
    "no name": (lambda w: w["nodes"].append({**node("x"), "name": None}), "nodes[3].name", "invalid_type"),
    "empty name": (lambda w: w["nodes"].append(node("")), "nodes[3].name", "too_small"),
    "no type": (lambda w: w["nodes"][1].pop("type"), "nodes[1].type", "invalid_type"),
    "empty type": (lambda w: w["nodes"][1].update(type=""), "nodes[1].type", "too_small"),
    "type is a number": (lambda w: w["nodes"][1].update(type=3), "nodes[1].type", "invalid_type"),
    "no position": (lambda w: w["nodes"][1].pop("position"), "nodes[1].position", "invalid_type"),
    "position x, y": (lambda w: w["nodes"][1].update(position={"x": 1, "y": 2}), "nodes[1].position", "invalid_type"),
    "one number": (lambda w: w["nodes"][1].update(position=[1]), "nodes[1].position", "too_small"),
    "three numbers": (lambda w: w["nodes"][1].update(position=[1, 2, 3]), "nodes[1].position", "too_big"),
    "position of texts": (lambda w: w["nodes"][1].update(position=[0, "2"]), "nodes[1].position[1]", "invalid_type"),
    "parameters is a list": (lambda w: w["nodes"][1].update(parameters=[]), "nodes[1].parameters", "invalid_type"),
    "parameters is null": (lambda w: w["nodes"][1].update(parameters=None), "nodes[1].parameters", "invalid_type"),
    "id is a number": (lambda w: w["nodes"][1].update(id=7), "nodes[1].id", "invalid_type"),
    "version is a text": (lambda w: w["nodes"][1].update(typeVersion="2"), "nodes[1].typeVersion", "invalid_type"),
    "disabled is a text": (lambda w: w["nodes"][1].update(disabled="no"), "nodes[1].disabled", "invalid_type"),
    "two of one name": (lambda w: w["nodes"].append(START | {"id": "z"}), "nodes[3].name", "duplicate_node_name"),
    "two of one id": (lambda w: w["nodes"][2].update(id="id-Start"), "nodes[2].id", "duplicate_node_id"),
    "source is null": (lambda w: w["connections"].update(Start=None), "connections.Start", "invalid_type"),
    "source is a list": (lambda w: w["connections"].update(Start=[]), "connections.Start", "invalid_type"),
    "output is null": (lambda w: w["connections"]["Start"].update(main=None), "connections.Start.main", "invalid_type"),
    "output is an object": (
        lambda w: w["connections"]["Start"].update(main={}),
        "connections.Start.main",
        "invalid_type",
    ),
    "flat list": (
        lambda w: w["connections"]["Start"].update(main=[to("Send")]),
        "connections.Start.main[0]",
        "invalid_type",
    ),
    "target is a text": (
        lambda w: w["connections"]["Start"].update(main=[["Send"]]),
        "connections.Start.main[0][0]",
        "invalid_type",
    ),
    "target without node": (
        lambda w: w["connections"]["Start"]["main"][0][0].pop("node"),
        "connections.Start.main[0][0].node",
        "invalid_type",
    ),
    "target type empty": (
        lambda w: w["connections"]["Start"]["main"][0][0].update(type=""),
        "connections.Start.main[0][0].type",
        "too_small",
    ),
    "no index": (
        lambda w: w["connections"]["Start"]["main"][0][0].pop("index"),
        "connections.Start.main[0][0].index",
        "invalid_type",
    ),
    "index is a text": (
        lambda w: w["connections"]["Start"]["main"][0][0].update(index="0"),
        "connections.Start.main[0][0].index",
        "invalid_type",
    ),
    "index is true": (
        lambda w: w["connections"]["Start"]["main"][0][0].update(index=True),
        "connections.Start.main[0][0].index",
        "invalid_type",
    ),
    "index is half": (
        lambda w: w["connections"]["Start"]["main"][0][0].update(index=0.5),
        "connections.Start.main[0][0].index",
        "invalid_type",
    ),
    "index is negative": (
        lambda w: w["connections"]["Start"]["main"][0][0].update(index=-1),
        "connections.Start.main[0][0].index",
        "too_small",
    ),
    "unknown source": (
        lambda w: w["connections"].update({"Stat": {"main": [[to("Send")]]}}),
        "connections.Stat",
        "unknown_connection_source",
    ),
    "unknown target": (
        lambda w: w["connections"]["Start"]["main"][0].append(to("Set field")),
        "connections.Start.main[0][1].node",
        "unknown_connection_target",
    ),
}


#: The rule, severity, line, column, message and remedy of each fault; read by a person when it changes.
WORDS = json.loads((Path(__file__).parent / "structure_words.json").read_text("utf-8"))


@walked("fault", REFUSED)
def test_what_n8n_refuses_is_one_error_with_its_path_and_code(fault):
    change, path, code = REFUSED[fault]
    found = [f for f in findings(broken(change)) if f.severity == "error"]
    assert [f.message.endswith(f"({code})") for f in found if f.json_path == path] == [True]
    assert [[f.rule, f.severity, f.line, f.column, f.message, f.remedy] for f in found] == WORDS[fault]


def choice(*outputs):
    """Start, then an If with these outputs."""
    nodes = [START, node("If", "n8n-nodes-base.if", 2), node("A")]
    return workflow(*nodes, connections={"Start": {"main": [[to("If")]]}, "If": {"main": list(outputs)}})


ACCEPTED = {
    "empty workflow": {"nodes": [], "connections": {}},
    "null output slots": choice(None, [to("A")]),
    "empty output slots": choice([], [to("A")]),
    "output without slots": chain("A") | {"connections": {"Start": {"main": [[to("A")]]}, "A": {"main": []}}},
    "no outputs at all": chain("A") | {"connections": {"Start": {"main": [[to("A")]]}, "A": {}}},
    "index as 1.0": chain("A") | {"connections": {"Start": {"main": [[to("A", index=0.0)]]}}},
    "nodes without ids": workflow({k: v for k, v in START.items() if k != "id"}),
    "two empty ids": workflow(START | {"id": ""}, node("A", id=""), connections={"Start": {"main": [[to("A")]]}}),
    "fractional position": workflow(START | {"position": [0.5, -10.25]}),
    "unknown keys": workflow(START | {"notes": "x", "color": 3}, meta={"instanceId": "x"}, pinData={}),
    "no parameters": workflow({k: v for k, v in START.items() if k != "parameters"}),
    "a loop": choice([to("A")], [to("If")]),
    "sub-nodes on ai outputs": workflow(
        START,
        node("Agent", "@n8n/n8n-nodes-langchain.agent", 1.7),
        node("Model", "@n8n/n8n-nodes-langchain.lmChatOpenAi", 1),
        connections={
            "Start": {"main": [[to("Agent")]]},
            "Model": {"ai_languageModel": [[to("Agent", "ai_languageModel")]]},
        },
    ),
    "a lone sticky note": workflow(START, node("Note", "n8n-nodes-base.stickyNote")),
    "a disabled node": chain("A") | {"nodes": [START, node("A", disabled=True)]},
}


def test_what_n8n_accepts_is_no_error():
    for name, value in ACCEPTED.items():
        assert errors(value) == [], name


def test_a_sound_workflow_has_no_findings_at_all():
    assert findings(chain("A", "B", "C")) == []


def test_a_dangling_connection_is_one_finding_that_names_the_nearest_node():
    value = chain("Set fields")
    value["connections"]["Start"]["main"][0][0]["node"] = "Set field"
    (found,) = findings(value)
    assert found.rule == "N8N025"
    assert found.remedy == 'Did you mean "Set fields"?'
    assert '"Set field"' in found.message
    assert '"Start"' in found.message


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("id-Set fields", "node id"), ("set-fields", "Set fields"), ("Something else", "Start")],
)
def test_the_remedy_for_a_wrong_target_knows_ids_spelling_and_the_list_of_nodes(wrong, said):
    value = chain("Set fields")
    value["connections"]["Start"]["main"][0][0]["node"] = wrong
    assert said in the_one(value, "N8N025").remedy


def test_connections_keyed_by_id_say_which_name_to_use():
    value = chain("A", "B")
    value["connections"]["id-A"] = value["connections"].pop("A")
    assert the_one(value, "N8N024").remedy == 'That is a node id. Connections use names: write "A".'


def test_the_finding_on_a_wrong_source_is_on_its_key():
    value = chain("A")
    value["connections"] = {"Strat": {"main": [[to("A")]]}}
    found = the_one(value, "N8N024")
    text = json.dumps(value, indent=2).splitlines()[found.line - 1]
    assert text[found.column - 1 : found.end_column - 1] == '"Strat"'


def test_a_file_with_several_workflows_is_checked_one_by_one():
    good = chain("A")
    bad = chain("A")
    bad["nodes"][1]["type"] = ""
    assert errors([good, bad]) == [("N8N012", "[1].nodes[1].type")]


@walked("data", [b"", b"{", b"nodes: []", b'{"a": NaN}', b"\xff\xfe", b'{"a": 1,}', b"\0"])
def test_what_is_not_json_is_one_finding(data):
    (found,) = findings(data)
    assert (found.rule, found.severity) == ("N8N001", "error")
    assert found.line == 1


@walked("value", [None, 3, "x", True, [], [[]], {}, {"nodes": []}, [None]])
def test_json_that_is_no_workflow_is_an_error(value):
    assert all(rule == "N8N002" for rule, _ in errors(value))
    assert errors(value)


def test_a_key_that_occurs_twice_is_shown_where_it_occurs_again():
    data = b'{"name": "x", "nodes": [], "connections": {},\n "nodes": []}'
    found = the_one(data, "N8N003")
    assert (found.line, found.column, found.severity) == (2, 2, "error")


def test_faults_do_not_hide_each_other():
    value = copy.deepcopy(chain("A", "B"))
    value["nodes"][0]["position"] = "left"
    value["nodes"][1]["disabled"] = 1
    value["connections"]["A"]["main"][0][0]["index"] = None
    assert sorted(rules(value)) == ["N8N013", "N8N017", "N8N023"]
