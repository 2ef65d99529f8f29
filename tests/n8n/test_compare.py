"""Two versions of a workflow: which nodes are the same, what differs in them, and how it is reported."""

import copy
import json

from hypothesis import given
from hypothesis import strategies as st
from n8n_workflows import chain, node, to

from rails.core.change_summary import ChangeSummary
from rails.core.events.reading import read_typed
from rails.core.json_text import to_json
from rails.n8n.comparison import compare_workflows
from rails.n8n.summary import MOST_LINES, workflow_summary


def told(before, after):
    made = workflow_summary(
        *(None if one is None else json.dumps(one).encode() for one in (before, after)), "flow.json"
    )
    return [f"{line.style}{'  ' * line.indent} {line.text}" for line in made.lines]


def changed(value, work):
    made = copy.deepcopy(value)
    work(made)
    return made


OLD = chain("A", "B", "C")


def test_the_same_workflow_in_another_order_of_keys_and_nodes_is_the_same():
    new = {"nodes": [dict(reversed(one.items())) for one in reversed(OLD["nodes"])], **OLD, "versionId": "2"}
    new["nodes"] = [dict(reversed(one.items())) for one in reversed(OLD["nodes"])]
    assert told(OLD, new) == []
    assert compare_workflows(OLD, new).is_same


def test_a_node_put_between_two_others_is_one_node_and_three_wires():
    def work(flow):
        flow["nodes"] += [node("New", "n8n-nodes-base.set", 3.4, parameters={"mode": "raw"}), node("Empty")]
        flow["connections"]["A"]["main"] = [[to("New")]]
        flow["connections"]["New"] = {"main": [[to("B")]]}

    assert told(OLD, changed(OLD, work)) == [
        'add node "New" (n8n-nodes-base.set 3.4)',
        'add   + mode: "raw"',
        'add node "Empty" (n8n-nodes-base.noOp 1)',
        'add wire "A" → "New"',
        'add wire "New" → "B"',
        'remove wire "A" → "B"',
    ]


def test_parameters_are_told_one_by_one_with_old_and_new():
    old = changed(OLD, lambda flow: flow["nodes"][1]["parameters"].update(url="a", gone=1, rows=[{"k": 1}, {"k": 2}]))

    def work(flow):
        del flow["nodes"][1]["parameters"]["gone"]
        flow["nodes"][1]["parameters"] |= {"url": "b", "rows": [{"k": 1}, {"k": 3}, {"k": 4}], "made": []}
        flow["nodes"][1] |= {"typeVersion": 2, "disabled": True}

    assert told(old, changed(old, work)) == [
        'change node "A" (n8n-nodes-base.noOp 2, disabled)',
        "change   typeVersion: 1 → 2",
        'change   url: "a" → "b"',
        "remove   - gone: 1",
        "change   rows[1].k: 2 → 3",
        "add   + rows[2].k: 4",
        "add   + made: []",
        "add   + disabled: true",
    ]


def test_a_renamed_node_is_recognised_by_its_id_and_its_wires_are_not_news():
    def work(flow):
        flow["nodes"][2]["name"] = "Renamed"
        flow["connections"]["Renamed"] = flow["connections"].pop("B")
        flow["connections"]["A"]["main"][0][0]["node"] = "Renamed"

    assert told(OLD, changed(OLD, work)) == ['change node "B" is now called "Renamed" (n8n-nodes-base.noOp 1)']


def test_two_nodes_that_swap_their_names_stay_two_nodes():
    def work(flow):
        flow["nodes"][1]["name"] = "B"
        flow["nodes"][2]["name"] = "A"

    assert len(compare_workflows(OLD, changed(OLD, work)).nodes) == len(OLD["nodes"])


def test_code_is_told_line_by_line():
    old = changed(OLD, lambda flow: flow["nodes"][1]["parameters"].update(jsCode="const a = 1;\nreturn a;\n"))
    new = changed(old, lambda flow: flow["nodes"][1]["parameters"].update(jsCode="const a = 2;\nreturn a;\n"))
    assert told(old, new)[1:] == [
        "change   jsCode:",
        "remove     -const a = 1;",
        "add     +const a = 2;",
        "note      return a;",
    ]


