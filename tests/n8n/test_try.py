"""A dry run: where it stops, what bounds it, what it names as not modelled, and that nothing breaks it."""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from n8n_workflows import node, to, workflow

from rails.core.errors import UsageError
from rails.n8n import model, values
from rails.n8n.try_run import report
from rails.n8n.try_run.engine import Limits, TrySetting, try_workflow
from rails.n8n.try_run.javascript import Engine

BASE = "n8n-nodes-base"


def flow(*nodes, more=(), **settings_):
    """A chain from a manual trigger called Start, and what else is connected: (source, output, target, input)."""
    nodes = [node("Start", f"{BASE}.manualTrigger"), *nodes]
    wires = more or [(a["name"], 0, b["name"], 0) for a, b in itertools.pairwise(nodes)]
    connections = {}
    for source, output, target, number in wires:
        slots = connections.setdefault(source, {"main": []})["main"]
        slots.extend([] for _ in range(output + 1 - len(slots)))
        slots[output].append(to(target, index=number))
    return workflow(*nodes, connections=connections, settings={"executionOrder": "v1", **settings_})


def code(name, written, **more):
    return node(name, f"{BASE}.code", 2, parameters={"jsCode": written, **more})


def set_to(name, value):
    one = {"id": "1", "name": "v", "type": "string", "value": value}
    return node(name, f"{BASE}.set", 3.4, parameters={"assignments": {"assignments": [one]}, "options": {}})


@pytest.fixture(autouse=True)
def _engine(engine):
    tried.engine = engine


def tried(value, data=None, **more):
    return try_workflow(model.build(value), TrySetting(data=data or {}, **{"engine": tried.engine, **more}))


def states(result):
    return [(run.node, run.state) for run in result.runs]


def put_out(result, name):
    (run,) = [run for run in result.runs if run.node == name]
    return [[values.json_value(item.json) for item in items] for items in run.outputs]


def test_a_node_that_reaches_outside_is_a_stop_with_its_evaluated_parameters_for_each_item():
    http = node("Http", f"{BASE}.httpRequest", 4.2, parameters={"url": "=https://example.com/{{ $json.id }}", "x": "y"})
    result = tried(flow(http, set_to("After", "x")), {"Start": [{"id": 1}, {"id": 2}]})
    (stop,) = [run for run in result.runs if run.state == "stop"]
    assert stop.parameters == [{"url": f"https://example.com/{n}", "x": "y"} for n in (1, 2)]
    assert result.not_reached == ["After"]
    assert not result.failed


def test_sample_data_stands_in_for_a_node_that_reaches_outside_and_before_pinned_data():
    value = flow(node("Http", f"{BASE}.httpRequest", 4.2), set_to("After", "={{ $json.t }}"))
    value["pinData"] = {"Http": [{"json": {"t": "pinned"}}]}
    assert put_out(tried(value), "After") == [[{"v": "pinned"}]]
    assert put_out(tried(value, {"Http": [{"t": "sample"}]}), "After") == [[{"v": "sample"}]]


def test_what_is_not_modelled_is_named_with_its_node_and_the_rest_goes_on():
    value = flow(
        set_to("Odd", "={{ $json.a.removeMarkdown() }}"),
        set_to("Fine", "b"),
        more=[("Start", 0, "Odd", 0), ("Start", 0, "Fine", 0)],
    )
    result = tried(value, {"Start": [{"a": "x"}]})
    (odd,) = [run for run in result.runs if run.state == "not modelled"]
    assert (odd.node, odd.said) == ("Odd", ".removeMarkdown()")
    assert put_out(result, "Fine") == [[{"v": "b"}]]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("return require('fs')", "require"),
        ("return process.env", "process"),
        ("return fetch('x')", "fetch"),
        ("return this.helpers", "this.helpers"),
        ("try { await import('x') } catch (e) { e.constructor.constructor('return process')().exit() }", "import()"),
        ("return this.constructor.constructor('return process')().env", "this.constructor"),
        ("return [{json: {e: (() => {}).constructor('return process')().env}}]", "Code generation"),
        ("return eval('1')", "Code generation"),
        ("return [{json: {a: 10n}}]", "BigInt"),
        ("return 5", "array of objects"),
        ("return [{json: {t: 'a'.toTitleCase()}}]", "is not a function"),
        ("return [", "invalid syntax"),
    ],
)
def test_code_reaches_nothing_of_this_machine_and_what_it_cannot_do_is_said(written, said):
    (run,) = [run for run in tried(flow(code("Code", written))).runs if run.node == "Code"]
    assert run.state in {"failed", "not modelled"}
    assert said in run.said


