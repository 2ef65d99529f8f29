"""Values are judged by their shape: filters, assignments, JSON, workflow ids, schedules, settings of nodes."""

import json

import pytest
from n8n_workflows import findings, node, to, workflow

from rails.n8n.formatting import tidied
from rails.n8n.rules.schedules import cron_fault
from tests.rows import walked

OPERATOR = {"type": "string", "operation": "equals"}
CONDITION = {"leftValue": "={{ $json.a }}", "rightValue": "x", "operator": OPERATOR}
FILTER = {"conditions": [CONDITION], "combinator": "and", "options": {"version": 2}}


def flow(type, version, profile="import", **parameters):
    return workflow(
        node("Start", "n8n-nodes-base.manualTrigger"),
        node("Node", type if "." in type else f"n8n-nodes-base.{type}", version, parameters=parameters),
        connections={"Start": {"main": [[to("Node")]]}},
    )


def told(value, profile="import"):
    return [(f.rule, f.severity) for f in findings(value, profile) if f.severity != "info"]


def repaired(value):
    data, _ = tidied(json.dumps(value).encode(), "flow.json")
    return json.loads(data)["nodes"][1]


def changed(**more):
    return {name: one for name, one in {**FILTER, **more}.items() if one is not None}


@walked(
    ("value", "expected"),
    [
        (FILTER, []),
        (changed(combinator="AND"), [("N8N057", "error")]),
        (changed(combinator="all"), [("N8N057", "error")]),
        (changed(combinator="={{ $json.how }}"), []),
        (changed(combinator=None), [("N8N057", "warning")]),
        (changed(options=None), [("N8N057", "warning")]),
        (changed(combinator=None, options=None), [("N8N057", "warning")]),
        (changed(conditions=CONDITION), [("N8N055", "error")]),
        (changed(conditions="a"), [("N8N055", "error")]),
        (changed(conditions=["a"]), [("N8N057", "error")]),
        (changed(conditions=[{"leftValue": 1}]), [("N8N057", "error")]),
        (changed(conditions=[]), []),
        ([CONDITION], [("N8N055", "error")]),
        ("={{ $json.filter }}", []),
    ],
)
@walked("type", ["if", "filter"])
def test_a_filter_has_a_list_of_conditions_a_combinator_and_options(type, value, expected):
    assert told(flow(type, 2.2, conditions=value)) == expected


def test_the_rules_of_switch_are_filters():
    rules = {"values": [{"conditions": FILTER}, {"conditions": changed(options=None)}]}
    (found,) = [f for f in findings(flow("switch", 3.2, rules=rules)) if f.severity != "info"]
    assert (found.rule, found.json_path) == ("N8N057", "nodes[1].parameters.rules.values[1].conditions")


@pytest.mark.parametrize(
    "value",
    [changed(combinator=" Or "), changed(combinator=None), changed(options=None), changed(conditions=CONDITION)],
)
def test_a_filter_with_one_sound_form_is_repaired(value):
    sound = repaired(flow("if", 2.2, conditions=value))["parameters"]["conditions"]
    assert told(flow("if", 2.2, conditions=sound)) == []
    assert sound["conditions"] == [CONDITION]


ROW = {"name": "a", "type": "string", "value": "b"}


def test_assignments_are_a_list_of_objects_with_names():
    for value, is_sound in [
        ({"assignments": [ROW]}, True),
        ({"assignments": []}, True),
        ({}, True),
        ("={{ $json.fields }}", True),
        ({"assignments": ROW}, False),
        ({"assignments": {"one": ROW}}, False),
        ({"assignments": ["a"]}, False),
        ({"assignments": [{"value": "b"}]}, False),
        ({"assignments": "a"}, False),
        ([ROW], False),
    ]:
        assert told(flow("set", 3.4, assignments=value)) == ([] if is_sound else [("N8N055", "error")]), value


BODY = {"url": "https://e.org", "sendBody": True, "specifyBody": "json"}