def test_a_long_value_is_shown_where_it_differs():
    text = "x" * 500
    old = changed(OLD, lambda flow: flow["nodes"][1]["parameters"].update(text=f"{text}old{text}"))
    new = changed(old, lambda flow: flow["nodes"][1]["parameters"].update(text=f"{text}new{text}"))
    (line,) = told(old, new)[1:]
    assert "old" in line
    assert "new" in line
    assert len(line) < 500


def test_true_is_not_one_and_moving_is_counted_apart():
    old = changed(OLD, lambda flow: flow["nodes"][1]["parameters"].update(a=[1], b=True))

    def work(flow):
        flow["nodes"][1]["parameters"] |= {"a": [True], "b": 1}
        flow["nodes"][2]["position"] = [5, 5]

    assert told(old, changed(old, work)) == [
        'change node "A" (n8n-nodes-base.noOp 1)',
        "change   a[0]: 1 → true",
        "change   b: true → 1",
    ]


def test_sub_nodes_outputs_and_inputs_are_named_in_wires():
    def work(flow):
        flow["connections"]["C"] = {"ai_tool": [[to("A", "ai_tool")]], "main": [[], [to("A", index=1)]]}

    assert told(OLD, changed(OLD, work)) == [
        'add wire "C" → "A" (ai_tool)',
        'add wire "C" → "A" (output 1, input 1)',
    ]


def test_settings_of_the_workflow_are_told():
    lines = told(OLD, changed(OLD, lambda flow: flow.update(name="Other", settings={"timezone": "UTC"})))
    assert lines == [
        "change the workflow's own values",
        'change   name: "Test" → "Other"',
        'add   + settings.timezone: "UTC"',
    ]


def test_a_list_of_workflows_is_told_each_and_what_is_no_workflow_not_at_all():
    new = changed(OLD, lambda flow: flow["nodes"].pop())
    made = workflow_summary(json.dumps([OLD, OLD]).encode(), json.dumps([OLD, new]).encode(), "all.json")
    assert made.title == "1 node removed; 1 wire removed"
    for data in (b"{", b"[]", b'{"a": 1}', b"\xff", json.dumps([1, "x"]).encode()):
        assert workflow_summary(data, data, "x.json") is None
        assert workflow_summary(None, data, "x.json") is None


def test_an_outline_is_bounded_and_counts_what_it_leaves_out():
    made = workflow_summary(None, json.dumps(chain(*map(str, range(2_000)))).encode(), "flow.json")
    assert len(made.lines) == MOST_LINES
    assert made.hidden == 4_001 - MOST_LINES


def test_an_outline_read_back_from_a_log_is_the_same():
    made = workflow_summary(json.dumps(OLD).encode(), json.dumps(chain("A", "X")).encode(), "flow.json")
    assert read_typed(ChangeSummary, json.loads(json.dumps(to_json(made)))) == made


def test_an_odd_outline_in_a_log_becomes_an_empty_one():
    for odd in [{}, {"lines": 3}, {"lines": [{"style": "x"}, None], "path": []}, {"hidden": "x"}]:
        assert all(line.text == "" and line.style == "note" for line in read_typed(ChangeSummary, odd).lines), odd


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=4) | st.sampled_from(["A", "main", [0, 0]]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "connections", "name", "type", "id", "main", "node", "position", "A", "index"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(ANY, ANY)
def test_any_json_can_be_compared(before, after):
    given = copy.deepcopy((before, after))
    for one in (before, after):
        if isinstance(one, dict):
            one.setdefault("nodes", [node("A"), node("B") | {"parameters": given[0], "position": given[1]}])
    compare_workflows(before, after)
    workflow_summary(json.dumps(before).encode(), json.dumps(after).encode(), "x.json")


def test_five_thousand_nodes_are_compared_in_proportion(cpu_seconds):
    def work(count):
        old = chain(*(f"N{n}" for n in range(count)))
        new = changed(old, lambda flow: [one.update(name=one["name"] + "x") for one in flow["nodes"]])
        data = [json.dumps(one).encode() for one in (old, new)]
        return cpu_seconds(lambda: workflow_summary(*data, "flow.json"), rounds=2)

    assert work(5_000) < 40 * work(500) + 0.5