ENDLESS = [
    "while (true) {}",
    "const f = () => f(); f()",
    "let s = 'x'; while (true) s += s",
    "Array(1e12)",
    "return [{json: {s: 'x'.repeat(5e8)}}]",
    "return [{json: {s: 'x'.repeat(6e6)}}]",
    "/(a+)+$/.test('a'.repeat(40) + 'b')",
    "await new Promise(() => {})",
    "await (async function f() { await null; return f() })()",
    "(function f() { Promise.resolve().then(f) })()",
]


def test_code_that_would_not_end_is_a_named_stop_and_the_next_expression_has_its_value():
    """Endless loops, huge values, floods: the node fails, nothing else does."""
    limits = Limits(expression_seconds=0.2, seconds=60)
    for written in ENDLESS:
        value = flow(
            code("Code", f"{written}; return [{{}}, 5]"),
            set_to("Next", "={{ $json.a.toUpperCase() }}"),
            more=[("Start", 0, "Next", 0), ("Start", 0, "Code", 0)],
        )
        value["nodes"][1]["onError"] = "continueRegularOutput"  # as n8n would end here
        result = tried(value, {"Start": [{"a": "b"}]}, limits=limits)
        (run,) = [run for run in result.runs if run.node == "Code"]
        assert run.said if run.state == "failed" else run.outputs[0][0].json["error"], written
        assert put_out(result, "Next") == [[{"v": "B"}]], written


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$json.constructor.constructor('return process')()", None),
        ("[]['const' + 'ructor']['const' + 'ructor']('return typeof process')()", None),
        ("$now['const' + 'ructor']['const' + 'ructor']('return typeof require')()", None),
        ("$input.all['const' + 'ructor']('return this.process')()", None),
        ("globalThis['const' + 'ructor']", None),
    ],
)
def test_an_expression_does_not_get_out_of_its_context(written, value):
    (run,) = [run for run in tried(flow(set_to("Set", f"={{{{ {written} }}}}"))).runs if run.node == "Set"]
    if run.state == "done":
        assert [item.json["v"] for item in run.outputs[0]] == [value]
    else:
        assert run.state in {"failed", "not modelled"}


def test_what_an_expression_does_to_its_context_no_other_expression_sees():
    bad = "Array['proto' + 'type'].map = String['proto' + 'type'].trim = () => 'bad', globalThis.x = 1"
    first = f"={{{{ ({bad}, JSON.stringify = 0, 'a') }}}}"
    second = "={{ [1].map(n => n + 1)[0] + ' b '.trim() + typeof x }}"
    value = flow(set_to("First", first), set_to("Second", second))
    assert put_out(tried(value), "Second") == [[{"v": "2bundefined"}]]


def test_a_process_that_answers_nonsense_is_a_named_stop_and_is_ended():
    """What floods the pipe, or answers for another question, ends that node and not the dry run."""
    for answer in (b"x" * 10**6, b"{}", b"[]", b'{"id": 99, "cpu": 0, "said": {"value": 1}}', b"[" * 10**5):
        ended = []
        engine = Engine(lambda *_, said=answer: said, lambda all_=ended: all_.append(1))
        (_, run) = tried(flow(set_to("Set", "={{ 1 }}")), engine=engine).runs
        assert (run.state, "bound" in run.said, ended) == ("failed", True, [1])


def test_without_an_engine_plain_values_and_conditions_work():
    condition = {"leftValue": "a", "rightValue": "a", "operator": {"type": "string", "operation": "equals"}}
    parameters = {"conditions": {"combinator": "and", "conditions": [condition]}}
    value = flow(node("If", f"{BASE}.if", 2.2, parameters=parameters), set_to("Plain", "x"), set_to("Not", "={{ 1 }}"))
    result = tried(value, engine=Engine())
    assert put_out(result, "Plain") == [[{"v": "x"}]]
    assert states(result)[-1] == ("Not", "not modelled")