def test_a_text_that_n8n_parses_as_json_is_json():
    for text, is_sound in [
        ('{"a": 1}', True),
        ("[1]", True),
        ("", True),
        ("={{ $json.a }}", True),
        ('={"a": {{ $json.a }}, {{ $json.more }} }', True),
        ('{"a": 1,}', False),
        ('{"a": NaN}', False),
        ("{'a': 1}", False),
        ("{a: 1}", False),
        ('{"a": 1} // one', False),
        ('{"a": undefined}', False),
        ('{"a": True}', False),
        ('```json\n{"a": 1}\n```', False),
    ]:
        assert told(flow("httpRequest", 4.2, **BODY, jsonBody=text)) == ([] if is_sound else [("N8N075", "error")]), (
            text
        )


def test_which_texts_are_json_is_known_of_these_nodes():
    for type, version, parameters in [
        ("httpRequest", 4.2, {"sendHeaders": True, "specifyHeaders": "json", "jsonHeaders": "{a}"}),
        ("httpRequest", 4.2, {"sendQuery": True, "specifyQuery": "json", "jsonQuery": "{a}"}),
        ("respondToWebhook", 1.1, {"respondWith": "json", "responseBody": "{a}"}),
        ("stopAndError", 1, {"errorType": "errorObject", "errorObject": "{a}"}),
        ("executeWorkflow", 1.2, {"source": "parameter", "workflowJson": "{a}"}),
        ("set", 3.4, {"mode": "raw", "jsonOutput": "[1]"}),
    ]:
        assert ("N8N075", "error") in told(flow(type, version, **parameters)), type


def test_a_json_text_that_another_choice_leaves_unread_is_not_judged():
    assert told(flow("httpRequest", 4.2, url="https://e.org", specifyBody="keypair", jsonBody="{a}")) == []
    assert told(flow("set", 3.4, mode="raw", jsonOutput='{"a": 1,}')) == [("N8N075", "warning")]  # n8n repairs it


@pytest.mark.parametrize(
    ("type", "version", "is_sound"),
    [
        ("executeWorkflow", 1, True),
        ("executeWorkflow", 1.1, False),
        ("executeWorkflow", 1.3, False),
        ("@n8n/n8n-nodes-langchain.toolWorkflow", 1.1, True),
        ("@n8n/n8n-nodes-langchain.toolWorkflow", 2, False),
        ("@n8n/n8n-nodes-langchain.retrieverWorkflow", 1.1, False),
    ],
)
def test_a_workflow_is_named_by_a_locator_from_a_version_on(type, version, is_sound):
    assert (("N8N056", "error") not in told(flow(type, version, workflowId="abc"))) == is_sound


def test_a_workflow_that_is_named_by_an_expression_or_written_out():
    assert told(flow("executeWorkflow", 1.2, workflowId="={{ $json.id }}")) == [("N8N056", "warning")]
    assert ("N8N056", "error") not in told(flow("executeWorkflow", 1.2, source="localFile", workflowId="abc"))


def test_a_text_with_expressions_that_can_be_no_json_is_a_warning():
    for text in ['={"a": {{ $json.a }},}', "={'a': {{ $json.a }}}", "=[{{ $json.a }}"]:
        assert told(flow("httpRequest", 4.2, **BODY, jsonBody=text)) == [("N8N075", "warning")], text


@walked(
    ("type", "value", "is_sound"),
    [("number", "abc", False), ("number", "-1.5e3", True), ("boolean", "yes", False), ("boolean", "False", True),
     ("array", "a,b", False), ("array", "['a']", True), ("object", "x", False), ("object", "{a: 1}", True),
     ("string", "x", True), ("number", "={{ $json.a }}", True), ("number", "", True),
     ("array", 5, False), ("number", True, True), ("array", "[a]", False)],
)  # fmt: skip
def test_an_assignment_has_a_value_of_its_type(type, value, is_sound):
    """As ``validateFieldType`` of n8n-workflow 2.41 has it; with ``ignoreConversionErrors`` nothing fails."""
    rows = {"assignments": [{"id": "1", "name": "a", "type": type, "value": value}]}
    assert told(flow("set", 3.4, assignments=rows, options={})) == ([] if is_sound else [("N8N055", "error")])
    assert told(flow("set", 3.4, assignments=rows, options={"ignoreConversionErrors": True})) == []


