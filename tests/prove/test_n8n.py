"""Values are judged as n8n's own packages judge them: schedules, assignments, JSON texts, filters.

``npm install --ignore-scripts n8n-workflow cron`` in a folder, whose ``node_modules`` ``AI_RAILS_N8N_MODULES`` names.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from rails.n8n.check import check_workflow
from rails.n8n.rules.schedules import cron_fault

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "n8n"))

from n8n_workflows import node, to, workflow  # noqa: E402 - beside the tests of n8n

MODULES = os.environ.get("AI_RAILS_N8N_MODULES", "")
COUNT = int(os.environ.get("PROVE_COUNT", "3000"))
pytestmark = pytest.mark.skipif(not MODULES, reason="AI_RAILS_N8N_MODULES names no node_modules folder")


def taken_by_n8n(cases):
    command = ["node", str(HERE / "n8n_values.js"), MODULES]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def rules_of(type, version, parameters):
    value = workflow(
        node("Start", "n8n-nodes-base.manualTrigger"),
        node("Node", f"n8n-nodes-base.{type}", version, parameters=parameters),
        connections={"Start": {"main": [[to("Node")]]}},
    )
    return {found.rule for found in check_workflow(json.dumps(value).encode(), "a.json")}


def other_than_n8n(cases, is_fine):
    verdicts = taken_by_n8n(cases)
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9
    return [(case, taken) for case, taken in zip(cases, verdicts, strict=True) if is_fine(case[1]) != taken]


def test_a_schedule_can_be_where_the_package_cron_takes_it():
    rng = random.Random(1)
    pieces = [
        "*",
        "*/5",
        "0",
        "9",
        "59",
        "60",
        "24",
        "7",
        "8",
        "1-5",
        "5-1",
        "mon",
        "jan",
        "mon-fri",
        "1,15",
        "L",
        "?",
        "*/0",
    ]
    names = ["@daily", "@hourly", "@reboot", "every day", "", "* * * *"]
    made = [" ".join(rng.choices(pieces, (8, 5, 5, 4, *[1] * 14), k=rng.choice([4, 5, 5, 5, 6]))) for _ in range(COUNT)]
    assert other_than_n8n([["cron", text] for text in [*names, *made]], lambda text: not cron_fault(text)) == []


def test_an_assignment_has_its_type_where_n8n_takes_the_value():
    rng = random.Random(2)
    values = '["1","-1.5","1e3",".5","0x1f","1,5","abc","true","FALSE","yes","1a","[1]","[\'a\']","{}","{\\"a\\": 1}",'
    values = json.loads(values + '"a,b", ""," ",true,false,0,1,5,1.5,null,[1],{"a": 1}]')
    cases = [["field", [rng.choice(["number", "boolean", "array", "object"]), rng.choice(values)]] for _ in range(200)]

    def is_fine(given):
        rows = {"assignments": [{"id": "1", "name": "a", "type": given[0], "value": given[1]}]}
        return "N8N055" not in rules_of("set", 3.4, {"assignments": rows, "options": {}})

    assert other_than_n8n(cases, is_fine) == []


def test_a_text_is_json_where_javascript_parses_it():
    rng = random.Random(3)
    tokens = ["{", "}", "[", "]", ",", ":", '"a"', "1", "null", "NaN", "'b'", "-", "01", "//x", "{}", '{"a": 1}']
    cases = [["json", "".join(rng.choices(tokens, k=rng.randint(1, 3)))] for _ in range(400)]
    body = {"method": "POST", "url": "https://e.org", "sendBody": True, "specifyBody": "json"}
    assert (
        other_than_n8n(cases, lambda text: "N8N075" not in rules_of("httpRequest", 4.2, {**body, "jsonBody": text}))
        == []
    )


def test_a_filter_is_right_where_one_that_holds_is_true():
    rng = random.Random(4)
    operators = [
        {"type": "string", "operation": "equals"},
        {"type": "string", "operation": "=="},
        {"type": "text", "operation": "equals"},
    ]
    conditions = [
        {"leftValue": "x", "rightValue": "x", "operator": one} for one in (*[operators[0]] * 6, *operators, "equals")
    ]
    options = {"caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 2}
    cases = []
    for _ in range(300):
        given = rng.choice([[rng.choice(conditions)], [rng.choice(conditions)], rng.choice(conditions), "x"])
        value = {"conditions": given, "combinator": rng.choice(["and", "and", "or", "AND", "all"]), "options": options}
        cases.append(["filter", {name: one for name, one in value.items() if rng.random() < 0.93}])

    def is_fine(value):
        return not rules_of("if", 2.2, {"conditions": value, "options": {}}) & {"N8N055", "N8N057"}

    assert other_than_n8n(cases, is_fine) == []