def test_dates_without_luxon_are_named_as_not_modelled():
    result = tried(flow(set_to("Set", "={{ $now }}")), engine=Engine(tried.engine.ask, tried.engine.end))
    assert [run.state for run in result.runs] == ["sample", "not modelled"]
    assert "luxon" in result.runs[1].said


def test_loops_items_runs_and_seconds_are_bounded():
    loop = flow(set_to("A", "x"), set_to("B", "y"), more=[("Start", 0, "A", 0), ("A", 0, "B", 0), ("B", 0, "A", 0)])
    assert "loop" in tried(loop, limits=Limits(runs=50)).ended
    many = flow(code("Code", "return Array.from({length: 500}, (_, i) => ({json: {i}}))"))
    assert "100 items" in tried(many, limits=Limits(items=100)).ended
    assert "seconds" in tried(loop, limits=Limits(runs=10**9, seconds=0.0)).ended
    slow = flow(set_to("Slow", "={{ Array(2e5).fill($itemIndex).map(n => n + 1).length }}"))
    assert "seconds" in tried(slow, {"Start": [{}] * 2_000}, limits=Limits(seconds=0.5)).ended


def test_the_report_says_which_branch_each_item_takes_and_that_it_is_not_n8n():
    condition = {"leftValue": "={{ $json.n }}", "rightValue": 1, "operator": {"type": "number", "operation": "gt"}}
    parameters = {"conditions": {"combinator": "and", "conditions": [condition]}}
    value = model.build(flow(node("If", f"{BASE}.if", 2.2, parameters=parameters)))
    result = try_workflow(value, TrySetting(engine=tried.engine, data={"Start": [{"n": 1}, {"n": 2}, {"n": 3}]}))
    lines = list(report.text_lines(result, value, "flow.json"))
    assert "not n8n itself" in lines[0]
    assert "     true: 2 items (of the input: 1, 2)" in lines
    assert "     false: 1 item (of the input: 0)" in lines
    said = report.try_json(result, value)
    assert said["is_n8n"] is False
    assert [one["name"] for one in said["runs"][1]["outputs"]] == ["true", "false"]
    assert said["runs"][1]["outputs"][0]["items"][0]["from"] == [{"node": "Start", "run": 0, "output": 0, "item": 1}]


def test_a_workflow_calls_another_of_the_project_and_one_that_is_missing_is_named():
    call = node("Call", f"{BASE}.executeWorkflow", 1.1, parameters={"workflowId": {"__rl": True, "value": "sub"}})
    sub = flow(set_to("Sub", "={{ $json.a + 1 }}"))
    sub["nodes"][0]["type"] = f"{BASE}.executeWorkflowTrigger"
    loaded = {"sub": model.build(sub)}
    assert put_out(tried(flow(call), {"Start": [{"a": 1}]}, load=loaded.get), "Call") == [[{"v": "2"}]]
    (_, missing) = tried(flow(call)).runs
    assert (missing.state, missing.said) == ("not modelled", 'the workflow "sub", which is in no file here')


def test_a_workflow_that_calls_itself_ends():
    call = node("Call", f"{BASE}.executeWorkflow", 1.1, parameters={"workflowId": {"__rl": True, "value": "me"}})
    value = model.build(flow(call))
    result = try_workflow(value, TrySetting(load=lambda _: value))
    assert "call each other" in " ".join([result.ended, *(run.said for run in result.runs)])


def test_a_start_that_is_not_there_is_said_with_the_nearest_name():
    with pytest.raises(UsageError, match='Did you mean "Start"'):
        try_workflow(model.build(flow()), TrySetting(), start="Strat")
    with pytest.raises(UsageError, match="no node"):
        try_workflow(model.build(workflow()), TrySetting())


