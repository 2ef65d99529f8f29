"""n8n workflows in the gate: lists of them, repeated keys, n8n's own form, and what a change means."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import rails


@pytest.fixture(autouse=True)
def names_only(monkeypatch, tmp_path):
    monkeypatch.setenv("AI_RAILS_N8N_CATALOGUE", str(tmp_path / "none"))


def node(name, kind="noOp", **more):
    placed = {"type": f"n8n-nodes-base.{kind}", "typeVersion": 1, "position": [0, 0], "id": f"id-{name}", "name": name}
    return {"parameters": {}, **placed, **more}


def flow(*nodes, **more):
    wires = {a["name"]: {"main": [[{"node": b["name"], "type": "main", "index": 0}]]} for a, b in pairwise(nodes)}
    return {"name": "F", "nodes": list(nodes), "connections": wires, "settings": {}, **more}


SOUND = flow(node("Start", "manualTrigger"), node("End"))


def text(value, **more):
    return json.dumps(value, indent=2, ensure_ascii=False, **more) + "\n"


def errors(verdict):
    return [(f.rule, f.json_path) for f in verdict.findings if f.severity == "error"]


def test_each_workflow_of_an_export_is_judged_with_its_place(world):
    broken = json.loads(text(SOUND).replace('"node": "End"', '"node": "Edn"'))
    verdict = world.judge(("all.json", text([SOUND, broken])))
    assert errors(verdict) == [("N8N025", "[1].connections.Start.main[0][0].node")]
    (found,) = (f for f in verdict.findings if f.severity == "error")
    assert text([SOUND, broken]).split("\n")[found.line - 1].strip() == '"node": "Edn",'


def test_one_thing_in_a_list_that_is_no_workflow_is_told(world):
    assert errors(world.judge(("all.json", text([SOUND, 7, "x"])))) == [("N8N002", "[1]"), ("N8N002", "[2]")]


@pytest.mark.parametrize("other", ['[1, {"nodes": 2}]', '{"nodes": [], "edges": []}', "[]", '[{"connections": {}}]'])
def test_other_lists_and_graphs_are_not_workflows(world, other):
    assert world.judge(("other.json", other)).status == "pass"


def test_a_repeated_key_is_a_finding_and_the_last_value_is_judged(world):
    data = text(SOUND)[:-3] + ',\n  "connections": {"Start": null}\n}\n'
    verdict = world.judge(("flow.json", data))
    assert errors(verdict) == [("N8N003", "connections"), ("N8N020", "connections.Start")]
    assert [f.rule for f in verdict.findings].count("json-duplicate-key") == 0
    assert world.judge(("flow.json", data)).proposal.changes[0].after == data.encode()


def test_a_proposed_workflow_is_put_into_n8ns_form_and_completed(world):
    value = flow(node("Hook", "webhook", parameters={"path": "x", "b": [1.0, "é"]}), node("Next"))
    for one in value["nodes"]:
        del one["id"], one["position"]
    verdict = world.judge(("flow.json", json.dumps(dict(reversed(value.items())))))
    made = json.loads(verdict.proposal.changes[0].after)
    assert verdict.status == "pass"
    assert list(made) == ["name", "nodes", "connections", "settings"]
    assert [one["parameters"] for one in made["nodes"]] == [one["parameters"] for one in value["nodes"]]
    assert {(f.rule, f.count) for f in verdict.fixed} == {
        ("missing id", 2), ("missing position", 2), ("missing webhookId", 1)
    }  # fmt: skip


def test_a_small_edit_of_a_file_in_another_form_stays_small(world):
    old = json.dumps(SOUND)
    verdict = world.judge(("flow.json", old, old.replace('"End"', '"Last"')))
    assert verdict.proposal.changes[0].after == old.replace('"End"', '"Last"').encode()
    assert verdict.fixed == ()


def test_fix_formats_what_is_on_disk_and_only_fix_does(world):
    world.put("flow.json", json.dumps([SOUND]))
    assert world.check("flow.json").proposal.changes == ()
    (change,) = world.check("flow.json", fix=True).proposal.changes
    assert change.after == text([SOUND]).rstrip("\n").encode()
    world.put("flow.json", change.after)
    assert world.check("flow.json", fix=True).proposal.changes == ()


def test_the_verdict_says_what_a_change_of_a_workflow_means(world):
    new = flow(node("Start", "manualTrigger"), node("Between"), node("End"))
    (outline,) = world.judge(("flow.json", text(SOUND), text(new)), ("a.json", '{"nodes": 1}')).outlines
    assert outline.path == "flow.json"
    assert outline.title == "1 node added; 2 wires added, 1 removed"
    assert outline.drawing["compared"] is True
    assert world.judge(("a.py", "x = 1\n")).outlines == ()


def test_a_removed_workflow_is_told_too(world):
    from rails.core.changes import ChangeSet, FileChange
    from rails.core.paths import WorkspacePath

    change = FileChange(WorkspacePath("flow.json"), text(SOUND).encode(), None)
    assert world.gate.judge(ChangeSet((change,))).outlines[0].title == "2 nodes removed; 1 wire removed"


def test_without_a_catalogue_it_is_said_that_parameters_were_not_judged(world):
    (skipped,) = world.judge(("flow.json", text(SOUND))).not_checked
    assert (skipped.path, skipped.check, skipped.required) == ("flow.json", "n8n parameters", False)
    assert "ai-rails n8n catalogue" in skipped.reason


def test_reports_for_programs_carry_the_json_path_the_remedy_and_the_rules_reason(world):
    from rails.gate.report.text import render

    verdict = world.judge(("flow.json", text(SOUND).replace('"node": "End"', '"node": "Edn"')))
    (found,) = json.loads(render(verdict, "json"))["findings"]
    assert found["json_path"] == "connections.Start.main[0][0].node"
    assert found["remedy"] == 'Did you mean "End"?'
    (rule,) = json.loads(render(verdict, "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "Connections end at a node that exists."


def test_a_warning_is_called_one(world):
    from rails.gate.report.text import render

    lone = flow(node("Start", "manualTrigger"))
    lone["nodes"].append(node("Lone"))
    assert "N8N037 warning: No trigger leads to" in render(world.judge(("flow.json", text(lone))), "text")


@pytest.mark.parametrize("value", [{"nodes": {}}, {"nodes": None, "connections": {}}, {"name": "x", "nodes": []}])
def test_what_should_be_a_workflow_is_judged_as_one(world, value):
    verdict = world.judge(("flows/digest.json", text(value)))
    assert verdict.status == "fail"
    assert {rule[:3] for rule, _ in errors(verdict)} == {"N8N"}


def test_a_schema_of_the_users_is_applied_to_a_workflow_too(world):
    world.put(".rails.toml", '[[gate.schema]]\npath = "flows/*.json"\nschema = "schemas/flow.json"\n')
    world.put("schemas/flow.json", text({"properties": {"name": {"pattern": "^[a-z]+$"}}, "required": ["tags"]}))
    verdict = world.judge(("flows/digest.json", text(SOUND)))
    assert [(rule, place) for rule, place in errors(verdict) if not rule.startswith("N8N")] != []
    assert world.judge(("other/digest.json", text(SOUND))).status == "pass"
    sound = {**SOUND, "name": "digest", "tags": []}
    assert errors(world.judge(("flows/digest.json", text(sound)))) == []


def test_c13_10_the_gate_and_its_n8n_rules_have_no_way_to_reach_a_server():
    """Nothing is ever deployed: what judges workflows imports nothing that could send one anywhere."""
    network = re.compile(
        r"^\s*(?:import|from)\s+(?:urllib\.request|http|socket|ssl|httpx|requests|aiohttp)\b", re.MULTILINE
    )
    for package in ("gate", "n8n"):
        for file in (Path(rails.__file__).parent / package).rglob("*.py"):
            assert not network.search(file.read_text("utf-8")), file