@pytest.mark.parametrize(
    ("field", "every", "is_sound"), [("hours", 24, False), ("minutes", 0, False), ("days", 31, True)]
)
def test_a_schedule_has_an_interval_that_n8n_takes(field, every, is_sound):
    rule = {"interval": [{"field": field, f"{field}Interval": every}]}
    assert (("N8N084", "warning") not in told(flow("scheduleTrigger", 1.3, rule=rule))) == is_sound
    assert ("N8N084", "warning") not in told(flow("scheduleTrigger", 1.2, rule=rule))


#: What the package cron 4.3 says of each (``new CronTime(…)``).
SOUND = [
    "0 9 * * 1",
    "0 0 9 * * 1",
    "*/5 * * * *",
    "0 9 * * mon-fri",
    "0 9 * jan *",
    "0 9 * * 7",
    "0  9 * * *",
    "@daily",
]
SOUND += ["@secondly", "5/2 * * * *", "1,2-3/2 * * * *", "*/99 * * * *", " 0 9 * * *", "0 9 29 2 *"]
BROKEN = ["0 99 * *", "60 * * * *", "0 24 * * *", "0 9 0 * *", "0 9 * 13 *", "0 9 * * 8", "0 9 * * 5-2", "0 9 L * *"]
BROKEN += ["every day", "0 9 ? * *", "*/0 * * * *", "0 9 * * MON#1", "-5 * * * *", "0 9 * * 1 2026", "0 9 * * sunday"]


def test_a_schedule_is_judged_as_the_package_of_n8n_judges_it():
    for text, is_sound in [*((one, True) for one in SOUND), *((one, False) for one in BROKEN)]:
        assert (cron_fault(text) == "") == is_sound, text


def trigger(type, version, **parameters):
    nodes = [node("Go", f"n8n-nodes-base.{type}", version, parameters=parameters), node("End")]
    return workflow(*nodes, connections={"Go": {"main": [[to("End")]]}})


def test_the_numbers_and_expressions_of_every_kind_of_schedule_are_judged():
    """Those of polling triggers, too, and what is no list of rows."""
    wrong = [
        {"rule": {"interval": [row]}}
        for row in (
            {"triggerAtHour": 25},
            {"field": "weeks", "triggerAtDay": ["monday"]},
            {"field": "cronExpression"},
        )
    ]
    wrong += [{"rule": {"interval": {"field": "hours"}}}, {"rule": "0 9 * * *"}]
    for parameters in wrong:
        assert ("N8N084", "warning") in told(trigger("scheduleTrigger", 1.2, **parameters)), parameters
    for row in ({"mode": "custom", "cronExpression": "every hour"}, {"mode": "everyDay", "hour": 24}):
        assert ("N8N084", "warning") in told(trigger("gmailTrigger", 1.2, pollTimes={"item": [row]})), row
    for row in ({}, {"field": "weeks", "triggerAtDay": [1, 5]}, {"triggerAtHour": "={{ 1 }}"}, {"triggerAtHour": 9.0}):
        assert told(trigger("scheduleTrigger", 1.2, rule={"interval": [row]})) == [], row


def test_a_filter_or_a_rule_that_compares_nothing_is_a_warning():
    for value in (
        flow("if", 2.2, options={}),
        flow("filter", 2.2),
        flow("switch", 3.2, rules={"values": [{"outputKey": "a"}]}),
    ):
        assert told(value) == [("N8N057", "warning")]
    assert told(flow("switch", 3.2, rules={"values": ["a"]})) == [("N8N055", "error")]
    old = {"rules": [{"operation": "equal", "value2": "a", "output": 0}]}
    assert told(flow("switch", 3.2, rules=old)) == [("N8N055", "error")]
    assert told(flow("switch", 2, rules=old)) == []


