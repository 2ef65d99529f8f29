"""Expressions: where their code is, whether it parses, and which nodes it names."""

import json

import pytest
from n8n_workflows import chain, errors, findings, node, rules, the_one, to, workflow

from rails.n8n.javascript import expressions
from tests.rows import walked


def with_value(value, name="field", type="n8n-nodes-base.noOp"):
    made = chain("A", "Last one")
    made["nodes"][2] |= {"type": type, "parameters": {"deep": [{name: value}]}}
    return made


# What n8n's own splitter and parser accept (measured with n8n-workflow 2.41 and tournament).
VALID = [
    "={{ $json.a }}", "=text", "= {{ $json.a }} and {{ $json.b }}", "={{ a; b }}", "={{ {a:1} }}", "={{ $json.a",
    "={{ (() => { return 1 })() }}", "={{ `a${b}` }}", "={{ $json?.['a'] ?? 'x' }}", "={{ a\n b }}",
    "={{ {...$json, a: 1} }}", "={{ $json.items.map(i => ({a: i})) }}", "={{ 'it\u2019s' }}", "=\\{{ not code }}",
    "={{ /}/.test('a') }}", "={{ $json['a b'].c }}", "={{ $if(true, 1, 2) }}", "={{ DateTime.now().toISO() }}",
]  # fmt: skip
INVALID = [
    "={{ }}", "={{ $json.a + }}", "={{ $json.first name }}", "={{ if (a) b }}", "={{ return 1 }}", "={{ let a = 1 }}",
    "={{ {a:{b:1}} }}", "={{ $json. }}", "={{ (a }}", "={{ a) }}", "={{ 'a }}", "={{ a ? b }}", "={{ \u201cx\u201d }}",
    "={{ await x }}",
    "={{ {{ $json.a }} }}", "={{ $json.a }} and {{ b + }}", "={{ // a comment }}", "={{ [1, 2 }}", "={{ a = = b }}",
]  # fmt: skip


def test_what_n8n_can_evaluate_is_no_error():
    assert [value for value in VALID if errors(with_value(value))] == []


@walked("value", INVALID)
def test_what_n8n_cannot_evaluate_is_an_error_at_its_characters(value):
    made = with_value(value)
    found = the_one(made, "N8N060")
    assert (found.severity, found.json_path) == ("error", "nodes[2].parameters.deep[0].field")
    line = json.dumps(made, indent=2).splitlines()[found.line - 1]
    assert '"field"' in line
    assert line.index("=") < found.column <= found.end_column <= len(line) + 1


def test_the_place_of_an_error_is_exact():
    value = with_value('=a "{{ $json.a }}" and {{ $json.b c }}')
    found = the_one(value, "N8N060")
    line = json.dumps(value, indent=2).splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith(("$json.b", "c"))


@walked(
    "value",
    [
        "={{ $('Gone').item.json.a }}",
        '={{ $("Gone").first() }}',
        "={{ $(`Gone`).all() }}",
        "={{ $node['Gone'].json.a }}",
        '={{ $node["Gone"].json.a }}',
        "={{ $node.Gone.json.a }}",
        "={{ $items('Gone')[0].json.a }}",
        "={{ $items('Gone', 0, 0) }}",
        "=x {{ 1 }} {{ $( 'Gone' ).item }}",
    ],
)
def test_a_node_that_does_not_exist_is_an_error(value):
    found = the_one(with_value(value), "N8N061")
    assert found.severity == "error"
    assert '"Gone"' in found.message
    assert '"Start"' in found.remedy


def test_nodes_that_exist_and_names_that_are_computed_are_fine():
    for value in [
        "={{ $('A').item.json.a }}",
        "={{ $('Start').first().json }}",
        "={{ $(`${$json.name}`).item }}",
        "={{ $($json.name).item }}",
        "={{ 1 /* $('Gone') */ }}",
        "={{ \"$('Gone')\" }}",
        "$('Gone')",
        "={{ $node[$json.name].json }}",
    ]:
        assert errors(with_value(value)) == [], value


def test_names_with_quotes_and_escapes_are_compared_as_javascript_reads_them():
    value = chain('It\'s "A"', "B")
    value["nodes"][2]["parameters"] = {
        "x": "={{ $('It\\'s \"A\"').item }}",
        "y": '={{ $("It\'s \\"\\u0041\\"").item }}',
    }
    assert errors(value) == []