CODE = st.text("abc$json.[](){}=>'`?:+-*/!&|<>0123456789 ,\n", max_size=40)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NAMES = st.sampled_from(
    [
        "conditions",
        "combinator",
        "leftValue",
        "rightValue",
        "operator",
        "type",
        "operation",
        "rules",
        "values",
        "options",
        "mode",
        "output",
        "assignments",
        "name",
        "value",
        "fields",
        "fieldToSplitOut",
        "include",
        "aggregate",
        "fieldsToAggregate",
        "sortFieldsUi",
        "sortField",
        "fieldName",
        "maxItems",
        "keep",
        "fieldsToSummarize",
        "field",
        "aggregation",
        "fieldsToSplitBy",
        "compare",
        "fieldsToCompare",
        "batchSize",
        "date",
        "format",
        "units",
        "startDate",
        "endDate",
        "part",
        "magnitude",
        "duration",
        "timeUnit",
        "keys",
        "key",
        "currentKey",
        "newKey",
        "jsonOutput",
        "jsCode",
        "combineBy",
        "joinMode",
        "fieldsToMatchString",
        "clashHandling",
        "numberInputs",
        "useDataOfInput",
        "v",
    ]
)
JSON = st.recursive(
    SCALARS | st.just("={{ $json.v }}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=CODE, value=JSON)
def test_any_expression_on_any_data_has_an_end(written, value):
    result = tried(flow(set_to("Set", f"={{{{ {written} }}}} {{{{ $json.v }}}}")), {"Start": [{"v": value}]})
    json.dumps(report.try_json(result, model.build(flow(set_to("Set", "")))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["if", "switch", "set", "merge", "splitOut", "aggregate", "sort", "limit", "summarize",
                             "removeDuplicates", "splitInBatches", "dateTime", "renameKeys", "filter", "code"]),
       version=st.sampled_from([1, 2, 3, 3.4]), parameters=JSON, value=JSON)  # fmt: skip
def test_any_parameters_of_any_node_have_an_end(kind, version, parameters, value):
    made = node("Node", f"{BASE}.{kind}", version, parameters=parameters if isinstance(parameters, dict) else {})
    result = tried(flow(made), {"Start": [{"v": value}, {"w": 1}]})
    assert [run.node for run in result.runs][:1] == ["Start"]


def test_code_changes_only_its_own_copies():
    first = code("Code", "const o = $('Start').first().json; o.n = 9; $input.first().json.n = 8; return [{json: o}]")
    result = tried(
        flow(first, set_to("Set", "={{ $json.l.push(5) }} {{ $('Start').item.json.n }}")),
        {"Start": [{"n": 1, "l": [1]}]},
    )
    assert put_out(result, "Start") == [[{"n": 1, "l": [1]}]]
    assert put_out(result, "Code") == [[{"n": 9, "l": [1]}]]
    assert put_out(result, "Set") == [[{"v": "2 1"}]]


CALLS = {
    "$json.no?.first().x ?? 'd'": "d",
    "$json.no?.b.first()[0].y ?? 'd'": "d",
    "$json.no?.first().trim().x ?? 'd'": "d",
    "$json?.list?.[0]?.x.toString()": "1",
    "`${$json.list.map(i => i.x).join()}!`": "1,2!",
    "new Intl.NumberFormat('de').format(1234.5)": "1.234,5",
    "/* c */ ' ü😀 '.trim( /* d */ ).length // e": "3",
    "$json.list\n  .map(i => i.x)\n  .first().toFixed(1)": "1.0",
    "[...new Map([[1, 2]]).values()].first()": "2",
    "$json.o.values().first() + Object.values($json.o).last()": "6",
    "((a) => a.b.toUpperCase().concat('b'.toTitleCase()))({b: 'q'})": "QB",
    "$json.s.replace(/(?<=a)b/g, c => c.toUpperCase())": "aBc",
    "($json = {n: 7}, $json.n.isOdd())": "true",
    "$now.setLocale('de').set({month: 3}).toFormat('LLLL')": "März",
}


def test_methods_are_called_as_javascript_and_n8n_call_them():
    item = {"list": [{"x": 1}, {"x": 2}], "o": {"p": 3}, "s": "abc"}
    for written, value in CALLS.items():
        result = tried(flow(set_to("Set", f"={{{{ {written} }}}}")), {"Start": [item, item]})
        assert put_out(result, "Set") == [[{"v": value}] * 2], written


def test_an_error_that_code_catches_goes_no_further():
    written = "try { $('Later').all() } catch (e) { return [{json: {e: e.message}}] }"
    later = flow(code("Code", written), set_to("Later", "x"))
    assert put_out(tried(later), "Code") == [[{"e": 'Node "Later" hasn\'t been executed'}]]