def test_a_name_of_a_setting_is_no_error_where_it_may_be_a_parameter_and_stays():
    for value, severities in [
        (flow("slack", 2.2, otherOptions={"retryOnFail": True}), ["warning"]),
        (flow("hubspot", 2.1, additionalFields={"notes": "a"}), []),
        (flow("n8n-nodes-acme.acme", 1, maxTries=3, typeVersion=1, credentials={"a": {}}), ["warning"] * 2),
        (flow("n8n-nodes-acme.acme", 1, options={"webhookId": "a"}), []),
        (flow("executeCommand", 1, executeOnce=True), []),
    ]:
        assert [severity for rule, severity in told(value) if rule == "N8N059"] == severities, value
        assert repaired(value)["parameters"] == value["nodes"][1]["parameters"]


def test_a_schedule_that_cannot_be_is_a_warning_and_stops_publishing():
    rule = {"interval": [{"field": "days"}, {"field": "cronExpression", "expression": "0 99 * * *"}]}
    value = workflow(node("Start", "n8n-nodes-base.scheduleTrigger", 1.2, parameters={"rule": rule}))
    (found,) = [f for f in findings(value) if f.rule == "N8N084"]
    assert (found.severity, found.json_path) == ("warning", "nodes[0].parameters.rule.interval[1].expression")
    assert ("N8N084", "error") in told(value, "publish")


@walked(
    ("name", "value", "is_moved"),
    [("onError", "continueRegularOutput", True), ("notes", "A", True), ("typeVersion", 4.1, True),
     ("disabled", True, False), ("onError", True, False), ("maxTries", "3", False), ("typeVersion", 99, False)],
)  # fmt: skip
def test_a_setting_inside_the_parameters_is_an_error_and_is_moved_if_it_can_be_meant(name, value, is_moved):
    broken = flow("httpRequest", 4.2, url="https://e.org", **{name: value})
    broken["nodes"][1].pop(name, None)
    assert ("N8N059", "error") in told(broken)
    made = repaired(broken)
    assert (made if is_moved else made["parameters"])[name] == value
    assert (name in made["parameters"]) != is_moved


@walked(
    ("text", "is_text"),
    [
        ("$json.y", True),
        ("$('Start').item.json.a", True),
        ("$node['A'].json.x", True),
        ('$node["A"].json["x y"]', True),
        ("={ $json.x }", True),
        ("=$json.x", True),
        (" $input.first().json.a ", True),
        ("={{ $json.y }}", False),
        ("costs $json", False),
        ("= plain", False),
    ],
)
def test_a_value_that_reads_as_an_expression_and_is_a_text_is_a_warning(text, is_text):
    value = flow("set", 3.4, assignments={"assignments": [{**ROW, "value": text}]})
    assert (("N8N063", "warning") in told(value)) == is_text


def test_the_body_of_a_loop_hangs_on_the_output_that_loops():
    def looped(version, body):
        loop = node("Loop", "n8n-nodes-base.splitInBatches", version)
        outputs = [[], []]
        outputs[body] = [to("Body")]
        return workflow(
            node("Start", "n8n-nodes-base.manualTrigger"),
            loop,
            node("Body"),
            connections={
                "Start": {"main": [[to("Loop")]]},
                "Loop": {"main": outputs},
                "Body": {"main": [[to("Loop")]]},
            },
        )

    assert [told(looped(*one)) for one in ((3, 1), (1, 0))] == [[], []]
    assert [told(looped(*one)) for one in ((3, 0), (2, 1))] == [[("N8N048", "warning")]] * 2
    both = looped(3, 1)
    both["connections"]["Loop"]["main"][0] = [to("Body")]
    assert told(both) == []
    ends = looped(3, 1)
    del ends["connections"]["Body"]
    assert told(ends) == [("N8N048", "warning")]


def test_from_ai_has_a_value_in_tools_only():
    def asked(type):
        return flow(type, 4.2, url="={{ $fromAI('place') }}")

    assert ("N8N067", "warning") in told(asked("httpRequest"))
    assert ("N8N067", "warning") not in told(asked("httpRequestTool"))
    wired = asked("httpRequest")
    wired["connections"]["Node"] = {"ai_tool": [[to("Agent", "ai_tool")]]}
    wired["nodes"].append(node("Agent", "@n8n/n8n-nodes-langchain.agent", 2))
    assert ("N8N067", "warning") not in told(wired)