def test_a_misspelt_node_has_the_right_name_as_remedy():
    assert the_one(with_value("={{ $('Last on').item }}"), "N8N061").remedy == 'Did you mean "Last one"?'


def test_a_node_that_does_not_run_before_is_a_warning():
    value = chain("A", "B")
    value["nodes"][1]["parameters"] = {"x": "={{ $('B').item.json.a }}"}
    assert [(f.rule, f.severity) for f in findings(value)] == [("N8N062", "warning")]
    value["connections"]["B"] = {"main": [[to("A")]]}
    assert "N8N062" not in rules(value)


def test_sub_nodes_may_refer_to_what_runs_before_their_root():
    value = workflow(
        node("Start", "n8n-nodes-base.manualTrigger"),
        node("Agent", "@n8n/n8n-nodes-langchain.agent", 1.7),
        node(
            "Model", "@n8n/n8n-nodes-langchain.lmChatOpenAi", 1, parameters={"model": "={{ $('Start').item.json.m }}"}
        ),
        connections={
            "Start": {"main": [[to("Agent")]]},
            "Model": {"ai_languageModel": [[to("Agent", "ai_languageModel")]]},
        },
    )
    assert "N8N062" not in rules(value)


def test_an_expression_without_its_sign_is_a_warning():
    found = the_one(with_value("Hello {{ $json.name }}"), "N8N063")
    assert found.severity == "warning"
    assert '"=Hello {{ $json.name }}"' in found.remedy
    assert "{{ total" not in the_one(with_value("=total: $json.x + 1"), "N8N063").remedy


def test_fields_that_resolve_expressions_themselves_need_no_sign():
    for name, type in [
        ("html", "n8n-nodes-base.html"),
        ("query", "n8n-nodes-base.postgres"),
        ("jsonOutput", "n8n-nodes-base.set"),
        ("jsCode", "x"),
        ("workflowJson", "n8n-nodes-base.executeWorkflow"),
    ]:
        assert "N8N063" not in rules(with_value("{{ $json.name }}", name, type)), name


def test_a_whole_value_that_is_code_is_a_warning():
    for text in [
        "$json.a + 1",
        "$now",
        "${$json.x}",
        "=({ $json.x })",
        "$json.a.slice(0, 5)",
        "{{ new Date() }}",
        "a ${$json.b}",
    ]:
        assert the_one(with_value(text), "N8N063").severity == "warning", text


def test_a_text_with_a_dollar_or_words_in_braces_is_none():
    for text in ["$json.name is here", "$5", "$HOME/bin", "Dear {{name}}, {{ first_name }}"]:
        assert "N8N063" not in rules(with_value(text)), text


def test_missing_closing_braces_are_a_warning():
    assert [(f.rule, f.severity) for f in findings(with_value("={{ $json.a")) if f.rule != "N8N043"] == [
        ("N8N064", "warning")
    ]


def test_an_unknown_variable_is_a_warning_with_the_nearest_one():
    assert '"$json"' in the_one(with_value("={{ $jsn.a }}"), "N8N065").remedy
    assert "N8N065" not in rules(with_value("={{ (() => { const $x = 1; return $x })() }}"))


@pytest.mark.parametrize("change", [{"disabled": True}, {"type": "n8n-nodes-base.stickyNote"}])
def test_nodes_that_never_evaluate_are_left_out(change):
    value = chain("A")
    value["nodes"].append(node("B", parameters={"x": "={{ $('Gone') + }}"}) | change)
    assert errors(value) == []


def test_segments_are_cut_as_n8n_cuts_them():
    found = [(s.code, s.closed) for s in expressions.segments("=a {{ b }} \\{{ c }} {{ 'x\\}}' }} {{ d")]
    assert found == [(" b ", True), (" 'x}}' ", True), (" d", False)]


def test_in_a_node_that_never_runs_errors_are_warnings():
    value = chain("A")
    value["nodes"].append(node("Alone", parameters={"x": "={{ $('Gone') }}", "y": "={{ 1 + }}"}))
    assert errors(value) == []
    assert {"N8N060", "N8N061", "N8N037"} <= set(rules(value))


def test_a_dollar_of_the_code_s_own_names_no_node():
    for code in [
        "const $ = load(html); return $('title').text()",
        "const $$ = load(html); return `${$$('title').text()}`",
        "return rows.map(($) => $('title'))",
        "function f($) { return $('title') }",
    ]:
        assert list(expressions.node_references(code)) == [], code
